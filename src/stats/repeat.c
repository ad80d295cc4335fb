#include "stats/repeat.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/stats.h"
#include "stats/median.h"
#include "stats/student.h"

#define ENCLOSES 0.93

double stats_repeat_hodges_lehmann(const double *values, size_t n)
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

size_t repeat_order(size_t n)
{
	/* Probability that exactly i of n values are below the median. */
	double exactly = exp2(-(double)n), below = 0;
	size_t order = n < 3 ? 0 : 1;

	for (size_t i = 0; order && 2 * (i + 1) <= n; i++) {
		below += exactly;
		if (1 - 2 * below < ENCLOSES)
			break;
		order = i + 1;
		exactly *= (double)(n - i) / (double)(i + 1);
	}
	return order;
}

struct repeat_interval repeat_interval(const double *logs, size_t n, const struct repeat *repeat,
				       double probability, double sample_half)
{
	double freedom = REPEAT_WEIGHT + (double)n - 1, mean;
	double squares = squares_about_mean(logs, n, &mean);
	/* Moderated standard deviation of a launch. */
	double deviation =
		sqrt((REPEAT_WEIGHT * repeat->spread * repeat->spread + squares) / freedom);
	double variance = (n < 3 ? 1 : HODGES_LEHMANN_VARIANCE) / (double)n;
	double half = student_quantile(probability, freedom) * deviation * sqrt(variance);
	struct repeat_interval interval = { .center = stats_repeat_hodges_lehmann(logs, n) };

	if (n == 1 && sample_half > 0)
		half = root_sum_square(half, sample_half);
	interval.low = interval.center - half;
	interval.high = interval.center + half;
	/* Widens the interval to the k-th launch from either end. */
	if (repeat->states && repeat_order(n)) {
		size_t order = repeat_order(n);
		double *sorted = stats_median_sorted_copy(logs, n);

		interval.low = fmin(interval.low, sorted[order - 1]);
		interval.high = fmax(interval.high, sorted[n - order]);
		free(sorted);
	}
	return interval;
}
