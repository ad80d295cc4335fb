/* Simulated series of known median that end by measure/stop_rule.h, and how often their intervals hold it. */
#ifndef GPUPROOF_TESTS_SAMPLE_NOISE_H
#define GPUPROOF_TESTS_SAMPLE_NOISE_H

#include <stdint.h>

#include "plan/sampling_rules.h"

struct noise {
	uint64_t seed, at;
	double memory;
};

/* The next value: median 0, scale about 1. */
struct noise_shape {
	const char *name;
	double (*draw)(struct noise *noise);
};
/* "normal", "lognormal", "bimodal", "uniform", "Student t3", "AR(1) 0.3", "AR(1) 0.5", "AR(1) 0.8". */
extern const struct noise_shape noise_shapes[8];
double noise_normal(struct noise *noise);

struct noise_tally {
	double series, samples; /* all samples taken, warm-up too */
	double intervals,
		covered; /* series with an interval; those whose interval holds the median */
	double dropped, unsettled; /* series that lost samples as warm-up; that ended unsettled */
};

/* Adds one series around 1 whose noise has the scale `scale`, each sample lasting a millisecond. */
void noise_take_series(const struct sampling *rules, const struct noise_shape *shape, double scale,
		       uint64_t seed, struct noise_tally *tally);

#endif
