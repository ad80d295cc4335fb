/* Pools several launches of one plan into one result. */
#ifndef GPUPROOF_JUDGE_ESTIMATE_POOL_H
#define GPUPROOF_JUDGE_ESTIMATE_POOL_H

#include "result/result.h"

/*
 * Adds launches of the same cases (all or some) to `result`, which holds `before` launches (1: one,
 * not pooled yet). Each metric gets `launches`; its value becomes their Hodges-Lehmann estimate,
 * and low and high the interval of estimate_pool_settle(). Exact metrics keep the worst launch.
 * Samples stay those of the first launch. A case that failed in any launch is failed, and its
 * reason names the launch.
 */
void estimate_pool_launches(struct result *result, size_t before, const struct result *more,
			    size_t count);

/*
 * Gives each metric the interval of repeated runs (stats/repeat.h), from its launches, or for a
 * single launch from the variation of its kind (kind.h) and its samples. The samples' own interval
 * stays in within_low and within_high. Idempotent.
 */
void estimate_pool_settle(struct result *result);

/*
 * Widens the intervals of a run whose number of launches was chosen from its `first` launches.
 * Stein's rule holds for the deviation of these launches alone.
 */
void estimate_pool_widen_by_first(struct result *result, size_t first);

/*
 * Number of launches of case `id` until the 95 % interval of each headline metric is within
 * +-`target`, a ratio: Stein's two-stage rule (Ann. Math. Statist. 16, 1945), from `count` launches
 * not pooled yet. A test after every launch would need fewer, but would stop at launches that agree
 * by chance: for metrics that vary by 1 to 2 %, intervals would then cover 88 %, not 95. Returns at
 * least `count`, and exactly `count` for failed cases and exact metrics.
 */
size_t estimate_pool_launches_needed(const struct result *launches, size_t count, const char *id,
				     double target);

#endif
