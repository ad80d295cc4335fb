/*
 * Pools of GPUs: a nightly job that runs on any of several runners has few nights of each GPU, and
 * GPUs come and go. A metric of one model, over all its GPUs, then forms one series with the GPU as
 * a random effect (stats/pool.h). A GPU that joins raises no alarm, and a change common to the pool
 * is found even if no single GPU has enough nights. A change of a single GPU is in the series of
 * that GPU.
 *
 *	struct trend_pools pools = { 0 };
 *	... trend_pools_add(&pools, series) for each series ...
 *	trend_pools_find(&pools, &notes);
 *	trend_pools_release(&pools);
 */
#ifndef GPUPROOF_HISTORY_FLEET_TREND_POOL_H
#define GPUPROOF_HISTORY_FLEET_TREND_POOL_H

#include "history/trend_news.h"

#define POOL_LEAST 3 /* GPUs */
#define POOL_FILLED \
	0.75           /* coverage of nights by each GPU above which every GPU has its own series */
#define POOL_DAYS 180  /* range of days before the last night */
#define POOL_RECENT 20 /* GPUs with one of this many last nights are in the pool now */
#define POOL_WILD 8    /* outlier threshold: robust deviations from the median of its GPU */
#define POOL_WILD_LEAST 0.05
#define POOL_REST 0.02   /* p-value of the change without one GPU */
#define POOL_FALSE 0.003 /* probability of a false change per night, over all pools together */

struct trend_pool_night {
	struct history_point point;
	size_t gpu;
};

struct trend_pool {
	struct history_series series; /* without id, machine and points; case_id is the point */
	struct trend trend;           /* only points and changes */
	struct trend_pool_night *nights;
	size_t count, capacity;
	char **machines;
	size_t gpus, gpu_capacity;
	size_t recent; /* of them */
	bool young;    /* fewer than TREND_LEAST_NIGHTS: no change can be found */
	double apart;  /* standard deviation between GPUs, as a ratio */
};

struct trend_pools {
	struct trend_pool *items;
	size_t count, capacity;
};

void trend_pools_add(struct trend_pools *pools, const struct history_series *series);
/* Drops series that are not pools, and finds the changes of the others, by model. */
void trend_pools_find(struct trend_pools *pools, const struct history_notes *notes);
void trend_pools_release(struct trend_pools *pools);

/* True if a change can be found in at least one pool. */
bool trend_pools_tell(const struct trend_pools *pools);
/*
 * "Pool of 6 GPUs in the last 20 days (14 since 2026-01-01), NVIDIA H100: 19 metrics, ...", for
 * all pools of a model from `*next` on; advances it to the next model. The caller frees the string.
 */
char *trend_pool_words(const struct trend_pools *pools, size_t *next);

#endif
