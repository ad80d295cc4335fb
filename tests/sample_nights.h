/* Simulated nights, for the test and the benchmark of the trend. */
#ifndef GPUPROOF_TESTS_SAMPLE_NIGHTS_H
#define GPUPROOF_TESTS_SAMPLE_NIGHTS_H

#include <stddef.h>
#include <stdint.h>

#include "history/history.h"

/* Normal noise, reproducible. */
double sample_normal(uint64_t *state);

/* A history of alike series: `past` nights before anything happens, then `nights` more, looked at every night. */
struct night_plan {
	size_t series, past, nights;
	double noise; /* standard deviation of a night */
	double rho;   /* correlation of a night's noise with that of the night before; AR(1) */
	double step;  /* share by which values are lower after `past` nights; 0: nothing changes */
	enum { NIGHTS_TOGETHER, NIGHTS_ALONE, NIGHTS_PROPOSED } method;
	uint64_t seed;
};

/*
 * NIGHTS_TOGETHER: as `history trend` looks at a history, with what the series share. NIGHTS_ALONE: each series as the only
 * one. NIGHTS_PROPOSED: all that change_points() proposes, as if nights were independent.
 */
struct quiet_outcome {
	double changes, warnings; /* share of series with one at any of the nights */
	size_t alarms;            /* changes raised in all */
};
struct quiet_outcome simulate_quiet(const struct night_plan *plan);

struct step_outcome {
	/* Shares of series: found dated within ACKNOWLEDGED_WITHIN nights, and found within 6 dated within 2. */
	double within_6, within_10, dated, warned;
	double mean; /* nights until it is found, of those found */
};
/* `plan->nights` is taken as 10. */
struct step_outcome simulate_step(const struct night_plan *plan);

#endif
