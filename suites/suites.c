#include <string.h>

#include "plan/suite.h"

#define SUITE(name) extern const struct suite suite_##name;
#include "suites/suites.def"
#undef SUITE

const struct suite *const suites[] = {
#define SUITE(name) &suite_##name,
#include "suites/suites.def"
#undef SUITE
	NULL,
};

const struct suite *suite_find(const char *name)
{
	for (const struct suite *const *s = suites; *s; s++)
		if (strcmp((*s)->name, name) == 0)
			return *s;
	return NULL;
}

struct presentation suite_presentation(const struct suite *suite)
{
	return (struct presentation){ .suite = suite->name,
				      .metrics = suite->metrics,
				      .figures = suite->figures,
				      .tables = suite->tables,
				      .words = suite->words,
				      .roles = suite->roles,
				      .sheet = suite->sheet };
}
