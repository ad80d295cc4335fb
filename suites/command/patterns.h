/* Texts of a command: its words, placeholders in them, and regular expressions on its output. */
#ifndef GPUPROOF_SUITES_COMMAND_PATTERNS_H
#define GPUPROOF_SUITES_COMMAND_PATTERNS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/text.h"
#include "device/device_info.h"
#include "plan/plan.h"

/* Words of a line by a subset of shell rules, without expansions. */
struct words {
	char **items; /* NULL-terminated unless empty */
	size_t count;
};

/*
 * Blanks separate words. 'text' is literal; in "text" a backslash escapes a quotation mark or a
 * backslash; elsewhere it escapes any character. Adjacent parts form one word, and '' is an empty
 * one. STATUS_USAGE: an unclosed quotation, or an unquoted shell operator, such as a word |. The
 * caller always releases `words`.
 */
enum status command_patterns_words_split(const char *text, struct words *words, struct error *err);
void command_patterns_words_add(struct words *words, char *word); /* takes ownership */
void command_patterns_words_release(struct words *words);

/*
 * Placeholders {name} in the texts of a section: the case's value of the list with that name, or a
 * property of the device. {name:bytes} is a size as a plain number, {{name}} the text {name}; other
 * braces are ordinary characters.
 */
struct placeholder {
	const char *name; /* points into the text: not NUL-terminated */
	size_t length;
	bool bytes; /* the name is followed by ":bytes" */
};

/* The first placeholder at or after `text`, and in *end its end; NULL: none. */
const char *command_patterns_placeholder_find(const char *text, struct placeholder *found,
					      const char **end);
/* True for device, index and uuid. */
bool command_patterns_placeholder_is_device(const struct placeholder *p);

enum escape {
	ESCAPE_NOTHING,
	ESCAPE_REGEX /* escapes a value for use in a regular expression */
};

/* Fills in the values of the case on `device`; the caller frees the text. */
char *command_patterns_placeholders_fill(const char *text, const struct plan_case *c,
					 const struct device_info *device, enum escape escape);

/* POSIX extended regular expressions on a program's output, line by line like grep -E. */
/* Placeholders in the pattern count as text. */
enum status pattern_check(const char *pattern, size_t *groups, struct error *err);

/* True if it matches anywhere. `text` is NUL-terminated. */
bool pattern_matches(const char *pattern, const char *text);
/*
 * The numbers in the first group of each match, in order; the caller frees them. STATUS_USAGE if a
 * match is not a number.
 */
enum status pattern_numbers(const char *pattern, const char *text, double **out, size_t *count,
			    struct error *err);

#endif
