#include "plan/metrics.h"

#include <string.h>

#include "plan/suite.h"

static const struct metric *find(const char *name, const struct suite **suite)
{
	for (const struct suite *const *s = suites; *s; s++)
		for (const struct metric *m = (*s)->metrics; m && m->name; m++)
			if (strcmp(m->name, name) == 0) {
				*suite = *s;
				return m;
			}
	return NULL;
}

const struct metric *metric_find(const char *name)
{
	const struct suite *suite;

	return find(name, &suite);
}

const struct sheet_row *metric_sheet(const char *name)
{
	const struct suite *suite;

	return find(name, &suite) ? suite->sheet : NULL;
}
