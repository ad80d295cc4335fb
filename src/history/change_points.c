#include "history/change_points.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/stats.h"
#include "stats/difference.h"

/* Later values may mask a reverted change: tries this many ends of the right side. */
#define RIGHT_ENDS 8

/*
 * Sums of |x - y| over a growing set in logarithmic time: Fenwick trees of counts and sums by rank.
 */
struct ranks {
	size_t n;
	size_t *rank; /* rank of each value, from 1 */
	double *count, *sum;
	double total, total_sum;
};

struct ranked {
	double value;
	size_t index;
};

static int change_points_by_value(const void *a, const void *b)
{
	const struct ranked *p = a, *q = b;

	if (p->value != q->value)
		return p->value > q->value ? 1 : -1;
	return (p->index > q->index) - (p->index < q->index);
}

static void change_points_ranks_empty(struct ranks *r)
{
	memset(r->count, 0, (r->n + 1) * sizeof(*r->count));
	memset(r->sum, 0, (r->n + 1) * sizeof(*r->sum));
	r->total = r->total_sum = 0;
}

/* Adds x[i]; returns the sum of its distances to all values added before. */
static double change_points_ranks_add(struct ranks *r, const double *x, size_t i)
{
	double below = 0, below_sum = 0, distance;

	for (size_t k = r->rank[i]; k; k &= k - 1) {
		below += r->count[k];
		below_sum += r->sum[k];
	}
	distance =
		x[i] * below - below_sum + (r->total_sum - below_sum) - x[i] * (r->total - below);
	for (size_t k = r->rank[i]; k <= r->n; k += k & -k) {
		r->count[k]++;
		r->sum[k] += x[i];
	}
	r->total++;
	r->total_sum += x[i];
	return distance;
}

struct split {
	size_t at, end; /* left: before `at`; right: from `at` to `end` */
	double statistic;
};

/*
 * Finds the best split of x[0..end-1]; `left[k]` is the sum of distances within the first k values.
 */
static void change_points_scan_splits(struct ranks *r, const double *x, size_t end,
				      const double *left, struct split *best)
{
	double right = 0;

	change_points_ranks_empty(r);
	for (size_t at = end; at-- > CHANGE_MIN_SEGMENT;) {
		double statistic, dm, dn, distance;

		right += change_points_ranks_add(r, x, at);
		if (end - at < CHANGE_MIN_SEGMENT)
			continue;
		/* Energy distance between both sides (Szekely & Rizzo), weighted by their sizes. */
		dm = (double)at;
		dn = (double)(end - at);
		distance = 2 * (left[end] - left[at] - right) / (dm * dn) -
			   2 * left[at] / (dm * (dm - 1)) - 2 * right / (dn * (dn - 1));
		statistic = dm * dn / (dm + dn) * distance;
		if (statistic > best->statistic)
			*best = (struct split){ at, end, statistic };
	}
}

static struct split change_points_best_split(const double *x, size_t n)
{
	struct split best = { 0, n, -INFINITY };
	double *left = xmalloc((n + 1) * sizeof(*left));
	struct ranks r;
	struct ranked *sorted = xmalloc(n * sizeof(*sorted));

	r = (struct ranks){ .n = n };
	r.rank = xmalloc(n * sizeof(*r.rank));
	r.count = xmalloc((n + 1) * sizeof(*r.count));
	r.sum = xmalloc((n + 1) * sizeof(*r.sum));
	for (size_t i = 0; i < n; i++)
		sorted[i] = (struct ranked){ x[i], i };
	qsort(sorted, n, sizeof(*sorted), change_points_by_value);
	for (size_t i = 0; i < n; i++)
		r.rank[sorted[i].index] = i + 1;
	free(sorted);
	change_points_ranks_empty(&r);
	left[0] = 0;
	for (size_t i = 0; i < n; i++)
		left[i + 1] = left[i] + change_points_ranks_add(&r, x, i);
	for (size_t k = RIGHT_ENDS; k; k--) {
		size_t end = n * k / RIGHT_ENDS;

		if (end >= 2 * CHANGE_MIN_SEGMENT)
			change_points_scan_splits(&r, x, end, left, &best);
	}
	free(r.rank);
	free(r.count);
	free(r.sum);
	free(left);
	return best;
}

static bool change_points_is_confirmed(const double *x, size_t m, size_t n)
{
	double least = fmin((double)m, (double)n);

	return fabs(median_of(x + m, n) - median_of(x, m)) >= log1p(CHANGE_MAGNITUDE) &&
	       difference_probability(x, m, x + m, n) <= CHANGE_RANK_PROBABILITY &&
	       stats_difference_shift_probability(x, m, n) <= CHANGE_PROBABILITY / least;
}

static double change_points_winsorized_spread(const double *x, size_t n, size_t at, double distance)
{
	double mean;

	return stats_difference_winsorized_squares(x, at, distance, &mean) +
	       stats_difference_winsorized_squares(x + at, n - at, distance, &mean);
}

/*
 * Dates the change: the night near `at` that leaves the least variation on both sides. The energy
 * distance alone often selects an earlier one.
 */
static size_t change_points_date_of(const double *x, size_t n, size_t at)
{
	double distance = stats_difference_outlier_distance(x, at, n - at), least;
	size_t first = at > 2 * CHANGE_MIN_SEGMENT ? at - CHANGE_MIN_SEGMENT : CHANGE_MIN_SEGMENT;
	size_t last = at + CHANGE_MIN_SEGMENT, best = at;

	/*
	 * If most nights are equal (bytes, counts), winsorizing would remove all variation, and
	 * rounding would select the date.
	 */
	if (!(distance > 0))
		distance = INFINITY;
	least = change_points_winsorized_spread(x, n, at, distance);
	for (size_t i = first; i <= last && i + CHANGE_MIN_SEGMENT <= n; i++) {
		double now = change_points_winsorized_spread(x, n, i, distance);

		if (now < least) {
			least = now;
			best = i;
		}
	}
	return best;
}

static void change_points_divide_segment(const double *x, size_t begin, size_t end, size_t *points,
					 size_t *count)
{
	struct split split;

	if (end - begin < 2 * CHANGE_MIN_SEGMENT)
		return;
	split = change_points_best_split(x + begin, end - begin);
	if (!split.at)
		return;
	split.at = change_points_date_of(x + begin, split.end, split.at);
	if (!change_points_is_confirmed(x + begin, split.at, split.end - split.at))
		return;
	change_points_divide_segment(x, begin, begin + split.at, points, count);
	points[(*count)++] = begin + split.at;
	change_points_divide_segment(x, begin + split.at, end, points, count);
}

/*
 * Repeats the test: a point confirmed against everything before it may fail against its final
 * neighbours.
 */
size_t change_points_confirmed(const double *x, size_t n, size_t *points, size_t count)
{
	for (size_t i = 0; i < count;) {
		size_t before = i ? points[i - 1] : 0, after = i + 1 < count ? points[i + 1] : n;

		if (change_points_is_confirmed(x + before, points[i] - before, after - points[i])) {
			i++;
			continue;
		}
		memmove(&points[i], &points[i + 1], (--count - i) * sizeof(*points));
		i = i ? i - 1 : 0;
	}
	return count;
}

size_t change_points(const double *values, size_t n, size_t *points)
{
	size_t count = 0;

	change_points_divide_segment(values, 0, n, points, &count);
	return change_points_confirmed(values, n, points, count);
}
