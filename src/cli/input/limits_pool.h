/* The limits of many results, each set of which is read once. */
#ifndef GPUPROOF_CLI_INPUT_LIMITS_POOL_H
#define GPUPROOF_CLI_INPUT_LIMITS_POOL_H

#include "judge/limits.h"
#include "result/result.h"

struct limits_pool {
	struct pooled_limits **items; /* their addresses stay */
	size_t count, capacity;
};

/*
 * The limits that result_limits() finds for the result, shipped ones included; NULL: there is an
 * error, which is printed. They are the pool's.
 */
const struct limits *limits_pool_find(struct limits_pool *pool, const char *named,
				      const struct result *result);
void limits_pool_release(struct limits_pool *pool);

#endif
