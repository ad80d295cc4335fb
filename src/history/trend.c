#include "history/trend.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/stats.h"
#include "history/change_odds.h"
#include "history/change_points.h"
#include "history/trend_levels.h"
#include "judge/estimate/kind.h"
#include "stats/difference.h"

const char *trend_change_state_name(enum change_state state)
{
	static const char *const names[] = { "NEW", "ACKNOWLEDGED", "RECOVERED" };

	return names[state];
}

/*
 * Usual interval of the nights: the median distance of days with a night (a day for nightly jobs, a
 * week for weekly ones).
 */
size_t trend_missed_nights(const int64_t *days, size_t count, int64_t *missed, size_t room)
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
		/* A delay of up to half an interval is tolerated. */
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

/* One epoch of one series. */
struct trend_epoch {
	int64_t epoch;
	uint64_t config;
	const struct history_point **points; /* measured nights, oldest first; borrowed */
	size_t count;
	size_t first, last; /* indices in the series */
	size_t gaps;        /* nights at its end without a measurement */
	size_t before;      /* the epoch before it in its chain; NO_EPOCH: none */
	bool followed;
};
#define NO_EPOCH SIZE_MAX

/*
 * Splits the nights into epochs, by first night. The caller frees the array; returns their number.
 */
static size_t trend_epochs(const struct history_series *s, struct trend_epoch **epochs)
{
	size_t count = 0, changes = 1;

	for (size_t i = 1; i < s->count; i++)
		changes += s->points[i].epoch != s->points[i - 1].epoch;
	*epochs = xcalloc(changes, sizeof(**epochs));
	for (size_t i = 0; i < s->count; i++) {
		const struct history_point *p = &s->points[i];
		struct trend_epoch *e;
		size_t k = count;

		while (k && (*epochs)[k - 1].epoch != p->epoch)
			k--;
		if (!k) {
			(*epochs)[count] =
				(struct trend_epoch){ .epoch = p->epoch,
						      .config = p->config,
						      .points = xcalloc(s->count, sizeof(void *)),
						      .first = i,
						      .before = NO_EPOCH };
			k = ++count;
		}
		e = &(*epochs)[k - 1];
		e->last = i;
		e->gaps = isnan(s->points[i].value) ? e->gaps + 1 : 0;
		/*
		 * Zero has no logarithm, and a metric that can be zero has no ratio. An imported
		 * file may contain infinity.
		 */
		if (s->points[i].value > 0 && isfinite(s->points[i].value))
			e->points[e->count++] = &s->points[i];
	}
	return count;
}

static void trend_epochs_release(struct trend_epoch *epochs, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(epochs[i].points);
	free(epochs);
}

/*
 * The predecessor of an epoch: the last one with its config that has ended; else the last one that
 * has ended and alternated with no other. An epoch that returns after a later one started is a
 * separate job, or a change that was undone.
 */
static size_t trend_epoch_predecessor(const struct trend_epoch *epochs, size_t count, size_t of)
{
	size_t same = NO_EPOCH, any = NO_EPOCH;

	for (size_t i = 0; i < of; i++) {
		const struct trend_epoch *e = &epochs[i];

		if (e->last > epochs[of].first || e->followed)
			continue;
		if (e->config == epochs[of].config &&
		    (same == NO_EPOCH || epochs[same].last < e->last))
			same = i;
		if (any == NO_EPOCH || epochs[any].last < e->last)
			any = i;
	}
	if (same != NO_EPOCH || any == NO_EPOCH)
		return same;
	/* Another epoch with nights before and after its last ones: two jobs fill the history. */
	for (size_t j = 0; j < count; j++)
		if (j != any && epochs[j].first < epochs[any].last &&
		    epochs[j].last > epochs[any].first)
			return NO_EPOCH;
	return any;
}

/* A trend while its changes are found. */
struct analysis {
	struct trend *t;
	const struct history_series *series;
	const struct trend_prior *prior;
	double *logs; /* of t->points */
	struct level_nights nights;
};

void trend_set_levels(struct trend_change *c, enum better better, double before, double after)
{
	c->before = exp(before);
	c->after = exp(after);
	c->ratio = exp(better == BETTER_HIGHER ? before - after : after - before);
	c->worse = better != BETTER_NONE && c->ratio > 1;
	c->improved = better != BETTER_NONE && c->ratio < 1;
}

/* Minute of the day of run `at`; -1: no other run of the trend is on its day. */
static int trend_minute(const struct trend *t, size_t at)
{
	int64_t day = t->points[at]->day;
	bool alone = (!at || t->points[at - 1]->day != day) &&
		     (at + 1 >= t->count || t->points[at + 1]->day != day);

	return alone ? -1 : t->points[at]->minute;
}

/* `before` and `after` are logarithms of the levels. */
static struct trend_change *trend_add_change(struct analysis *f, enum change_found found, size_t at,
					     double before, double after)
{
	struct trend *t = f->t;
	struct trend_change *c = &t->changes[t->change_count++];

	*c = (struct trend_change){ .found = found,
				    .at = at,
				    .day = t->points[at]->day,
				    .minute = trend_minute(t, at),
				    .night = t->points[at]->night,
				    .night_before = t->points[at - 1]->night,
				    .odds = NAN };
	trend_set_levels(c, f->series->better, before, after);
	return c;
}

/* First night after the last change. */
static size_t trend_last_level(const struct trend *t)
{
	return t->change_count ? t->changes[t->change_count - 1].at : 0;
}

void trend_find_states(struct trend *t, const struct history_series *s,
		       const struct history_notes *notes, int64_t today)
{
	int64_t *days = xcalloc(t->count + 1, sizeof(*days));
	struct triage_subject subject = { .series = s->id,
					  .machine = s->machine,
					  .case_id = s->case_id,
					  .metric = s->metric,
					  .days = days,
					  .count = t->count,
					  .today = today };

	for (size_t i = 0; i < t->count; i++)
		days[i] = t->points[i]->day;
	for (size_t i = 0; i < t->change_count; i++) {
		struct trend_change *c = &t->changes[i];
		double now = t->changes[t->change_count - 1].after;

		if (i + 1 < t->change_count && fabs(log(now / c->before)) < log1p(CHANGE_MAGNITUDE))
			c->state = TREND_RECOVERED;
		/* It reverts a regression that has recovered. */
		for (size_t j = 0; c->improved && j < i; j++)
			if (t->changes[j].state == TREND_RECOVERED && t->changes[j].worse &&
			    fabs(log(c->after / t->changes[j].before)) < log1p(CHANGE_MAGNITUDE))
				c->state = TREND_RECOVERED;
		if (c->state == TREND_RECOVERED)
			continue;
		subject.since = c->day;
		c->decision = triage_decision(notes, &subject);
		if (c->decision)
			c->state = TREND_ACKNOWLEDGED;
	}
	free(days);
}

/* Drops the first change that is a recurring state; returns the number left. */
static size_t trend_drop_state(const double *logs, size_t nights, size_t lasting, size_t *points,
			       size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct level_segment s = { i ? points[i - 1] : 0, points[i],
						 i + 1 < count ? points[i + 1] : nights };
		size_t first = i > 1 ? points[i - 2] : 0;
		/* A return to the level before the last change is reported as a recovery. */
		bool back = i &&
			    fabs(median_of(logs + s.at, s.end - s.at) -
				 median_of(logs + first, s.from - first)) < log1p(CHANGE_MAGNITUDE);

		if (back || !trend_levels_is_state(logs, nights, &s, lasting))
			continue;
		memmove(&points[i], &points[i + 1], (count - i - 1) * sizeof(*points));
		return count - 1;
	}
	return count;
}

/* Keeps the accepted proposals, with their odds. */
static size_t trend_change_points_with_odds(const struct analysis *f, const double *logs,
					    size_t nights, size_t *points, double *odds)
{
	const struct rho_weights *weights = trend_prior_weights(f->prior, f->series);
	double limit = trend_prior_limit(f->prior);
	size_t count = change_points(logs, nights, points), kept;

	do {
		kept = change_odds_keep(logs, nights, weights, limit, points, count, odds);
		count = change_points_confirmed(logs, nights, points, kept);
		count = trend_drop_state(logs, nights, f->nights.lasting, points, count);
	} while (count < kept);
	return count;
}

/* Compares the level up to `end` with all nights since the last change. */
static void trend_add_seam(struct analysis *f, const struct trend_epoch *before,
			   const struct trend_epoch *after, size_t at, size_t end)
{
	struct trend *t = f->t;
	size_t from = trend_last_level(t);
	struct trend_seam *seam = &t->seams[t->seam_count++];
	double shift;

	*seam = (struct trend_seam){ .at = at,
				     .day = t->points[at]->day,
				     .minute = trend_minute(t, at),
				     .night = t->points[at]->night,
				     .night_before = t->points[at - 1]->night,
				     .epoch = after->epoch,
				     .epoch_before = before->epoch,
				     .shift = trend_levels_seam_shift(&f->nights, from, at, end) };
	shift = seam->shift.value;
	seam->ratio = exp(f->series->better == BETTER_HIGHER ? -shift : shift);
	seam->differs = trend_levels_seam_differs(&f->nights, &seam->shift, end - at);
	if (seam->differs) {
		double level = median_of(f->logs + from, at - from);

		trend_add_change(f, FOUND_AT_SEAM, at, level, level + shift)->probability =
			level_probability(&seam->shift, 0);
	}
}

/* Adds the nights of one more epoch, and the changes at its start and within it. */
static void trend_add_epoch(struct analysis *f, const struct trend_epoch *before,
			    const struct trend_epoch *e)
{
	size_t room = e->count / CHANGE_MIN_SEGMENT + 2, begin = f->t->count, count;
	size_t *points = xcalloc(room, sizeof(*points));
	double *odds = xcalloc(room, sizeof(*odds));
	double *logs = xmalloc((e->count + 1) * sizeof(*logs));

	for (size_t i = 0; i < e->count; i++) {
		f->logs[begin + i] = log(e->points[i]->value);
		f->t->points[f->t->count++] = e->points[i];
	}
	memcpy(logs, f->logs + begin, e->count * sizeof(*logs));
	if (f->nights.lasting)
		states_merge(logs, e->count, log1p(STATE_LEAST), log(LEVEL_STATES),
			     f->nights.lasting);
	count = trend_change_points_with_odds(f, logs, e->count, points, odds);
	if (begin && e->count)
		trend_add_seam(f, before, e, begin, begin + (count ? points[0] : e->count));
	for (size_t i = 0; i < count; i++) {
		size_t from = i ? points[i - 1] : 0, at = points[i],
		       end = i + 1 < count ? points[i + 1] : e->count;
		struct trend_change *c = trend_add_change(f, FOUND_BY_NIGHTS, begin + at,
							  median_of(logs + from, at - from),
							  median_of(logs + at, end - at));

		c->odds = odds[i];
		c->probability =
			difference_probability(logs + from, at - from, logs + at, end - at);
	}
	f->t->begin = begin;
	free(logs);
	free(points);
	free(odds);
}

static void trend_add_sudden(struct analysis *f)
{
	struct trend *t = f->t;
	size_t from = trend_last_level(t), at;
	struct level_shift shift;

	if (t->count - from < 2 || !trend_levels_sudden(&f->nights, from, t->count, &at, &shift))
		return;
	trend_add_change(f, FOUND_SUDDENLY, at, median_of(f->logs + from, at - from),
			 median_of(f->logs + at, t->count - at))
		->probability = level_probability(&shift, 0);
}

/*
 * The band around the median is computed from the last segment without its last three nights, which
 * are tested against it; it is NaN if there are too few.
 */
static void trend_find_band(struct trend *t, const struct history_series *s, const double *logs)
{
	size_t begin = trend_last_level(t);
	size_t recent = t->count - begin < 3 ? t->count - begin : 3,
	       past = t->count - begin - recent;
	double median = median_of(logs + begin, past),
	       wide = BAND_SIGMAS * (1 + BAND_FEW_NIGHTS / (double)(past * past)) *
		      robust_deviation(logs + begin, past, median),
	       half = past < BAND_NIGHTS ? (double)NAN : fmax(wide, log1p(BAND_LEAST));

	t->median = exp(median_of(logs + begin, t->count - begin));
	t->low = exp(median - half);
	t->high = exp(median + half);
	t->band = expm1(half);
	t->beyond_by = NAN;
	for (size_t i = t->count - recent; i < t->count; i++)
		if ((s->better != BETTER_LOWER && logs[i] < median - half) ||
		    (s->better != BETTER_HIGHER && logs[i] > median + half)) {
			t->beyond++;
			t->beyond_by = expm1(logs[i] - median);
		}
	t->warning = t->beyond >= 2;
}

static bool trend_is_current(const struct trend *t, const struct history_series *s)
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

/* `last`: last epoch of a chain. */
static void trend_analyse(struct trend *t, const struct trend_epoch *epochs, size_t last,
			  const struct history_series *s, const struct history_notes *notes,
			  const struct trend_prior *prior)
{
	enum figure_kind kind = figure_kind_named(s->kind ? s->kind : "");
	size_t length = 0, nights = 0, *chain;
	int64_t *days;
	struct analysis f = { .t = t, .series = s, .prior = prior };

	for (size_t e = last; e != NO_EPOCH; e = epochs[e].before, length++)
		nights += epochs[e].count;
	chain = xcalloc(length, sizeof(*chain));
	for (size_t e = last, i = length; e != NO_EPOCH; e = epochs[e].before)
		chain[--i] = e;
	days = xcalloc(nights + 1, sizeof(*days));
	f.logs = xmalloc((nights + 1) * sizeof(*f.logs));
	f.nights =
		(struct level_nights){ f.logs, trend_prior_rho(prior, s),
				       figure_kind_session_spread(kind),
				       trend_prior_lasting(prior, s), trend_prior_series(prior) };
	*t = (struct trend){ .epoch = epochs[last].epoch, .gaps = epochs[last].gaps };
	t->points = xcalloc(nights + 1, sizeof(void *));
	t->seams = xcalloc(length, sizeof(*t->seams));
	t->changes = xcalloc(nights / CHANGE_MIN_SEGMENT + length + 2, sizeof(*t->changes));
	for (size_t i = 0; i < length; i++)
		trend_add_epoch(&f, i ? &epochs[chain[i - 1]] : NULL, &epochs[chain[i]]);
	trend_find_band(t, s, f.logs);
	trend_add_sudden(&f);
	trend_find_states(t, s, notes, s->points[s->count - 1].day);
	t->current = trend_is_current(t, s);
	for (size_t i = 0; i < t->count; i++)
		days[i] = t->points[i]->day;
	t->missed = trend_missed_nights(days, t->count, NULL, 0);
	free(chain);
	free(days);
	free(f.logs);
}

size_t trend_of_series(const struct history_series *s, const struct history_notes *notes,
		       const struct trend_prior *prior, struct trend **trends)
{
	struct trend_epoch *epochs;
	size_t count = trend_epochs(s, &epochs), chains = 0;

	for (size_t i = 1; i < count; i++) {
		epochs[i].before = trend_epoch_predecessor(epochs, count, i);
		if (epochs[i].before != NO_EPOCH)
			epochs[epochs[i].before].followed = true;
	}
	*trends = xcalloc(count, sizeof(**trends));
	for (size_t i = 0; i < count; i++)
		if (!epochs[i].followed)
			trend_analyse(&(*trends)[chains++], epochs, i, s, notes, prior);
	trend_epochs_release(epochs, count);
	return chains;
}

void trend_propose(const struct history_series *s, trend_proposal_fn *visit, void *context)
{
	struct trend_epoch *epochs;
	size_t count = trend_epochs(s, &epochs);

	for (size_t i = 0; i < count; i++) {
		size_t n = epochs[i].count;
		size_t *points = xcalloc(n / CHANGE_MIN_SEGMENT + 2, sizeof(*points));
		double *logs = xmalloc((n + 1) * sizeof(*logs));

		for (size_t k = 0; k < n; k++)
			logs[k] = log(epochs[i].points[k]->value);
		visit(context, logs, n, points, change_points(logs, n, points));
		free(points);
		free(logs);
	}
	trend_epochs_release(epochs, count);
}

bool trend_seam_is_recent(const struct trend *t, const struct trend_seam *seam)
{
	return t->count - seam->at <= SEAM_RECENT;
}

bool trend_is_young(const struct trend *t)
{
	return t->count - t->begin < TREND_LEAST_NIGHTS;
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
		free(trends[i].seams);
		free(trends[i].changes);
	}
	free(trends);
}

struct pooling {
	const char *machine;
	double squares;
	size_t nights, freedom;
};

/* Adds the squares about the mean of the nights since the last change, winsorized. */
static void trend_spread_pool_series(void *context, const struct history_series *s)
{
	struct pooling *p = context;
	double *logs, distance, mean;
	struct trend *trends;
	size_t count;

	if (p->machine && strcmp(p->machine, s->machine) != 0)
		return;
	count = trend_of_series(s, NULL, NULL, &trends);
	for (size_t i = 0; i < count; i++) {
		const struct trend *t = &trends[i];
		size_t begin = t->change_count ? t->changes[t->change_count - 1].at : 0;

		begin = begin < t->begin ? t->begin : begin;
		if (t->epoch != s->points[s->count - 1].epoch || t->count - begin < 2)
			continue;
		logs = xmalloc((t->count - begin) * sizeof(*logs));
		for (size_t k = begin; k < t->count; k++)
			logs[k - begin] = log(t->points[k]->value);
		distance = t->count - begin > 2
				   ? stats_difference_outlier_distance(logs, t->count - begin, 0)
				   : INFINITY;
		/* If most nights are equal, do not winsorize. */
		p->squares +=
			stats_difference_winsorized_squares(logs, t->count - begin,
							    distance > 0 ? distance : INFINITY,
							    &mean);
		free(logs);
		p->nights += t->count - begin;
		p->freedom += t->count - begin - 1;
	}
	trends_release(trends, count);
}

enum status trend_spread(struct store *history, const char *metric, const char *case_id,
			 const char *machine, struct night_spread *out, struct error *err)
{
	const struct history_filter filter = {
		.metric = metric, .case_id = case_id, .exact = true, .all_metrics = true
	};
	struct pooling p = { .machine = machine };

	store_each_series(history, &filter, trend_spread_pool_series, &p, err);
	*out = (struct night_spread){ p.freedom ? sqrt(p.squares / (double)p.freedom) : NAN,
				      p.nights };
	return err->status;
}
