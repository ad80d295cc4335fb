#include "stats/difference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/stats.h"
#include "stats/rank.h"
#include "stats/student.h"

/* The MAD of a normal distribution is its standard deviation divided by this. */
#define SIGMAS_PER_MAD 1.4826

double difference_probability(const double *a, size_t m, const double *b, size_t n)
{
	size_t below = 0, above = 0, u;
	double p;

	for (size_t i = 0; i < m; i++)
		for (size_t j = 0; j < n; j++) {
			below += a[i] <= b[j];
			above += a[i] >= b[j];
		}
	u = below < above ? below : above;
	p = 2 * stats_rank_mann_whitney_probability(m, n, u);
	return p < 1 ? p : 1;
}

double stats_difference_outlier_distance(const double *x, size_t m, size_t n)
{
	double *distances = xmalloc((m + n) * sizeof(*distances));
	double a = median_of(x, m), b = median_of(x + m, n), mad;

	for (size_t i = 0; i < m + n; i++)
		distances[i] = fabs(x[i] - (i < m ? a : b));
	mad = median_of(distances, m + n);
	free(distances);
	/*
	 * Two medians were fitted: without the square root, few nights would look less variable
	 * than they are.
	 */
	return OUTLIER_SIGMAS * SIGMAS_PER_MAD * mad * sqrt((double)(m + n) / (double)(m + n - 2));
}

static double stats_difference_drawn_in(double value, double median, double distance)
{
	return fmax(median - distance, fmin(median + distance, value));
}

double stats_difference_winsorized_squares(const double *x, size_t n, double distance, double *mean)
{
	double median = median_of(x, n), sum = 0, squares = 0;

	for (size_t i = 0; i < n; i++)
		sum += stats_difference_drawn_in(x[i], median, distance);
	*mean = sum / (double)n;
	for (size_t i = 0; i < n; i++) {
		double d = stats_difference_drawn_in(x[i], median, distance) - *mean;

		squares += d * d;
	}
	return squares;
}

double stats_difference_shift_probability(const double *x, size_t m, size_t n)
{
	double distance = stats_difference_outlier_distance(x, m, n), a, b, squares, deviation;

	squares = stats_difference_winsorized_squares(x, m, distance, &a);
	squares += stats_difference_winsorized_squares(x + m, n, distance, &b);
	deviation = sqrt(squares / (double)(m + n - 2) * (1 / (double)m + 1 / (double)n));
	/* Without any variation, nights are equal or certainly different. */
	if (deviation <= 0)
		return a != b ? 0 : 1;
	return student_probability((b - a) / deviation, (double)(m + n - 2));
}
