#include "history/trend.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/stats.h"
#include "history/change_odds.h"
#include "history/change_points.h"
#include "judge/estimate/difference.h"

const char *change_state_name(enum change_state state)
{
	static const char *const names[] = { "NEW", "ACKNOWLEDGED", "RECOVERED" };

	return names[state];
}

/*
 * The pace of nightly jobs is a day, of weekly ones a week: the median distance of days that had a
 * night.
 */
size_t missed_nights(const int64_t *days, size_t count, int64_t *missed, size_t room)
{
	double *gaps = xmalloc((count + 1) * sizeof(*gaps));
	size_t n = 0, found = 0;
	int64_t pace;

	for (size_t i = 1; i < count; i++)
		if (days[i] > days[i - 1])
			gaps[n++] = (double)(days[i] - days[i - 1]);
	qsort(gaps, n, sizeof(*gaps), compare_doubles);
	pace = n ? (int64_t)gaps[(n - 1) / 2] : 1;
	free(gaps);
	for (size_t i = 1; i < count; i++) {
		/* Half a pace of lateness is none. */
		int64_t absent = (2 * (days[i] - days[i - 1]) - pace) / (2 * pace);

		for (int64_t k = 1; k <= absent; k++, found++) {
			if (found >= room) {
				found += (size_t)(absent - k + 1);
				break;
			}
			missed[found] = days[i - 1] + k * pace;
		}
	}
	return found;
}

static void fill_change(struct trend *t, const struct history_series *s, const double *logs,
			const size_t *points, size_t i)
{
	struct trend_change *c = &t->changes[i];
	size_t begin = i ? points[i - 1] : 0,
	       end = i + 1 < t->change_count ? points[i + 1] : t->count;
	double before = median_of(logs + begin, points[i] - begin);
	double after = median_of(logs + points[i], end - points[i]);

	*c = (struct trend_change){ .at = points[i],
				    .day = t->points[points[i]]->day,
				    .night = t->points[points[i]]->night,
				    .night_before = t->points[points[i] - 1]->night,
				    .before = exp(before),
				    .after = exp(after) };
	c->ratio = exp(s->better == BETTER_HIGHER ? before - after : after - before);
	c->worse = s->better != BETTER_NONE && c->ratio > 1;
	c->improved = s->better != BETTER_NONE && c->ratio < 1;
	c->probability = difference_probability(logs + begin, points[i] - begin, logs + points[i],
						end - points[i]);
}

/* True if change i reverts a change for the worse that has recovered. */
static bool takes_back(const struct trend *t, size_t i)
{
	const struct trend_change *c = &t->changes[i];

	for (size_t j = 0; c->improved && j < i; j++)
		if (t->changes[j].state == TREND_RECOVERED && t->changes[j].worse &&
		    fabs(log(c->after / t->changes[j].before)) < log1p(CHANGE_MAGNITUDE))
			return true;
	return false;
}

static void find_states(struct trend *t, const struct history_series *s,
			const struct history_notes *notes)
{
	int64_t *days = xcalloc(t->count + 1, sizeof(*days));
	struct triage_subject subject = { .series = s->id,
					  .machine = s->machine,
					  .case_id = s->case_id,
					  .metric = s->metric,
					  .days = days,
					  .count = t->count,
					  .today = s->points[s->count - 1].day };

	for (size_t i = 0; i < t->count; i++)
		days[i] = t->points[i]->day;
	for (size_t i = 0; i < t->change_count; i++) {
		struct trend_change *c = &t->changes[i];
		double now = t->changes[t->change_count - 1].after;

		if (i + 1 < t->change_count && fabs(log(now / c->before)) < log1p(CHANGE_MAGNITUDE))
			c->state = TREND_RECOVERED;
		else if (takes_back(t, i))
			c->state = TREND_RECOVERED;
		else {
			subject.since = c->day;
			c->decision = triage_decision(notes, &subject);
			if (c->decision)
				c->state = TREND_ACKNOWLEDGED;
		}
	}
	free(days);
}

/* Keeps the accepted proposals, with their odds. */
static size_t decide(const struct trend *t, const struct history_series *s, const double *logs,
		     const struct trend_prior *prior, size_t *points, double *odds)
{
	const struct rho_weights *weights = trend_prior_weights(prior, s);
	double limit = trend_prior_limit(prior);
	size_t count = change_points(logs, t->count, points), kept;

	do {
		kept = change_odds_keep(logs, t->count, weights, limit, points, count, odds);
		count = change_points_confirmed(logs, t->count, points, kept);
	} while (count < kept);
	return count;
}

static void find_changes(struct trend *t, const struct history_series *s, const double *logs,
			 const struct history_notes *notes, const struct trend_prior *prior)
{
	size_t room = t->count / CHANGE_MIN_SEGMENT + 2;
	size_t *points = xcalloc(room, sizeof(*points));
	double *odds = xcalloc(room, sizeof(*odds));

	t->change_count = decide(t, s, logs, prior, points, odds);
	t->changes = xcalloc(t->change_count + 1, sizeof(*t->changes));
	for (size_t i = 0; i < t->change_count; i++) {
		fill_change(t, s, logs, points, i);
		t->changes[i].odds = odds[i];
	}
	find_states(t, s, notes);
	free(points);
	free(odds);
}

/* Half width of the band around the median of `logs`, NaN when there are too few. */
static double band_of(const double *logs, size_t n, double median)
{
	double *distances, half;

	if (n < BAND_NIGHTS)
		return NAN;
	distances = xmalloc(n * sizeof(*distances));
	for (size_t i = 0; i < n; i++)
		distances[i] = fabs(logs[i] - median);
	half = BAND_SIGMAS * (1 + BAND_FEW_NIGHTS / (double)(n * n)) * 1.4826 *
	       median_of(distances, n);
	free(distances);
	return fmax(half, log1p(BAND_LEAST));
}

static bool beyond(double log_value, double median, double half, enum better better)
{
	if (better != BETTER_LOWER && log_value < median - half)
		return true;
	return better != BETTER_HIGHER && log_value > median + half;
}

/* The band is that of the last segment without the three nights that are judged by it. */
static void find_band(struct trend *t, const struct history_series *s, const double *logs)
{
	size_t begin = t->change_count ? t->changes[t->change_count - 1].at : 0;
	size_t recent = t->count - begin < 3 ? t->count - begin : 3,
	       past = t->count - begin - recent;
	double median = median_of(logs + begin, past), half = band_of(logs + begin, past, median);

	t->median = exp(median_of(logs + begin, t->count - begin));
	t->low = exp(median - half);
	t->high = exp(median + half);
	t->band = expm1(half);
	t->beyond_by = NAN;
	for (size_t i = t->count - recent; i < t->count; i++)
		if (beyond(logs[i], median, half, s->better)) {
			t->beyond++;
			t->beyond_by = expm1(logs[i] - median);
		}
	t->warning = t->beyond >= 2;
}

static bool is_current(const struct trend *t, const struct history_series *s)
{
	int64_t latest = s->points[s->count - 1].epoch;
	size_t began = 0, last = s->count - 1;

	if (t->epoch == latest)
		return true;
	while (s->points[began].epoch != latest)
		began++;
	while (last > began && s->points[last].epoch != t->epoch)
		last--;
	return last > began && s->count - last <= TURN_NIGHTS;
}

static void count_missed(struct trend *t, const struct history_series *s)
{
	int64_t *days = xcalloc(t->count + 1, sizeof(*days));
	size_t n = 0;

	for (size_t i = 0; i < t->count; i++)
		days[n++] = t->points[i]->day;
	t->missed = missed_nights(days, n, NULL, 0);
	t->current = is_current(t, s);
	free(days);
}

static struct trend *epoch_of(struct trend *trends, size_t *count, int64_t epoch, size_t nights)
{
	for (size_t i = 0; i < *count; i++)
		if (trends[i].epoch == epoch)
			return &trends[i];
	trends[*count] =
		(struct trend){ .epoch = epoch, .points = xcalloc(nights, sizeof(void *)) };
	return &trends[(*count)++];
}

static double *logarithms(const struct trend *t)
{
	double *logs = xmalloc((t->count + 1) * sizeof(*logs));

	for (size_t i = 0; i < t->count; i++)
		logs[i] = log(t->points[i]->value);
	return logs;
}

static void analyse(struct trend *t, const struct history_series *s,
		    const struct history_notes *notes, const struct trend_prior *prior)
{
	double *logs = logarithms(t);

	find_changes(t, s, logs, notes, prior);
	find_band(t, s, logs);
	count_missed(t, s);
	free(logs);
}

static size_t count_epochs(const struct history_series *s)
{
	size_t changes = 1;

	for (size_t i = 1; i < s->count; i++)
		changes += s->points[i].epoch != s->points[i - 1].epoch;
	return changes;
}

/* The nights of each epoch; returns how many epochs there are. */
static size_t split_epochs(const struct history_series *s, struct trend **trends)
{
	size_t count = 0;

	*trends = xcalloc(count_epochs(s), sizeof(**trends));
	for (size_t i = 0; i < s->count; i++) {
		struct trend *t = epoch_of(*trends, &count, s->points[i].epoch, s->count);

		t->gaps = isnan(s->points[i].value) ? t->gaps + 1 : 0;
		/*
		 * Zero has no logarithm; a quantity that can be zero has no ratio either. A file
		 * from elsewhere may hold infinity.
		 */
		if (s->points[i].value > 0 && isfinite(s->points[i].value))
			t->points[t->count++] = &s->points[i];
	}
	return count;
}

size_t trend_of_series(const struct history_series *s, const struct history_notes *notes,
		       const struct trend_prior *prior, struct trend **trends)
{
	size_t count = split_epochs(s, trends);

	for (size_t i = 0; i < count; i++)
		analyse(&(*trends)[i], s, notes, prior);
	return count;
}

void trend_propose(const struct history_series *s, trend_proposal_fn *visit, void *context)
{
	struct trend *trends;
	size_t count = split_epochs(s, &trends);

	for (size_t i = 0; i < count; i++) {
		size_t n = trends[i].count;
		size_t *points = xcalloc(n / CHANGE_MIN_SEGMENT + 2, sizeof(*points));
		double *logs = logarithms(&trends[i]);

		visit(context, logs, n, points, change_points(logs, n, points));
		free(points);
		free(logs);
	}
	trends_release(trends, count);
}

double trend_percent(const struct trend_change *change)
{
	return 100 * fabs(change->after / change->before - 1);
}

int trend_odds_power(const struct trend_change *change)
{
	return (int)fmin(99, floor(change->odds / M_LN10));
}

void trends_release(struct trend *trends, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		free(trends[i].points);
		free(trends[i].changes);
	}
	free(trends);
}
