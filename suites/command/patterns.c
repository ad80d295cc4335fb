#include "suites/command/patterns.h"

#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "base/units.h"
#include "suites/command/placeholders.h"

static enum status pattern_compile(regex_t *regex, const char *pattern, struct error *err)
{
	char why[128];
	int code = regcomp(regex, pattern, REG_EXTENDED | REG_NEWLINE);

	if (code == 0)
		return STATUS_OK;
	regerror(code, regex, why, sizeof(why));
	return error_set(err, STATUS_USAGE, "not an extended regular expression: %s", why);
}

/* Replaces each placeholder by "x". */
static char *without_placeholders(const char *pattern)
{
	struct text out = TEXT_EMPTY;
	struct placeholder p;
	const char *start, *end;

	while ((start = placeholder_find(pattern, &p, &end))) {
		text_add_bytes(&out, pattern, (size_t)(start - pattern));
		text_add(&out, "x");
		pattern = end;
	}
	text_add(&out, pattern);
	return text_detach(&out);
}

enum status pattern_check(const char *pattern, size_t *groups, struct error *err)
{
	char *plain = without_placeholders(pattern);
	regex_t regex;

	*groups = 0;
	if (pattern_compile(&regex, plain, err) == STATUS_OK) {
		*groups = regex.re_nsub;
		regfree(&regex);
	}
	free(plain);
	return err->status;
}

bool pattern_matches(const char *pattern, const char *text)
{
	struct error err = ERROR_NONE;
	regex_t regex;
	bool matches;

	if (pattern_compile(&regex, pattern, &err) != STATUS_OK)
		return false;
	matches = regexec(&regex, text, 0, NULL, 0) == 0;
	regfree(&regex);
	return matches;
}

static enum status pattern_add_number(const char *text, const regmatch_t *group, double **out,
				      size_t *count, struct error *err)
{
	char *word = group->rm_so < 0 ? xstrdup("")
				      : text_trimmed(text + group->rm_so,
						     (size_t)(group->rm_eo - group->rm_so));
	double number = 0;

	if (units_parse_real(word, &number, err) == STATUS_OK) {
		*out = xrealloc(*out, *count + 1, sizeof(**out));
		(*out)[(*count)++] = number;
	}
	free(word);
	return err->status;
}

enum status pattern_numbers(const char *pattern, const char *text, double **out, size_t *count,
			    struct error *err)
{
	regmatch_t groups[2];
	regex_t regex;
	int flags = 0;

	*out = NULL;
	*count = 0;
	if (pattern_compile(&regex, pattern, err) != STATUS_OK)
		return err->status;
	while (err->status == STATUS_OK && regexec(&regex, text, 2, groups, flags) == 0) {
		pattern_add_number(text, &groups[1], out, count, err);
		/* An empty match must not repeat forever. */
		if (groups[0].rm_eo == groups[0].rm_so && !text[groups[0].rm_eo])
			break;
		text += groups[0].rm_eo + (groups[0].rm_eo == groups[0].rm_so);
		/* '^' must match there only at the start of a line. */
		flags = text[-1] == '\n' ? 0 : REG_NOTBOL;
	}
	regfree(&regex);
	return err->status;
}
