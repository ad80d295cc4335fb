/* Simulated nights, for the test and the benchmark of the trend. */
#ifndef GPUPROOF_TESTS_SAMPLE_NIGHTS_H
#define GPUPROOF_TESTS_SAMPLE_NIGHTS_H

#include <stddef.h>
#include <stdint.h>

#include "judge/history.h"

/* Normal noise, reproducible. */
double sample_normal(uint64_t *state);

/* `past` nights of which nothing is known to have changed, then `nights` more, looked at every night. */
struct quiet_outcome {
	double changes, warnings; /* share of series with one at any of the nights */
};
struct quiet_outcome simulate_quiet(size_t series, double noise, size_t past, size_t nights,
				    uint64_t seed);

/* The same with nights that resemble the one before: `memory` is the correlation of their noise. */
struct quiet_outcome simulate_wandering(size_t series, double noise, double memory, size_t past,
					size_t nights, uint64_t seed);

/* `past` nights, then values lower by `size`. */
struct step_outcome {
	/* Shares of series: found dated within ACKNOWLEDGED_WITHIN nights, and found within 6 dated within 2. */
	double within_6, within_10, dated, warned;
	double mean; /* nights until it is found, of those found */
};
struct step_outcome simulate_step(size_t series, double noise, double size, size_t past,
				  uint64_t seed);

#endif
