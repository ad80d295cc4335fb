#include "judge/estimate/estimate.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/stats.h"

#define Z_95 1.6448536269514722
#define Z_975 1.959963984540054

double hodges_lehmann(const double *values, size_t n)
{
	double *means = xmalloc(n * (n + 1) / 2 * sizeof(*means)), median;
	size_t count = 0;

	for (size_t i = 0; i < n; i++)
		for (size_t j = i; j < n; j++)
			means[count++] = (values[i] + values[j]) / 2;
	median = median_of(means, count);
	free(means);
	return median;
}

double student_quantile(double probability, double dof)
{
	double x = probability > 0.96 ? Z_975 : Z_95;
	double x2 = x * x;
	double g1 = x * (x2 + 1) / 4;
	double g2 = x * (5 * x2 * x2 + 16 * x2 + 3) / 96;
	double g3 = x * (3 * x2 * x2 * x2 + 19 * x2 * x2 + 17 * x2 - 15) / 384;
	double g4 =
		x *
		(79 * x2 * x2 * x2 * x2 + 776 * x2 * x2 * x2 + 1482 * x2 * x2 - 1920 * x2 - 945) /
		92160;
	double tail = 1 - (probability > 0.96 ? 0.975 : 0.95);

	if (dof < 1.5)
		return 1 / tan(M_PI * tail);
	if (dof < 2.5)
		return (1 - 2 * tail) * sqrt(2 / (4 * tail * (1 - tail)));
	return x + g1 / dof + g2 / (dof * dof) + g3 / pow(dof, 3) + g4 / pow(dof, 4);
}

/*
 * Standard deviation between launches: what was taken for granted, weighed against what was seen.
 */
static double combined_deviation(const double *values, size_t n, const struct launch_spread *spread,
				 double *dof)
{
	bool refuted = launch_spread_refuted(spread, values, n);
	double seen = log_deviation(values, n);
	double prior = refuted ? 0 : spread->weight;
	/* The learnt spread already includes these launches. */
	double own = spread->learnt && !refuted ? 0 : (double)n - 1;

	*dof = prior + own;
	return *dof > 0 ? sqrt((prior * spread->ratio * spread->ratio + own * seen * seen) / *dof)
			: 0;
}

struct estimate estimate_launches(const double *values, size_t n, double sample_half,
				  const struct launch_spread *spread)
{
	double dof, deviation = combined_deviation(values, n, spread, &dof);
	double between = deviation / sqrt((double)n);
	double within = sample_half > 0 ? sample_half / Z_975 / sqrt((double)n) : 0;
	struct estimate e = { .value = values[0], .launches = n };
	double *logs;

	/* The scatter of several launches already includes that of their samples. */
	if (n > 1)
		within = 0;
	if (spread->learnt || launch_spread_refuted(spread, values, n))
		e.learnt = deviation;
	dof = fmax(dof, 1);
	e.half = sqrt(pow(student_quantile(0.95, dof) * between, 2) + pow(Z_95 * within, 2));
	e.half_both = sqrt(pow(student_quantile(0.975, dof) * between, 2) + pow(Z_975 * within, 2));
	if (n < 2)
		return e;
	logs = xmalloc(n * sizeof(*logs));
	for (size_t i = 0; i < n; i++)
		logs[i] = log(values[i]);
	e.value = exp(hodges_lehmann(logs, n));
	free(logs);
	return e;
}

/* Half widths of a linear interval as those of a ratio: what the upper end is to the value. */
static double as_ratio(double value, double half)
{
	return half > 0 ? log1p(half / value) : 0;
}

struct estimate estimate_with_zeros(const double *values, size_t n)
{
	double mean = 0, squares = 0, error;
	struct estimate e = { .value = hodges_lehmann(values, n), .launches = n };

	for (size_t i = 0; i < n; i++)
		mean += values[i] / (double)n;
	for (size_t i = 0; i < n; i++)
		squares += (values[i] - mean) * (values[i] - mean);
	if (!(e.value > 0))
		e.value = mean;
	if (n < 2 || !(e.value > 0))
		return e;
	error = sqrt(squares / (double)(n - 1) / (double)n);
	e.half = as_ratio(e.value, student_quantile(0.95, (double)n - 1) * error);
	e.half_both = as_ratio(e.value, student_quantile(0.975, (double)n - 1) * error);
	return e;
}
