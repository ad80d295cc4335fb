/* Median of autocorrelated samples with its interval, by the method of Hoefler & Belli, SC'15. */
#ifndef GPUPROOF_STATS_MEDIAN_H
#define GPUPROOF_STATS_MEDIAN_H

#include <stdbool.h>
#include <stddef.h>

/* The values in ascending order; the caller frees them. */
double *stats_median_sorted_copy(const double *values, size_t n);

/* Lag-1 autocorrelation; 0 if n < 3 or all values are equal. */
double stats_median_autocorrelation(const double *values, size_t n);

/*
 * Upper estimate of the autocorrelation of n samples from the estimate r1: bias removed, plus a
 * margin.
 */
double stats_median_correlation_bound(double r1, size_t n);

/* Relative change between the medians of the first and last thirds; 0: fewer than six samples. */
double stats_median_drift_of(const double *samples, size_t n);

/*
 * 95 % interval of the median for samples whose number depended on it. Interpolates order
 * statistics for the effective sample count n (1 - r) / (1 + r) if r =
 * stats_median_correlation_bound() > 0. Returns false and NaNs if n (1 - r1) / (1 + r1) is below 6:
 * no such interval exists.
 */
bool median_interval(const double *sorted, size_t n, double autocorrelation, double *low,
		     double *high);

/*
 * Interval for a drifting series in time order, such as clocks while a GPU warms up: the interval
 * without the trend, plus the whole change of the trend, so that it contains the level of the first
 * and the last sample. Returns false and NaNs if there are too few samples even without the trend,
 * or if positive samples would get an interval that reaches zero.
 */
bool stats_median_drifting_interval(const double *samples, size_t n, double *low, double *high);

/*
 * Mean of the samples of one load, in time order, with its 95 % interval. A power limit moves the
 * samples in waves of about a second, which are not noise. The interval therefore comes from the
 * difference between the halves of the load, moderated by what is typical for loads. low and high
 * are NaN below six samples.
 */
double stats_median_load_mean(const double *samples, size_t n, double *low, double *high);

/*
 * Relative half-width of the median's interval so far, for samples in time order: the larger half /
 * median. NaN without an interval. *drifts: it comes from stats_median_drifting_interval() and may
 * narrow when the level settles.
 */
double stats_median_half_width(const double *samples, size_t n, bool *drifts);

#endif
