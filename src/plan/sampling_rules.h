/* The rules of sampling, from INI keys that every suite has. */
#ifndef GPUPROOF_PLAN_SAMPLING_RULES_H
#define GPUPROOF_PLAN_SAMPLING_RULES_H

#include <stdbool.h>
#include <stdint.h>

#include "plan/key.h"

struct section;

struct sampling {
	int64_t min_samples, max_samples;
	double target;         /* half width of the 95 % interval over the median, a ratio */
	double max_seconds;    /* of sampling per series */
	double settle_seconds; /* beyond max_seconds, of a series whose level still drifts */
	/* From no key. A load: a series lasts at least this long, and figures are of its mean. */
	double least_seconds;
	/* what drifts is no fault, and none of it is dropped: a burst, a load that a limit moves */
	bool may_drift;
	double sample_seconds; /* a sample lasts at least this long (batch choice) */
	int64_t warmup;        /* untimed samples before the first one that counts */
	/* then this much untimed work, until clocks reach what a power limit sustains */
	double preheat_seconds;
	/*
	 * after the samples, of the series whose energy counts: work for this long for the energy
	 * counter, then rest for this long; 0: none
	 */
	double energy_seconds;
};
extern const struct key sampling_keys[];
struct sampling sampling_from(const struct section *section);

#endif
