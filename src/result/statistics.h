/* Statistics of a series of samples. */
#ifndef GPUPROOF_RESULT_STATISTICS_H
#define GPUPROOF_RESULT_STATISTICS_H

#include <stdbool.h>
#include <stddef.h>

#include "result/result.h"
#include "stats/median.h"

/* Thresholds for a noisy series; all are ratios. */
struct noise_limits {
	double mad, iqr, drift; /* defaults 0.02, 0.05, 0.01 */
};
extern const struct noise_limits noise_limits_default;

/* Level of a series: median of its samples; for a load their mean. */
double statistics_series_level(const struct series *series);

/*
 * Computes all statistics of a series. `tick`: resolution of the clock per operation (0: unknown);
 * `batch`: operations per sample (quantiles beyond p95 only for 1); `limits` NULL: defaults.
 */
void statistics_compute(const double *samples, size_t n, unsigned batch, double tick,
			const struct noise_limits *limits, struct statistics *out);

#endif
