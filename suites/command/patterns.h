/* POSIX extended regular expressions on a program's output, line by line like grep -E. */
#ifndef GPUPROOF_SUITES_COMMAND_PATTERNS_H
#define GPUPROOF_SUITES_COMMAND_PATTERNS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

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
