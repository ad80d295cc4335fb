/*
 * Step times on a single device, kept between the cases of a process: they depend on the model, the
 * arithmetic and the device, not on the split that is compared with them. Kept on the rank that
 * measures them.
 */
#ifndef GPUPROOF_SUITES_TRAINING_PARALLEL_BASELINE_CACHE_H
#define GPUPROOF_SUITES_TRAINING_PARALLEL_BASELINE_CACHE_H

#include "measure/run.h"
#include "suites/training/models/setup.h"

/* A device at its power limit slows down as it warms up: older times are measured again. */
#define BASELINE_CACHE_SECONDS 600

struct baseline_cache;

struct baseline_cache *baseline_cache_open(void);
void baseline_cache_close(struct baseline_cache *cache);

/*
 * If an earlier case measured the same step on the same device with the same rules, adds its
 * samples to the result as series `name`, with a note. NULL: there are none, or they are too old.
 * Owned by the result. So all splits of a model are compared with the same time.
 */
const struct series *baseline_cache_find(const struct baseline_cache *cache, struct run *run,
					 const struct setup *setup, const char *name);
/* Stores the baseline of `setup` on the run's device. */
void baseline_cache_store(struct baseline_cache *cache, const struct run *run,
			  const struct setup *setup, const struct series *series);

#endif
