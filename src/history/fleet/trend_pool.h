/*
 * Pools of GPUs: a nightly job that runs on any of several runners has a few nights of each GPU,
 * and GPUs come and go. A figure of one model, over all its GPUs, is then one series in which the
 * GPU is a random effect (stats/pool.h): a GPU that joins raises no alarm, and a change common to
 * the pool is found where no single GPU has enough nights. A change that one GPU alone shows is in
 * the series of that GPU.
 *
 *	struct trend_pools pools = { 0 };
 *	... trend_pools_add(&pools, series) for each series ...
 *	trend_pools_find(&pools, &notes);
 *	trend_pools_release(&pools);
 */
#ifndef GPUPROOF_HISTORY_FLEET_TREND_POOL_H
#define GPUPROOF_HISTORY_FLEET_TREND_POOL_H

#include "history/trend_news.h"

#define POOL_LEAST 3     /* GPUs */
#define POOL_FILLED 0.75 /* share of nights of all GPUs: with more, each GPU has its own series */
#define POOL_DAYS 180    /* before the last night */
#define POOL_RECENT 20   /* nights: GPUs that had one of them are in the pool now */
#define POOL_WILD 8 /* robust deviations from the median of its GPU: a wild night is drawn in */
#define POOL_WILD_LEAST 0.05
#define POOL_REST 0.02   /* probability of a change in the rest, when a GPU is left out */
#define POOL_FALSE 0.003 /* chance of a false change in a night, of all pools together */

struct trend_pool_night {
	struct history_point point;
	size_t gpu;
};

struct trend_pool {
	struct history_series series; /* without id, machine and points; case_id: the point's */
	struct trend trend;           /* points and changes alone */
	struct trend_pool_night *nights;
	size_t count, capacity;
	char **machines;
	size_t gpus, gpu_capacity;
	size_t recent; /* of them */
	bool young;    /* fewer than TREND_LEAST_NIGHTS: no change of the pool can be found */
	double apart;  /* standard deviation of GPUs, as a ratio */
};

struct trend_pools {
	struct trend_pool *items;
	size_t count, capacity;
};

void trend_pools_add(struct trend_pools *pools, const struct history_series *series);
/* Drops what is no pool, and finds the changes of the rest. By model. */
void trend_pools_find(struct trend_pools *pools, const struct history_notes *notes);
void trend_pools_release(struct trend_pools *pools);

/* True if a change of some pool could be found. */
bool trend_pools_tell(const struct trend_pools *pools);
/*
 * "Pool of 6 GPUs in the last 20 nights (14 since 2026-01-01), NVIDIA H100: 19 figures, ..." of all
 * pools of a model from `*next` on, which becomes the first of the next model; malloc'ed.
 */
char *trend_pool_words(const struct trend_pools *pools, size_t *next);

#endif
