/*
 * Estimates a step common to a pool of GPUs that alternate.
 *
 * Night i on GPU c: y_i = level + step [i >= at] + g_c + e_i, with g_c from N(0, lambda sigma^2)
 * and e_i from N(0, sigma^2): the GPU is a random effect (Henderson, Biometrics 31, 1975). A GPU
 * that joins determines its own level but not the step, unless GPUs are alike. For each lambda of a
 * grid, the generalised least squares are sums over GPUs; the lambda with the largest restricted
 * likelihood is used (Patterson & Thompson, Biometrika 58, 1971).
 *
 * Error: sigma is moderated by the typical one of the kind, as in level.h. Effects common to all
 * GPUs of a night enlarge it by the design effect of the nights' means (Kish 1965), autocorrelation
 * of nights by (1 + r) / (1 - r) (Bayley & Hammersley 1946).
 */
#ifndef GPUPROOF_STATS_POOL_H
#define GPUPROOF_STATS_POOL_H

#include <stddef.h>
#include <stdint.h>

#include "stats/level.h"

struct pool_night {
	size_t gpu; /* from 0 */
	int64_t day;
	double log;
};

struct pool_input {
	const struct pool_night *nights; /* by day */
	size_t count, gpus;
	size_t at;      /* index of the first night after the step, above 0 */
	double typical; /* standard deviation of one night; NaN: unknown */
	size_t without; /* a GPU to leave out; SIZE_MAX: none */
};

struct pool_step {
	struct level_shift shift; /* error NaN: no GPU has nights on both sides */
	double level;             /* level before the step of the median GPU */
	double apart;             /* standard deviation between GPUs */
	size_t both;              /* number of GPUs with nights on both sides */
};

struct pool_step stats_pool_step_at(const struct pool_input *in);

#endif
