/* Sampling rules, from INI keys that every suite has. */
#ifndef GPUPROOF_PLAN_SAMPLING_RULES_H
#define GPUPROOF_PLAN_SAMPLING_RULES_H

#include <stdbool.h>
#include <stdint.h>

#include "plan/key.h"

struct section;

struct sampling {
	int64_t min_samples, max_samples;
	double target;         /* half-width of the 95 % interval / median */
	double max_seconds;    /* sampling time per series */
	double settle_seconds; /* beyond max_seconds, for a series whose level still drifts */
	/*
	 * Not from a key. For a load: a series lasts at least this long, and metrics use its mean.
	 */
	double least_seconds;
	/* drift is expected and no samples are dropped: a burst, or a load at a limit */
	bool may_drift;
	double sample_seconds; /* minimum duration of a sample (choice of the batch size) */
	int64_t warmup;        /* untimed samples before the first counted one */
	/* then untimed work until clocks reach the level that a power limit sustains */
	double preheat_seconds;
	/*
	 * after the samples, if energy is measured: work for this long for the energy counter, then
	 * rest for this long; 0: none
	 */
	double energy_seconds;
};
extern const struct key sampling_keys[];
struct sampling sampling_from(const struct section *section);

#endif
