/* Key of a case's value in a population: model, devices, direction, preheat. */
#ifndef GPUPROOF_JUDGE_POPULATION_POPULATION_KEY_H
#define GPUPROOF_JUDGE_POPULATION_POPULATION_KEY_H

#include <stdbool.h>

#include "reference/population.h"
#include "result/result.h"

struct population_key {
	const char *model; /* of the case's devices; borrowed from the result */
	/* ids of the devices in alphabetical order, NULL-terminated; borrowed */
	const char *ids[POPULATION_MOST_DEVICES + 1];
	char *cards;   /* the ids joined by '+' */
	bool turned;   /* the case lists its two devices in reverse order */
	char *point;   /* case_point_without_label() */
	char *preheat; /* "1s"; "": none */
};

/* Identifies a GPU: its UUID, or its serial number if the driver reports no UUID; "": neither. */
const char *population_key_id(const struct device_info *device);
/*
 * False if the case has more than two devices, different models, or GPUs without an id. Then there
 * is nothing to release.
 */
bool population_key_of(const struct result *result, const struct case_result *c,
		       struct population_key *key);
/* True if a preheat ran before the first sample of the case. */
bool population_key_case_is_preheated(const struct result *result, const struct case_result *c);
void population_key_release(struct population_key *key);

#endif
