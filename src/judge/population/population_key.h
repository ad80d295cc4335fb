/* The key of a case's value in a population. */
#ifndef GPUPROOF_JUDGE_POPULATION_POPULATION_KEY_H
#define GPUPROOF_JUDGE_POPULATION_POPULATION_KEY_H

#include <stdbool.h>

#include "reference/population.h"
#include "result/result.h"

struct population_key {
	const char *model; /* of its devices; borrowed from the result */
	/* of its cards, in alphabetical order; NULL at the end; borrowed */
	const char *ids[POPULATION_MOST_DEVICES + 1];
	char *cards;   /* them, joined by '+' */
	bool turned;   /* the case has its two devices in reverse order */
	char *point;   /* case_point_without_label() */
	char *preheat; /* "1s"; "": none */
};

/* Identifies a card: its UUID, or its serial number if the driver reports no UUID; "": neither. */
const char *population_id(const struct device_info *device);
/*
 * False: the case is of more devices, of different models, or of cards without a name; nothing is
 * to be released.
 */
bool population_key_of(const struct result *result, const struct case_result *c,
		       struct population_key *key);
/* True if the device was heated before the case's first sample. */
bool case_is_preheated(const struct result *result, const struct case_result *c);
void population_key_release(struct population_key *key);

#endif
