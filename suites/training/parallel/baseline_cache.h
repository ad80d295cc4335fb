/*
 * How long a step takes on one device alone, kept from case to case of a process: it depends on the
 * model, the arithmetic and the device, not on the split that is compared with it. On the rank that
 * measures it.
 */
#ifndef GPUPROOF_SUITES_TRAINING_PARALLEL_BASELINE_CACHE_H
#define GPUPROOF_SUITES_TRAINING_PARALLEL_BASELINE_CACHE_H

#include "measure/run.h"
#include "suites/training/models/setup.h"

/* A device at its power limit slows down as it gets warmer: older times are measured again. */
#define BASELINE_CACHE_SECONDS 600

struct baseline_cache;

struct baseline_cache *baseline_cache_open(void);
void baseline_cache_close(struct baseline_cache *cache);

/*
 * Puts the samples of the same step on the same device, taken by the same rules in an earlier case,
 * into the result as series `name`, with a note. NULL: there are none, or they were taken too long
 * ago. Owned by the result. So splits of one model are also compared with one and the same time.
 */
const struct series *baseline_cache_find(const struct baseline_cache *cache, struct run *run,
					 const struct setup *setup, const char *name);
/* Baseline of `setup`, on the run's device. */
void baseline_cache_store(struct baseline_cache *cache, const struct run *run,
			  const struct setup *setup, const struct series *series);

#endif
