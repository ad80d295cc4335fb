#include "suites/command/patterns.h"

#include <ctype.h>
#include <regex.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "base/units.h"

static enum status pattern_compile(regex_t *regex, const char *pattern, struct error *err)
{
	char why[128];
	int code = regcomp(regex, pattern, REG_EXTENDED | REG_NEWLINE);

	if (code == 0)
		return STATUS_OK;
	regerror(code, regex, why, sizeof(why));
	return error_set(err, STATUS_USAGE, "not a POSIX extended regular expression: %s", why);
}

enum status pattern_check(const char *pattern, size_t *groups, struct error *err)
{
	struct text plain = TEXT_EMPTY; /* the pattern; each placeholder is an "x" */
	struct placeholder p;
	const char *start, *end;
	regex_t regex;

	while ((start = command_patterns_placeholder_find(pattern, &p, &end))) {
		text_add_bytes(&plain, pattern, (size_t)(start - pattern));
		text_add(&plain, "x");
		pattern = end;
	}
	text_add(&plain, pattern);
	*groups = 0;
	if (pattern_compile(&regex, plain.data ? plain.data : "", err) == STATUS_OK) {
		*groups = regex.re_nsub;
		regfree(&regex);
	}
	text_release(&plain);
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
		regoff_t at = groups[1].rm_so;
		char *word = at < 0 ? xstrdup("")
				    : text_trimmed(text + at, (size_t)(groups[1].rm_eo - at));
		double number;

		if (units_parse_real(word, &number, err) == STATUS_OK) {
			*out = xrealloc(*out, *count + 1, sizeof(**out));
			(*out)[(*count)++] = number;
		}
		free(word);
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

#define BYTES ":bytes"

/* Length of "{name}" or "{name:bytes}" at `text`; 0: not a placeholder. */
static size_t command_patterns_placeholder_length(const char *text, struct placeholder *found)
{
	size_t length = 0, more;

	if (*text == '{' && isalpha((unsigned char)text[1]))
		while (isalnum((unsigned char)text[1 + length]) || text[1 + length] == '_')
			length++;
	*found = (struct placeholder){ .name = text + 1, .length = length };
	if (!length)
		return 0;
	found->bytes = strncmp(text + 1 + length, BYTES, strlen(BYTES)) == 0;
	more = length + 1 + (found->bytes ? strlen(BYTES) : 0);
	return text[more] == '}' ? more + 1 : 0;
}

/* Length of "{{name}}". */
static size_t command_patterns_literal_length(const char *text)
{
	struct placeholder inside;
	size_t length = text[0] == '{' && text[1] == '{'
				? command_patterns_placeholder_length(text + 1, &inside)
				: 0;

	return length && text[1 + length] == '}' ? length + 2 : 0;
}

const char *command_patterns_placeholder_find(const char *text, struct placeholder *found,
					      const char **end)
{
	while ((text = strchr(text, '{'))) {
		size_t literal = command_patterns_literal_length(text),
		       length = command_patterns_placeholder_length(text, found);

		if (!literal && length) {
			*end = text + length;
			return text;
		}
		text += literal ? literal : 1;
	}
	return NULL;
}

static bool command_patterns_is_called(const struct placeholder *p, const char *name)
{
	return strlen(name) == p->length && strncmp(name, p->name, p->length) == 0;
}

bool command_patterns_placeholder_is_device(const struct placeholder *p)
{
	return command_patterns_is_called(p, "device") || command_patterns_is_called(p, "index") ||
	       command_patterns_is_called(p, "uuid");
}

static void command_patterns_placeholder_add_escaped(struct text *out, const char *value,
						     enum escape escape)
{
	for (; *value; value++) {
		if (escape == ESCAPE_REGEX && strchr("\\^$.[]|()*+?{}", *value))
			text_add_char(out, '\\');
		text_add_char(out, *value);
	}
}

/* Appends text unchanged, except {{name}}. */
static void command_patterns_placeholder_add_plain(struct text *out, const char *text,
						   const char *end)
{
	while (text < end) {
		size_t literal = command_patterns_literal_length(text);

		text_add_bytes(out, text + (literal ? 1 : 0), literal ? literal - 2 : 1);
		text += literal ? literal : 1;
	}
}

char *command_patterns_placeholders_fill(const char *text, const struct plan_case *c,
					 const struct device_info *device, enum escape escape)
{
	struct text out = TEXT_EMPTY;
	struct placeholder p;
	const char *start, *end;

	while ((start = command_patterns_placeholder_find(text, &p, &end))) {
		char *name;

		command_patterns_placeholder_add_plain(&out, text, start);
		name = xstrndup(p.name, p.length);
		if (command_patterns_is_called(&p, "index"))
			text_addf(&out, "%d", device->index);
		else if (command_patterns_placeholder_is_device(&p))
			command_patterns_placeholder_add_escaped(
				&out,
				command_patterns_is_called(&p, "uuid") ? device->uuid : device->id,
				escape);
		else if (p.bytes)
			text_addf(&out, "%lld", (long long)case_integer(c, name));
		else
			command_patterns_placeholder_add_escaped(&out, case_text(c, name), escape);
		free(name);
		text = end;
	}
	command_patterns_placeholder_add_plain(&out, text, text + strlen(text));
	return text_detach(&out);
}

void command_patterns_words_add(struct words *words, char *word)
{
	words->items = xrealloc(words->items, words->count + 2, sizeof(*words->items));
	words->items[words->count++] = word;
	words->items[words->count] = NULL;
}

void command_patterns_words_release(struct words *words)
{
	for (size_t i = 0; i < words->count; i++)
		free(words->items[i]);
	free(words->items);
	*words = (struct words){ 0 };
}

/* The quoted part that starts at `at`; returns the position after it, NULL if it is not closed. */
static const char *command_patterns_take_quoted(const char *at, struct text *word)
{
	const char mark = *at++;

	for (; *at && *at != mark; at++) {
		if (mark == '"' && *at == '\\' && (at[1] == '"' || at[1] == '\\'))
			at++;
		text_add_char(word, *at);
	}
	return *at ? at + 1 : NULL;
}

/* The word at `at`; returns the position after it, NULL and `err` if it is invalid. */
static const char *command_patterns_take_word(const char *at, struct words *words,
					      struct error *err)
{
	/* A shell operator would be an unexpected argument. */
	static const char *const operators[] = { "|", "||", "&",  "&&",   ";", "<",
						 ">", ">>", "2>", "2>&1", "&>" };
	const char *start = at;
	struct text word = TEXT_EMPTY;
	size_t length = strcspn(at, " \t");

	for (size_t i = 0; i < ARRAY_SIZE(operators); i++)
		if (strlen(operators[i]) == length && strncmp(operators[i], at, length) == 0) {
			error_set(err, STATUS_USAGE,
				  "'%.*s' needs a shell, but the program runs without one; quote "
				  "it if it is an argument, or write sh -c '...'",
				  (int)length, at);
			return NULL;
		}
	while (at && *at && !strchr(" \t", *at)) {
		if (*at == '\'' || *at == '"') {
			at = command_patterns_take_quoted(at, &word);
		} else {
			at += *at == '\\' && at[1];
			text_add_char(&word, *at++);
		}
	}
	if (!at)
		error_set(err, STATUS_USAGE, "the closing quotation mark is missing after '%.60s'",
			  start);
	command_patterns_words_add(words, text_detach(&word));
	return at;
}

enum status command_patterns_words_split(const char *text, struct words *words, struct error *err)
{
	*words = (struct words){ 0 };
	for (const char *at = text + strspn(text, " \t"); at && *at;) {
		at = command_patterns_take_word(at, words, err);
		if (at)
			at += strspn(at, " \t");
	}
	return err->status;
}
