#include "measure/sampling/settling.h"

#include <math.h>

#include "base/stats.h"
#include "result/statistics.h"

/* Two-sided 1 % quantile of the normal distribution. */
#define SIGNIFICANT 2.576

/* Mann's S: number of ascending pairs minus descending pairs. */
static double trend_score(const double *x, size_t n)
{
	double score = 0;

	for (size_t i = 0; i < n; i++)
		for (size_t j = i + 1; j < n; j++)
			score += (x[j] > x[i]) - (x[j] < x[i]);
	return score;
}

/* Residuals of x after isotonic regression in the direction of `sign` (pool adjacent violators). */
static void isotonic_residuals(const double *x, size_t n, double sign, double *residuals)
{
	double level[SETTLING_BLOCKS];
	size_t weight[SETTLING_BLOCKS], pools = 0, at = 0;

	for (size_t i = 0; i < n; i++) {
		level[pools] = sign * x[i];
		weight[pools++] = 1;
		while (pools > 1 && level[pools - 2] >= level[pools - 1]) {
			size_t both = weight[pools - 2] + weight[pools - 1];

			level[pools - 2] = (level[pools - 2] * (double)weight[pools - 2] +
					    level[pools - 1] * (double)weight[pools - 1]) /
					   (double)both;
			weight[pools - 2] = both;
			pools--;
		}
	}
	for (size_t p = 0; p < pools; p++)
		for (size_t k = 0; k < weight[p]; k++, at++)
			residuals[at] = x[at] - sign * level[p];
}

bool settling_drifts(const double *samples, size_t n, double target)
{
	double x[SETTLING_BLOCKS], residuals[SETTLING_BLOCKS];
	double score, blocks, r, variance;
	size_t count;

	if (n < 6 || !(fabs(drift_of(samples, n)) > fmax(SETTLING_CHANGE, target)))
		return false;
	/* Medians of at most SETTLING_BLOCKS blocks of samples; returns their number. */
	count = n < SETTLING_BLOCKS ? n : SETTLING_BLOCKS;
	for (size_t i = 0; i < count; i++) {
		size_t begin = i * n / count, end = (i + 1) * n / count;

		x[i] = median_of(samples + begin, end - begin);
	}
	score = trend_score(x, count);
	isotonic_residuals(x, count, score < 0 ? -1 : 1, residuals);
	r = fmin(fmax(autocorrelation(residuals, count), 0), 0.99);
	blocks = (double)count;
	variance = blocks * (blocks - 1) * (2 * blocks + 5) / 18 * (1 + r) / (1 - r);
	/* Continuity correction: S changes in steps of two. */
	return (fabs(score) - 1) > SIGNIFICANT * sqrt(variance);
}
