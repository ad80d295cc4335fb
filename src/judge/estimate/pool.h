/* Several launches of one plan as one result. */
#ifndef GPUPROOF_JUDGE_ESTIMATE_POOL_H
#define GPUPROOF_JUDGE_ESTIMATE_POOL_H

#include "result/result.h"

/*
 * Adds launches of the same cases (all of them, or some) to `result`, which holds `before` of them
 * (1: one, not pooled yet): each metric gets `launches`, its value becomes
 * their Hodges-Lehmann estimate and low and high the 95 % interval of that; of what no launch
 * changes the worst. Samples stay those of the first launch. A case that went wrong in any launch
 * went wrong; its reason names the launch.
 */
void pool_launches(struct result *result, size_t before, const struct result *more, size_t count);

#endif
