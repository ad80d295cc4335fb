/* A site's own population: the cards of results that it holds for good. */
#ifndef GPUPROOF_JUDGE_POPULATION_POPULATION_ADD_H
#define GPUPROOF_JUDGE_POPULATION_POPULATION_ADD_H

#include "reference/population.h"
#include "result/result.h"

struct population_added {
	size_t cards; /* new ones */
	size_t again; /* that were there: their new values count */
	size_t values;
	size_t unsteady; /* values left out: noisy, without an interval, or not verified */
};

/*
 * Adds the devices of `results`, launches of one config on one machine (judge_same_machine()), and
 * their verified rates that
 * repeat: the main figures of cases on one device or two. What is measured again replaces what was
 * there. STATUS_USAGE, and nothing is added: a limit of the model fails, a result is wrong or not
 * complete, or no device has a UUID or a serial number, by which a card is known. `added` is added
 * to.
 */
enum status population_add(struct population *p, const struct result *results, size_t count,
			   struct population_added *added, struct error *err);

#endif
