/* POSIX extended regular expressions over a program's output, line by line as grep -E has them. */
#ifndef GPUPROOF_SUITES_COMMAND_PATTERNS_H
#define GPUPROOF_SUITES_COMMAND_PATTERNS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* Placeholders in it count as text. */
enum status pattern_check(const char *pattern, size_t *groups, struct error *err);

/* True if it matches somewhere. `text` is terminated. */
bool pattern_matches(const char *pattern, const char *text);
/*
 * The number in the first group of each match, in their order; released by the caller. STATUS_USAGE
 * names what is no number.
 */
enum status pattern_numbers(const char *pattern, const char *text, double **out, size_t *count,
			    struct error *err);

#endif
