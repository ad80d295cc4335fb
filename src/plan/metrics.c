#include "plan/metrics.h"

#include <string.h>

#include "plan/suite.h"

static const struct metric *metric_find_by_name(const char *name, const struct suite **suite)
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

	return metric_find_by_name(name, &suite);
}

const struct sheet_row *metric_sheet(const char *name)
{
	const struct suite *suite;

	return metric_find_by_name(name, &suite) ? suite->sheet : NULL;
}
