#include "history/trend_levels.h"

#include <math.h>

#include "base/stats.h"
#include "history/change_points.h"
#include "history/trend_prior.h"

struct level_shift trend_levels_seam_shift(const struct level_nights *nights, size_t from,
					   size_t at, size_t end)
{
	size_t first = at - from > LEVEL_NIGHTS ? at - LEVEL_NIGHTS : from;
	const struct level_input in = { .logs = nights->logs + first,
					.before = at - first,
					.after = end - at > LEVEL_NIGHTS ? LEVEL_NIGHTS : end - at,
					.rho = nights->rho,
					.typical = nights->typical };

	return level_shift(&in);
}

/* Nights in the state of the second level, and number of visits, up to `most` nights. */
struct visits {
	size_t nights, count;
};

static struct visits trend_levels_visits_of(const double *logs, size_t begin, size_t end,
					    double before, double shift, size_t most)
{
	struct visits visits = { 0 };
	size_t length = 0;

	for (size_t i = begin; i <= end; i++) {
		/* 0 at the level before, 1 at the other. */
		double place = i < end ? (logs[i] - before) / shift : 0;

		if (place > 1 - STATE_NEAR) {
			length++;
		} else if (place <= 0.5) {
			if (length && length <= most) {
				visits.nights += length;
				visits.count++;
			}
			length = 0;
		}
	}
	return visits;
}

bool trend_levels_is_state(const double *logs, size_t n, const struct level_segment *s,
			   size_t lasting)
{
	double before = median_of(logs + s->from, s->at - s->from);
	double shift = median_of(logs + s->at, s->end - s->at) - before, expected;
	double mean = 0, squares = 0, nights = (double)(s->at - s->from);
	struct visits earlier, later = { 0 };
	bool states;

	states = lasting && fabs(shift) < log(LEVEL_STATES) && fabs(shift) >= log1p(STATE_LEAST);
	if (states && (s->at - s->from < lasting || s->end - s->at < lasting))
		return true;
	earlier = trend_levels_visits_of(logs, 0, s->at, before, shift,
					 states ? n : CHANGE_MIN_SEGMENT - 1);
	if (states)
		later = trend_levels_visits_of(logs, s->end, n, before, shift, n);
	/* Nights that noise puts into the other state. */
	for (size_t i = s->from; i < s->at; i++)
		mean += logs[i] / nights;
	for (size_t i = s->from; i < s->at; i++)
		squares += (logs[i] - mean) * (logs[i] - mean);
	expected = erfc((1 - STATE_NEAR) * fabs(shift) / sqrt(2 * squares / (nights - 1))) / 2 *
		   (double)(states ? n - (s->end - s->at) : s->at);
	return (double)(earlier.nights + later.nights) > expected + 2 * sqrt(expected) &&
	       earlier.count + later.count >= (states ? 1 : STATE_VISITS);
}

/* Least size of a change, to be exceeded significantly. */
static double trend_levels_least_of(const struct level_nights *nights)
{
	return nights->lasting ? log(LEVEL_STATES) : log1p(CHANGE_MAGNITUDE);
}

bool trend_levels_seam_differs(const struct level_nights *nights, const struct level_shift *shift,
			       size_t after)
{
	return (after > 1 || fabs(shift->value) >= -log1p(-SEAM_ONE_NIGHT)) &&
	       level_probability(shift, trend_levels_least_of(nights)) <=
		       SEAM_FALSE / (double)nights->series;
}

static double trend_levels_distances(const double *logs, size_t n)
{
	double median = median_of(logs, n), sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += fabs(logs[i] - median);
	return sum;
}

bool trend_levels_sudden(const struct level_nights *nights, size_t from, size_t end, size_t *at,
			 struct level_shift *shift)
{
	size_t most = 2 * SUDDEN_NIGHTS, splits = end - from <= most ? end - from - 1 : most;
	const double *logs = nights->logs;
	double least = INFINITY;

	for (size_t i = from + 1; i < end; i++) {
		struct level_shift now;
		double left, sign, farthest;

		if (i - from > SUDDEN_NIGHTS && end - i > SUDDEN_NIGHTS)
			continue;
		now = trend_levels_seam_shift(nights, from, i, end);
		/* Selects the clear split that explains the nights best. */
		left = trend_levels_distances(logs + from, i - from) +
		       trend_levels_distances(logs + i, end - i);
		if (left >= least || fabs(now.value) < log1p(TREND_SUDDEN) ||
		    level_probability(&now, trend_levels_least_of(nights)) >
			    SUDDEN_FALSE / (double)(nights->series * splits))
			continue;
		/* The level is beyond each of the nights before: none was in its state. */
		sign = now.value > 0 ? 1 : -1;
		farthest = -INFINITY;
		for (size_t k = from; k < i; k++)
			farthest = fmax(farthest, sign * logs[k]);
		if (sign * median_of(logs + i, end - i) - farthest <= log1p(CHANGE_MAGNITUDE))
			continue;
		*at = i;
		*shift = now;
		least = left;
	}
	return isfinite(least);
}
