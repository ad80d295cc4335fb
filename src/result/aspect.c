#include "result/aspect.h"

#include <stddef.h>
#include <string.h>

#include "result/result.h"

static const char *const names[ASPECT_COUNT] = { "",         "memory",      "link",
						 "products", "correctness", "condition" };

const char *aspect_name(enum aspect aspect)
{
	return names[aspect];
}

bool aspect_named(const char *name, enum aspect *aspect)
{
	for (int k = ASPECT_NONE + 1; k < ASPECT_COUNT; k++) {
		if (strcmp(names[k], name) != 0)
			continue;
		*aspect = (enum aspect)k;
		return true;
	}
	return false;
}

static bool is_about(const struct aspect_row *row, const struct case_result *c)
{
	const struct case_parameter *p = row->parameter ? case_parameter(c, row->parameter) : NULL;

	return !row->parameter || (p && p->text && strcmp(p->text, row->word) == 0);
}

/* NULL: none applies. */
static const struct aspect_row *row_of(const struct aspect_row *rows, const char *metric,
				       const struct case_result *c)
{
	for (; rows && rows->metric; rows++)
		if (strcmp(rows->metric, metric) == 0 && is_about(rows, c))
			return rows;
	return NULL;
}

enum aspect aspect_of(const struct aspect_row *rows, const char *metric,
		      const struct case_result *c)
{
	const struct aspect_row *row = row_of(rows, metric, c);

	return row ? row->aspect : ASPECT_NONE;
}

bool aspect_is_partial(const struct aspect_row *rows, const char *metric,
		       const struct case_result *c)
{
	const struct aspect_row *row = row_of(rows, metric, c);

	return row && row->partial;
}
