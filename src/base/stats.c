#include "base/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double quantile(const double *sorted, size_t n, double p)
{
	double position = (double)(n - 1) * p;
	size_t below = (size_t)position;

	if (below + 1 >= n)
		return sorted[n - 1];
	return sorted[below] + (position - (double)below) * (sorted[below + 1] - sorted[below]);
}

double median_of_sorted(const double *sorted, size_t n)
{
	if (n == 0)
		return NAN;
	return n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

double median_of(const double *values, size_t n)
{
	double *sorted, median;

	if (n == 0)
		return NAN;
	sorted = xmalloc(n * sizeof(*sorted));
	memcpy(sorted, values, n * sizeof(*sorted));
	qsort(sorted, n, sizeof(*sorted), compare_doubles);
	median = median_of_sorted(sorted, n);
	free(sorted);
	return median;
}

double squares_about_mean(const double *values, size_t n, double *mean)
{
	double squares = 0;

	*mean = 0;
	for (size_t i = 0; i < n; i++)
		*mean += values[i] / (double)n;
	for (size_t i = 0; i < n; i++)
		squares += (values[i] - *mean) * (values[i] - *mean);
	return squares;
}

double robust_deviation(const double *values, size_t n, double center)
{
	double *distances = xmalloc((n + 1) * sizeof(*distances)), deviation;

	for (size_t i = 0; i < n; i++)
		distances[i] = fabs(values[i] - center);
	deviation = 1.4826 * median_of(distances, n);
	free(distances);
	return deviation;
}

double root_sum_square(double a, double b)
{
	return sqrt(a * a + b * b);
}
