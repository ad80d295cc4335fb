#include "result/aspect.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

#include "base/former_names.h"
#include "base/memory.h"
#include "base/text.h"
#include "result/result.h"

const char *const run_stage_names[RUN_STAGE_COUNT + 1] = { "none",     "sanity", "rates",
							   "together", "soak",   NULL };

const char *const aspect_words[ASPECT_COUNT + 1] = { "",     "memory",      "link",
						     "gemm", "correctness", "condition",
						     NULL };

const char *aspect_name(enum aspect aspect)
{
	return aspect_words[aspect];
}

bool aspect_named(const char *name, enum aspect *aspect)
{
	const char *current = former_name_current(NAME_ASPECT, "", name);

	for (int k = ASPECT_NONE + 1; k < ASPECT_COUNT; k++) {
		if (strcmp(aspect_words[k], current) != 0)
			continue;
		*aspect = (enum aspect)k;
		return true;
	}
	return false;
}

const struct aspect_row *aspect_row_of(const struct aspect_row *rows, const char *metric,
				       const struct case_result *c)
{
	for (; rows && rows->metric; rows++) {
		const struct case_parameter *p =
			rows->parameter ? case_parameter(c, rows->parameter) : NULL;

		if (strcmp(rows->metric, metric) == 0 &&
		    (!rows->parameter || (p && p->text && strcmp(p->text, rows->word) == 0)))
			return rows;
	}
	return NULL;
}

enum aspect aspect_of(const struct aspect_row *rows, const char *metric,
		      const struct case_result *c)
{
	const struct aspect_row *row = aspect_row_of(rows, metric, c);

	return row ? row->aspect : ASPECT_NONE;
}

#define LONGEST_PARAMETER 32

/* Appends the value of the parameter in braces: "{PRECISION}", `length` bytes, becomes "FP16". */
static void aspect_add_braced(struct text *out, const char *braced, size_t length,
			      const struct case_result *c)
{
	const struct case_parameter *p;
	char name[LONGEST_PARAMETER] = "";
	bool capitals = isupper((unsigned char)braced[1]);

	for (size_t i = 1; i + 1 < length && i < sizeof(name); i++)
		name[i - 1] = (char)tolower((unsigned char)braced[i]);
	p = case_parameter(c, name);
	for (const char *at = p && p->text ? p->text : ""; *at; at++)
		text_add_char(out, (char)(capitals     ? toupper((unsigned char)*at)
					  : *at == '_' ? ' '
						       : *at));
}

char *aspect_fill(const char *text, const struct case_result *c)
{
	struct text out = TEXT_EMPTY;

	for (const char *at = text ? text : ""; *at;) {
		const char *end = *at == '{' ? strchr(at, '}') : NULL;

		if (end) {
			aspect_add_braced(&out, at, (size_t)(end - at) + 1, c);
			at = end + 1;
		} else {
			text_add_char(&out, *at++);
		}
	}
	return out.length ? text_detach(&out) : xstrdup("");
}
