#include "stats/rank.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/stats.h"

#define LEAST 4
#define MOST_ORDERS 0x1p53 /* largest count that doubles represent exactly */
#define MOST_EXACT_U 20000 /* pairs: milliseconds */

/*
 * Coefficients of prod_{i=1..m} (1 - x^(n+i)) / (1 - x^i): number of orders of m and n values with
 * U = u. Takes O(m m n) time. Integers up to MOST_ORDERS, so doubles are exact.
 */
static double *rank_count_orders(size_t m, size_t n)
{
	size_t size = m * n + 1;
	double *counts = xcalloc(size, sizeof(*counts));

	counts[0] = 1;
	for (size_t i = 1; i <= m; i++) {
		for (size_t u = size; u-- > n + i;)
			counts[u] -= counts[u - n - i];
		for (size_t u = i; u < size; u++)
			counts[u] += counts[u - i];
	}
	return counts;
}

double stats_rank_mann_whitney_probability(size_t m, size_t n, size_t u)
{
	double below = 0, all = 0, orders = 1, mean, deviation;
	double *counts;

	if (u >= m * n)
		return 1;
	if (m > n)
		return stats_rank_mann_whitney_probability(n, m, u);
	/* The number of orders, m + n over m, must be exactly representable. */
	for (size_t i = 1; i <= m && orders <= MOST_ORDERS; i++)
		orders *= (double)(n + i) / (double)i;
	if (orders > MOST_ORDERS || m * n > MOST_EXACT_U) {
		mean = (double)m * (double)n / 2;
		deviation = sqrt((double)m * (double)n * (double)(m + n + 1) / 12);
		return erfc(-((double)u + 0.5 - mean) / deviation / M_SQRT2) / 2;
	}
	counts = rank_count_orders(m, n);
	for (size_t i = 0; i <= m * n; i++) {
		all += counts[i];
		below += i <= u ? counts[i] : 0;
	}
	free(counts);
	return below / all;
}

/*
 * Number of sorted differences that can be left out at either end; 0: none, so there is no
 * interval.
 */
static size_t interval_rank(size_t m, size_t n, double tail)
{
	size_t low = 0, high = m * n / 2;

	/* The largest k with P(U <= k - 1) <= tail. */
	while (low < high) {
		size_t middle = (low + high + 1) / 2;

		if (stats_rank_mann_whitney_probability(m, n, middle - 1) <= tail)
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}

bool stats_rank_shift_between(const double *a, size_t m, const double *b, size_t n, double tail,
			      double *shift, double *low, double *high)
{
	double *differences = xmalloc(m * n * sizeof(*differences));
	size_t count = m * n, rank = 0;

	for (size_t i = 0; i < m; i++)
		for (size_t j = 0; j < n; j++)
			differences[i * n + j] = b[j] - a[i];
	qsort(differences, count, sizeof(*differences), compare_doubles);
	*shift = median_of_sorted(differences, count);
	*low = *high = NAN;
	if (m >= LEAST && n >= LEAST)
		rank = interval_rank(m, n, tail);
	if (rank) {
		*low = differences[rank - 1];
		*high = differences[count - rank];
	}
	free(differences);
	return rank > 0;
}

/* Probability that random signs of the ranks 1..n give a sum of positive ranks of at most k. */
static double signed_rank_probability(size_t n, size_t k)
{
	size_t size = n * (n + 1) / 2 + 1;
	double *share = xcalloc(size, sizeof(*share)), sum = 0;

	share[0] = 1;
	for (size_t rank = 1; rank <= n; rank++)
		for (size_t i = size; i-- > 0;)
			share[i] = (share[i] + (i >= rank ? share[i - rank] : 0)) / 2;
	for (size_t i = 0; i < size && i <= k; i++)
		sum += share[i];
	free(share);
	return sum;
}

bool stats_rank_shift_of_pairs(const double *differences, size_t n, double tail, double *shift,
			       double *low, double *high)
{
	double *means = xmalloc((n * (n + 1) / 2 + 1) * sizeof(*means));
	size_t count = 0, rank = 0;

	for (size_t i = 0; i < n; i++)
		for (size_t j = i; j < n; j++)
			means[count++] = (differences[i] + differences[j]) / 2;
	qsort(means, count, sizeof(*means), compare_doubles);
	*low = *high = NAN;
	*shift = median_of_sorted(means, count);
	while (rank < count / 2 && signed_rank_probability(n, rank) <= tail)
		rank++;
	if (rank) {
		*low = means[rank - 1];
		*high = means[count - rank];
	}
	free(means);
	return rank > 0;
}
