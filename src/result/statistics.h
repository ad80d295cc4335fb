/* Statistics of samples. Method: Hoefler & Belli, SC'15. */
#ifndef GPUPROOF_RESULT_STATISTICS_H
#define GPUPROOF_RESULT_STATISTICS_H

#include <stdbool.h>
#include <stddef.h>

#include "result/result.h"

/* When a series counts as noisy; all are ratios. */
struct noise_limits {
	double mad, iqr, drift; /* defaults 0.02, 0.05, 0.01 */
};
extern const struct noise_limits noise_limits_default;

/* Lag-1 autocorrelation; 0 when n < 3 or the values are all equal. */
double autocorrelation(const double *values, size_t n);

/*
 * An upper estimate of the autocorrelation of n samples, estimated as r1: bias removed, plus a
 * margin.
 */
double correlation_bound(double r1, size_t n);

/* Median of the last third over that of the first, minus 1; 0 for fewer than six samples. */
double drift_of(const double *samples, size_t n);

/*
 * 95 % interval of the median, of samples whose number was decided by looking at it, by
 * interpolated order statistics, with the effective sample count n (1 - r) / (1 + r) when r =
 * correlation_bound() > 0. Returns false, and NaNs, when n (1 - r1) / (1 + r1) is below 6: there is
 * no such interval then.
 */
bool median_interval(const double *sorted, size_t n, double autocorrelation, double *low,
		     double *high);

/*
 * For samples in the order they were taken whose level drifts, as clocks do while a GPU warms up:
 * the interval that they have without the trend, plus all that the trend changed. It holds the
 * level of the first sample and of the last. Returns false, and NaNs, when there are too few
 * without the trend, too, and when positive samples would have one that reaches zero.
 */
bool drifting_interval(const double *samples, size_t n, double *low, double *high);

/*
 * Mean of samples of one load, in the order they were taken, with its 95 % interval. A power limit
 * moves them in waves of about a second, which are no noise: the interval is from the difference of
 * the load's halves, each of which has its waves, moderated by what is typical of loads. Below six
 * samples low and high are NaN.
 */
double load_mean(const double *samples, size_t n, double *low, double *high);

/* Level of a series: the median of its samples, of a load their mean. */
double series_level(const struct series *series);

/*
 * How well the median of samples, in the order they were taken, is known so far: the interval's
 * larger half over the median. NaN while there is none. *drifts: it is drifting_interval()'s, and
 * may yet narrow when the level settles.
 */
double half_width(const double *samples, size_t n, bool *drifts);

/*
 * Everything about one series. `tick`: resolution of the clock per operation (0: unknown); `batch`:
 * operations per sample (quantiles beyond p95 only for 1); `limits` NULL: defaults.
 */
void statistics_compute(const double *samples, size_t n, unsigned batch, double tick,
			const struct noise_limits *limits, struct statistics *out);

#endif
