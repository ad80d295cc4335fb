#include "plan/metrics.h"

#include <string.h>

#include "plan/suite.h"

const struct metric *metric_find(const char *name)
{
	for (const struct suite *const *s = suites; *s; s++)
		for (const struct metric *m = (*s)->metrics; m && m->name; m++)
			if (strcmp(m->name, name) == 0)
				return m;
	return NULL;
}
