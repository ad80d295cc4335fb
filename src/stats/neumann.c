#include "stats/neumann.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/stats.h"

#define HIGHEST 0.95
#define POINTS 128    /* nodes of the numerical integral, accurate to 1e-6 */
#define BISECTIONS 20 /* bisection steps: rho to 2e-6 */

double neumann_ratio(const double *x, size_t n)
{
	double mean, squares = squares_about_mean(x, n, &mean), steps = 0;

	for (size_t i = 1; i < n; i++)
		steps += pow(x[i] - x[i - 1], 2);
	return n < 3 || !(squares > 0) ? NAN : steps / squares / 2;
}

/*
 * Helmert contrasts: row k of n - 1 compares value k + 1 with the mean of the values before it, so
 * that the sum of their squares is the sum of squares about the mean.
 */
static double stats_neumann_helmert_contrast(size_t k, size_t i)
{
	double weight = sqrt((double)(k + 1) * (double)(k + 2));

	return i <= k ? 1 / weight : i == k + 1 ? -(double)(k + 1) / weight : 0;
}

/* m x m matrices of the contrasts: covariance `w`, and quadratic form `a` of the differences. */
static void stats_neumann_contrast_matrices(double rho, size_t n, double *w, double *a)
{
	size_t m = n - 1;

	for (size_t k = 0; k < m; k++)
		for (size_t l = 0; l < m; l++) {
			w[k * m + l] = a[k * m + l] = 0;
			for (size_t i = 0; i <= k + 1; i++)
				for (size_t j = 0; j <= l + 1; j++) {
					double both = stats_neumann_helmert_contrast(k, i) *
						      stats_neumann_helmert_contrast(l, j);
					double lag = fabs((double)i - (double)j);
					/* Half the squared successive differences of n values. */
					double step = lag > 1                ? 0
						      : lag > 0              ? -0.5
						      : i == 0 || i + 1 == n ? 0.5
									     : 1;

					w[k * m + l] += both * pow(rho, lag);
					a[k * m + l] += both * step;
				}
		}
}

/*
 * E[y'Ay exp(-t y'y)] for y with covariance W: |I + 2tW|^-1/2 trace(A W (I + 2tW)^-1). `room`:
 * scratch for m x m and m values.
 */
static double stats_neumann_damped_expectation(const double *w, const double *a, size_t m, double t,
					       double *room)
{
	double *factor = room, *column = room + m * m;
	double trace = 0, root = 1;

	for (size_t i = 0; i < m * m; i++)
		factor[i] = 2 * t * w[i] + (i % (m + 1) == 0);
	/*
	 * Cholesky factorisation in place: lower factor of the symmetric, positive definite m x m
	 * matrix.
	 */
	for (size_t i = 0; i < m; i++)
		for (size_t j = 0; j <= i; j++) {
			double rest = factor[i * m + j];

			for (size_t k = 0; k < j; k++)
				rest -= factor[i * m + k] * factor[j * m + k];
			factor[i * m + j] = i == j ? sqrt(rest) : rest / factor[j * m + j];
		}
	for (size_t j = 0; j < m; j++) {
		for (size_t i = 0; i < m; i++)
			column[i] = w[i * m + j];
		/* Solves L L' x = b in place. */
		for (size_t i = 0; i < m; i++) {
			for (size_t k = 0; k < i; k++)
				column[i] -= factor[i * m + k] * column[k];
			column[i] /= factor[i * m + i];
		}
		for (size_t i = m; i-- > 0;) {
			for (size_t k = i + 1; k < m; k++)
				column[i] -= factor[k * m + i] * column[k];
			column[i] /= factor[i * m + i];
		}
		for (size_t i = 0; i < m; i++)
			trace += a[j * m + i] * column[i];
		root *= factor[j * m + j];
	}
	return trace / root;
}

double neumann_expectation(double rho, size_t n)
{
	size_t m = n - 1;
	double *w = xcalloc(3 * m * m + m, sizeof(*w)), *a = w + m * m, *room = a + m * m;
	double sum = 0, scale = 0;

	stats_neumann_contrast_matrices(rho, n, w, a);
	for (size_t i = 0; i < m; i++)
		scale += 2 * w[i * m + i] / (double)m;
	/* E[S/Q] is the integral of E[S exp(-tQ)] over all t > 0; t = (u / (1 - u))^2 / scale. */
	for (size_t i = 0; i < POINTS; i++) {
		double u = ((double)i + 0.5) / POINTS, rest = 1 - u;
		double t = u * u / rest / rest / scale;
		double slope = 2 * u / (rest * rest * rest) / scale;

		sum += stats_neumann_damped_expectation(w, a, m, t, room) * slope / POINTS;
	}
	free(w);
	return sum;
}

double neumann_correlation(double ratio, size_t n)
{
	double low = -HIGHEST, high = HIGHEST;

	for (int i = 0; i < BISECTIONS; i++) {
		double rho = (low + high) / 2;

		if (neumann_expectation(rho, n) > ratio)
			low = rho;
		else
			high = rho;
	}
	return (low + high) / 2;
}
