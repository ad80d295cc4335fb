#include "stats/median.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/stats.h"

/*
 * Nominal coverage of the interval of a median; tests/bench/bench_coverage.c measures the actual
 * one.
 */
#define LEVEL 0.95
/*
 * With fewer samples there is no interval: the extremes of five samples contain the median with
 * only 93.75 %.
 */
#define LEAST_EFFECTIVE 6
/*
 * Standard errors added to the autocorrelation, chosen so that series that stop once their interval
 * is narrow have a coverage of 95 %, for independent samples and for AR(1) with a coefficient of up
 * to 0.5.
 */
#define CORRELATION_CAUTION 0.65

double *stats_median_sorted_copy(const double *values, size_t n)
{
	double *copy = xmalloc(n * sizeof(*copy));

	memcpy(copy, values, n * sizeof(*copy));
	qsort(copy, n, sizeof(*copy), compare_doubles);
	return copy;
}

double stats_median_autocorrelation(const double *values, size_t n)
{
	double mean = 0, variance = 0, covariance = 0;

	if (n < 3)
		return 0;
	for (size_t i = 0; i < n; i++)
		mean += values[i] / (double)n;
	for (size_t i = 0; i < n; i++) {
		double d = values[i] - mean;

		variance += d * d;
		if (i + 1 < n)
			covariance += d * (values[i + 1] - mean);
	}
	/* Equal samples differ from their computed mean only by rounding. */
	return variance > (double)n * 1e-24 * mean * mean ? covariance / variance : 0;
}

/*
 * Position among n sorted samples, as a fraction, of the lower end of the median's interval:
 * between the order statistics d and d + 1 whose binomial intervals cover just more and just less
 * than LEVEL, by the nearly distribution-free interpolation of Hettmansperger and Sheather
 * (Statistics & Probability Letters 4, 1986). NaN for n < 6. Sums in logarithms, so that any n
 * works.
 */
static double stats_median_lower_share(double n)
{
	double log_term = -n * log(2.0), below = 0, tail = 0, inner, outer, weight;
	double rank = 0;

	for (double k = 0; k < n; k++) {
		below = tail;
		tail += exp(log_term);
		if (tail > (1 - LEVEL) / 2)
			break;
		rank = k + 1;
		log_term += log((n - k) / (k + 1));
	}
	if (rank < 1)
		return NAN;
	outer = 1 - 2 * below;
	inner = 1 - 2 * tail;
	weight = (outer - LEVEL) / (outer - inner);
	weight = (n - rank) * weight / (rank + (n - 2 * rank) * weight);
	return (rank + weight - 0.5) / n;
}

double stats_median_correlation_bound(double r1, size_t n)
{
	double count = (double)n;

	return fmin(r1 + (1 + 4 * r1) / count + CORRELATION_CAUTION / sqrt(count), 0.99);
}

bool median_interval(const double *sorted, size_t n, double r1, double *low, double *high)
{
	/*
	 * Effective sample size of n samples with the lag-1 autocorrelation r1. An estimated r1 is
	 * too low by (1 + 4 r1) / n (Kendall, Biometrika 41, 1954) and has a standard error of
	 * 1 / sqrt(n). Part of that is added, because sampling stops at a narrow interval, which
	 * selects series with a low estimate of r1. The correction alone never leaves a series
	 * without an interval.
	 */
	double count = (double)n, bound = stats_median_correlation_bound(r1, n),
	       plain = r1 > 0 ? count * (1 - r1) / (1 + r1) : count,
	       cautious = bound > 0 ? count * (1 - bound) / (1 + bound) : count,
	       effective = plain < LEAST_EFFECTIVE ? plain : fmax(cautious, LEAST_EFFECTIVE),
	       whole = floor(effective), share;

	*low = *high = NAN;
	if (effective < LEAST_EFFECTIVE)
		return false;
	share = stats_median_lower_share(whole);
	share += (effective - whole) * (stats_median_lower_share(whole + 1) - share);
	/* Position i of n sorted samples, from 0, corresponds to the share (i + 1/2) / n. */
	share = fmax(0, (share * (double)n - 0.5) / (double)(n - 1));
	*low = quantile(sorted, n, share);
	*high = quantile(sorted, n, 1 - share);
	return true;
}

bool stats_median_drifting_interval(const double *samples, size_t n, double *low, double *high)
{
	double trend, half, r1, *steady, least = INFINITY;
	size_t third = n / 3;
	bool there;

	*low = *high = NAN;
	if (n < 6)
		return false;
	/*
	 * Drift of the level per sample: the medians of the last and the first third are two thirds
	 * of n apart.
	 */
	trend = (median_of(samples + n - third, third) - median_of(samples, third)) /
		(double)(n - third);
	half = fabs(trend) * (double)(n - 1) / 2;
	steady = xmalloc(n * sizeof(*steady));
	for (size_t i = 0; i < n; i++) {
		steady[i] = samples[i] - trend * ((double)i - (double)(n - 1) / 2);
		least = samples[i] < least ? samples[i] : least;
	}
	r1 = stats_median_autocorrelation(steady, n);
	qsort(steady, n, sizeof(*steady), compare_doubles);
	there = median_interval(steady, n, r1, low, high);
	*low -= half;
	*high += half;
	free(steady);
	/* Durations are positive: an interval that reaches zero is useless. */
	if (there && *low <= 0 && least > 0) {
		*low = *high = NAN;
		there = false;
	}
	return there;
}

static double stats_median_mean_of(const double *samples, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += samples[i];
	return sum / (double)n;
}

/*
 * RMS of half the difference between the two halves of 2 s under the power limit: 33 loads of an
 * H100.
 */
#define LOAD_ERROR 0.002
#define LOAD_ERROR_WEIGHT 3
/* Student's t at 95 % with 1 + LOAD_ERROR_WEIGHT degrees of freedom. */
#define LOAD_QUANTILE 2.776

double stats_median_load_mean(const double *samples, size_t n, double *low, double *high)
{
	double mean, halves, squares = 0, typical, half;

	*low = *high = NAN;
	if (n == 0)
		return NAN;
	mean = stats_median_mean_of(samples, n);
	if (n < 6)
		return mean;
	for (size_t i = 0; i < n; i++)
		squares += (samples[i] - mean) * (samples[i] - mean);
	/* At most that of as many samples without waves. */
	typical = fmin(LOAD_ERROR * mean, sqrt(squares / (double)(n - 1) / (double)n));
	halves = (stats_median_mean_of(samples, n / 2) -
		  stats_median_mean_of(samples + n / 2, n - n / 2)) /
		 2;
	half = LOAD_QUANTILE * sqrt((halves * halves + LOAD_ERROR_WEIGHT * typical * typical) /
				    (1 + LOAD_ERROR_WEIGHT));
	*low = mean - half;
	*high = mean + half;
	return mean;
}

double stats_median_half_width(const double *samples, size_t n, bool *drifts)
{
	double *sorted, median, low, high;

	*drifts = false;
	if (n == 0)
		return NAN;
	sorted = stats_median_sorted_copy(samples, n);
	median = quantile(sorted, n, 0.5);
	if (!median_interval(sorted, n, stats_median_autocorrelation(samples, n), &low, &high))
		*drifts = stats_median_drifting_interval(samples, n, &low, &high);
	free(sorted);
	return median > 0 ? fmax(high - median, median - low) / median : NAN;
}

double stats_median_drift_of(const double *samples, size_t n)
{
	size_t third = n / 3;
	double first;

	if (n < 6)
		return 0;
	first = median_of(samples, third);
	return first > 0 ? median_of(samples + n - third, third) / first - 1 : 0;
}
