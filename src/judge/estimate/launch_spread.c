#include "judge/estimate/launch_spread.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/stats.h"

#define Z_95 1.6448536269514722
/*
 * One of several devices scatters on its own account where fewer than one of a thousand would by
 * chance.
 */
#define Z_999 3.0902323061678132
#define FEWEST_FIGURES 3
#define FEWEST_WITH_REST 4
/*
 * A median of variances says as much as this share of their mean (normal launches, four degrees of
 * freedom: 0.55).
 */
#define MEDIAN_EFFICIENCY 0.5

/*
 * Wilson & Hilferty 1931: the quantile of chi-squared over its mean, within 3 % for one degree of
 * freedom.
 */
static double chi_squared_ratio(double dof, double z)
{
	return pow(1 - 2 / (9 * dof) + z * sqrt(2 / (9 * dof)), 3);
}

struct launch_spread launch_spread_assumed(double ratio)
{
	return (struct launch_spread){ .ratio = ratio,
				       .weight = ratio > 0 ? SPREAD_WEIGHT : 0,
				       .doubt = Z_95 };
}

double log_deviation(const double *values, size_t n)
{
	double mean = 0, sum = 0;

	if (n < 2)
		return 0;
	for (size_t i = 0; i < n; i++)
		mean += log(values[i]) / (double)n;
	for (size_t i = 0; i < n; i++)
		sum += (log(values[i]) - mean) * (log(values[i]) - mean);
	return sqrt(sum / (double)(n - 1));
}

/* Deviation without the launch farthest from the median. */
static double deviation_of_rest(const double *values, size_t n)
{
	double *rest = xmalloc(n * sizeof(*rest)), median = log(median_of(values, n)), deviation;
	size_t farthest = 0, count = 0;

	for (size_t i = 1; i < n; i++)
		if (fabs(log(values[i]) - median) > fabs(log(values[farthest]) - median))
			farthest = i;
	for (size_t i = 0; i < n; i++)
		if (i != farthest)
			rest[count++] = values[i];
	deviation = log_deviation(rest, count);
	free(rest);
	return deviation;
}

bool launch_spread_refuted(const struct launch_spread *spread, const double *values, size_t n)
{
	bool rest = spread->shared && n >= FEWEST_WITH_REST;
	double own = (double)n - (rest ? 2 : 1);
	double seen = rest ? deviation_of_rest(values, n) : log_deviation(values, n);

	return spread->ratio > 0 && own > 0 &&
	       seen * seen > chi_squared_ratio(own, spread->doubt) * spread->ratio * spread->ratio;
}

struct launch_spread launch_spread_learn(const double *deviations, const size_t *launches, size_t n,
					 double assumed)
{
	struct launch_spread spread = launch_spread_assumed(assumed);
	double *variances = xmalloc((n + 1) * sizeof(*variances)), dof = 0, common;
	size_t count = 0;

	for (size_t i = 0; i < n; i++) {
		double own = (double)launches[i] - 1;

		if (launches[i] < 2)
			continue;
		/* The median of chi-squared is less than its mean. */
		variances[count++] = deviations[i] * deviations[i] / chi_squared_ratio(own, 0);
		dof += own;
	}
	common = count ? median_of(variances, count) : 0;
	free(variances);
	if (count < FEWEST_FIGURES || !(assumed > 0))
		return spread;
	dof *= MEDIAN_EFFICIENCY;
	spread.doubt = Z_999;
	spread.shared = true;
	if (common > chi_squared_ratio(dof, Z_95) * assumed * assumed)
		spread = (struct launch_spread){ sqrt(common), dof, Z_999, true, true };
	return spread;
}
