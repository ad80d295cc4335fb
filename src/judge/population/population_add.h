/* A site's own reference GPUs: adds the devices of results that the site considers healthy. */
#ifndef GPUPROOF_JUDGE_POPULATION_POPULATION_ADD_H
#define GPUPROOF_JUDGE_POPULATION_POPULATION_ADD_H

#include "reference/population.h"
#include "result/result.h"

struct population_added {
	size_t cards; /* new ones */
	size_t again; /* known before; their new values replace the old ones */
	size_t values;
	size_t unsteady; /* values left out: noisy, without an interval, or not verified */
};

/*
 * Adds the devices of `results`, launches of one config on one machine (judge_same_machine()), with
 * their verified, repeatable rates: headline metrics of cases on one or two devices. New
 * measurements replace older ones; counts are added to `added`. STATUS_USAGE, with nothing added,
 * if a limit of the model fails, a result is wrong or incomplete, or no device has a UUID or a
 * serial number to identify it.
 */
enum status population_add(struct population *p, const struct result *results, size_t count,
			   struct population_added *added, struct error *err);

#endif
