/* Pool of limits for many results: reads each set once. */
#ifndef GPUPROOF_CLI_INPUT_LIMITS_POOL_H
#define GPUPROOF_CLI_INPUT_LIMITS_POOL_H

#include "judge/limits.h"
#include "result/result.h"

struct limits_pool {
	struct pooled_limits **items; /* pointers, so that the addresses stay valid */
	size_t count, capacity;
};

/*
 * The limits that result_limits() finds for the result, including shipped ones; the pool owns them.
 * NULL: an error, which was printed.
 */
const struct limits *limits_pool_find(struct limits_pool *pool, const char *named,
				      const struct result *result);
void limits_pool_release(struct limits_pool *pool);

#endif
