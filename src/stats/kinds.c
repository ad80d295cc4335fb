#include "stats/kinds.h"

#include <math.h>
#include <stdbool.h>

#define FEWEST_VALUES 8
#define FEWEST_OF_A_KIND 3
#define SMALLEST_DISTANCE \
	0.01 /* minimum distance between the means of groups: no limit is narrower */

static double kinds_mean_of(const double *values, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += values[i];
	return sum / (double)n;
}

static double kinds_squares_of(const double *values, size_t n, double mean)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += (values[i] - mean) * (values[i] - mean);
	return sum;
}

/* Number of values below the widest gap that may separate groups; 0: none does. */
static size_t kinds_widest_gap(const double *logs, size_t n)
{
	size_t least = n / 10 > FEWEST_OF_A_KIND ? n / 10 : FEWEST_OF_A_KIND, best = 0;
	double widest = 0, a, b, within;

	for (size_t low = least; n >= FEWEST_VALUES && low + least <= n; low++) {
		double gap = logs[low] - logs[low - 1];

		if (gap <= widest)
			continue;
		widest = gap;
		best = low;
	}
	if (!best)
		return 0;
	/* The lowest `best` values and the others form two groups. */
	a = kinds_mean_of(logs, best);
	b = kinds_mean_of(logs + best, n - best);
	within = sqrt(
		(kinds_squares_of(logs, best, a) + kinds_squares_of(logs + best, n - best, b)) /
		(double)(n - 2));
	return b - a >= SMALLEST_DISTANCE && widest > fmax(2, 40 / (double)n) * within ? best : 0;
}

/* `deviation` accumulates the sum of squares until all groups are found. */
static void kinds_look(struct kinds *kinds, const double *logs, size_t n, size_t room)
{
	size_t low = room > 1 ? kinds_widest_gap(logs, n) : 0;

	if (!low) {
		kinds->items[kinds->count++] =
			(struct kind){ (n % 2 ? logs[n / 2] : (logs[n / 2 - 1] + logs[n / 2]) / 2),
				       n };
		kinds->deviation += kinds_squares_of(logs, n, kinds_mean_of(logs, n));
		return;
	}
	kinds_look(kinds, logs, low, room / 2);
	kinds_look(kinds, logs + low, n - low, room - room / 2);
}

struct kinds kinds_of(const double *logs, size_t n)
{
	struct kinds kinds = { .count = 0 };

	kinds_look(&kinds, logs, n, KINDS_MOST);
	kinds.dof = (double)(n - kinds.count);
	kinds.deviation = kinds.dof > 0 ? sqrt(kinds.deviation / kinds.dof) : 0;
	return kinds;
}
