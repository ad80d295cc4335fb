/* Extracts numbers from other programs' JSON by a path. */
#ifndef GPUPROOF_RESULT_JSON_JSON_FIND_H
#define GPUPROOF_RESULT_JSON_JSON_FIND_H

#include <stddef.h>

#include "base/error.h"

/*
 * A path has names separated by dots, each followed by any of [0] (an element), [*] (all elements)
 * and [name=value] (elements whose member equals that text or number):
 * "benchmarks[name=BM_copy/64].real_time", "results[*].seconds".
 */
enum status json_find_check(const char *path, struct error *err);

/*
 * Finds all numbers at the path, in document order; also accepts text that is a number. The caller
 * frees *out. STATUS_USAGE if the text is not JSON, or the path leads to something that is not a
 * number. Finding nothing is not an error.
 */
enum status json_find_numbers(const char *text, size_t length, const char *path, double **out,
			      size_t *count, struct error *err);

#endif
