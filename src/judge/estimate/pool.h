/* Several launches of one plan as one result. */
#ifndef GPUPROOF_JUDGE_ESTIMATE_POOL_H
#define GPUPROOF_JUDGE_ESTIMATE_POOL_H

#include "result/result.h"

/*
 * Adds launches of the same cases (all of them, or some) to `result`, which holds `before` of them
 * (1: one, not pooled yet): each metric gets `launches`, its value becomes
 * their Hodges-Lehmann estimate, low and high the interval of pool_settle(); of what no launch
 * changes the worst. Samples stay those of the first launch. A case that went wrong in any launch
 * went wrong; its reason names the launch.
 */
void pool_launches(struct result *result, size_t before, const struct result *more, size_t count);

/*
 * Gives each figure the interval that holds the level of repeated runs (stats/repeat.h): from its
 * launches, or with one launch from the spread of its kind (kind.h) and its samples. The samples'
 * own interval stays as within_low and within_high. Doing it again changes nothing.
 */
void pool_settle(struct result *result);

/*
 * Widens the intervals of a run whose number of launches its first ones decided: Stein's rule holds
 * for the deviation of those `first` launches alone.
 */
void pool_widen_by_first(struct result *result, size_t first);

/*
 * How many launches of case `id` it takes until the 95 % interval of each of its headline metrics
 * reaches no farther from the value than `target`, a ratio: Stein's rule for the second of two
 * samples (Ann. Math. Statist. 16, 1945), from `count` launches not pooled yet. Looking again after
 * each launch would take fewer and stop at those that happen to agree: of figures that scatter by
 * 1 to 2 % the intervals then cover 88 %, not 95. At least `count`, which is the answer also for a
 * case that went wrong and for exact figures.
 */
size_t pool_launches_needed(const struct result *launches, size_t count, const char *id,
			    double target);

#endif
