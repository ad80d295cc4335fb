#include "result/statistics.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/stats.h"

const struct noise_limits noise_limits_default = { .mad = 0.02, .iqr = 0.05, .drift = 0.01 };

double statistics_series_level(const struct series *series)
{
	double low, high;

	return series->load ? stats_median_load_mean(series->samples, series->count, &low, &high)
			    : series->statistics.median;
}

static void statistics_add_noise(struct statistics *s, const char *what, double value, double limit)
{
	size_t used = strlen(s->noise);

	if (!(fabs(value) > limit))
		return;
	s->noisy = true;
	snprintf(s->noise + used, sizeof(s->noise) - used, "%s%s %.1f %%", used ? ", " : "", what,
		 100 * value);
}

void statistics_compute(const double *samples, size_t n, unsigned batch, double tick,
			const struct noise_limits *limits, struct statistics *out)
{
	double *sorted;

	memset(out, 0, sizeof(*out));
	out->n = n;
	out->min = out->p5 = out->q1 = out->median = out->q3 = out->p95 = out->p99 = out->max = NAN;
	out->low = out->high = out->mad = out->relative_iqr = NAN;
	if (n == 0)
		return;
	if (!limits)
		limits = &noise_limits_default;
	sorted = stats_median_sorted_copy(samples, n);
	out->min = sorted[0];
	out->p5 = quantile(sorted, n, 0.05);
	out->q1 = quantile(sorted, n, 0.25);
	out->median = quantile(sorted, n, 0.5);
	out->q3 = quantile(sorted, n, 0.75);
	out->p95 = quantile(sorted, n, 0.95);
	if (n >= 100 && batch == 1)
		out->p99 = quantile(sorted, n, 0.99);
	out->max = sorted[n - 1];
	out->autocorrelation = stats_median_autocorrelation(samples, n);
	if (!median_interval(sorted, n, out->autocorrelation, &out->low, &out->high))
		stats_median_drifting_interval(samples, n, &out->low, &out->high);
	/*
	 * Lower bound: the uniform error of a clock tick, and 1e-4, below which nothing repeats
	 * here.
	 */
	out->mad = fmax(robust_deviation(samples, n, out->median),
			fmax(tick / sqrt(12), 1e-4 * out->median));
	out->relative_iqr = out->median > 0 ? (out->q3 - out->q1) / out->median : 0;
	out->drift = stats_median_drift_of(samples, n);
	if (out->median > 0)
		statistics_add_noise(out, "MAD", out->mad / out->median, limits->mad);
	statistics_add_noise(out, "IQR", out->relative_iqr, limits->iqr);
	statistics_add_noise(out, "drift", out->drift, limits->drift);
	free(sorted);
}
