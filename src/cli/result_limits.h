/* What a result is judged by, for the commands that judge one. */
#ifndef GPUPROOF_CLI_RESULT_LIMITS_H
#define GPUPROOF_CLI_RESULT_LIMITS_H

#include "judge/limits.h"

/*
 * Those of `named` (--limits), or when it is NULL the result's own, or the ones shipped for its model when `shipped` and it
 * has none; count 0: nothing is to be judged. Errors are printed to stderr, and STATUS_USAGE.
 */
enum status result_limits(const char *named, const struct result *result, bool shipped,
			  struct limits *limits);

#endif
