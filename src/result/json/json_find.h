/* Numbers in other programs' JSON, by a path. */
#ifndef GPUPROOF_RESULT_JSON_JSON_FIND_H
#define GPUPROOF_RESULT_JSON_JSON_FIND_H

#include <stddef.h>

#include "base/error.h"

/*
 * A path is names with dots between, each with any of [0] (an element), [*] (all elements) and
 * [name=value] (the elements whose member is that text or number) after it:
 * "benchmarks[name=BM_copy/64].real_time", "results[*].seconds".
 */
enum status json_find_check(const char *path, struct error *err);

/*
 * Every number that the path finds in the text, in its order; a text that is a number counts as
 * one. *out is released by the caller. STATUS_USAGE: the text is no JSON, or the path leads to
 * something that is no number; finding nothing is no error.
 */
enum status json_find_numbers(const char *text, size_t length, const char *path, double **out,
			      size_t *count, struct error *err);

#endif
