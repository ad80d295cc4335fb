#include "report/trend/trend_rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "report/view/view.h"

struct trend_collecting {
	struct store *history;
	struct error *err;
	struct history_places places;
	const struct history_notes *notes;
	struct trend_rows *rows;
	struct trend_prior prior;
};

/* The median of the segment that night `index` of the epoch is in. */
static double trend_rows_level_of(const struct trend *t, size_t index)
{
	double level = t->change_count ? t->changes[0].before : t->median;

	for (size_t i = 0; i < t->change_count && t->changes[i].at <= index; i++)
		level = t->changes[i].after;
	return level;
}

static bool trend_rows_change_at(const struct trend *t, size_t index)
{
	for (size_t i = 0; i < t->change_count; i++)
		if (t->changes[i].at == index)
			return true;
	return false;
}

/* Days since 1970-01-01. */
static double trend_rows_time_of(int64_t day, int minute)
{
	return (double)day + minute / (24 * 60.0);
}

static void trend_rows_take_nights(struct trend_row *row, const struct trend *t, int64_t first)
{
	row->nights = xcalloc(t->count + 1, sizeof(*row->nights));
	for (size_t i = 0; i < t->count; i++) {
		const struct history_point *p = t->points[i];

		if (p->day >= first)
			row->nights[row->count++] =
				(struct trend_night){ p->day,
						      p->minute,
						      trend_rows_time_of(p->day, p->minute),
						      p->value,
						      trend_rows_level_of(t, i),
						      trend_rows_change_at(t, i) };
	}
	row->measured = t->count;
	row->young = trend_is_young(t) && !t->change_count && !t->warning;
	row->last = t->count ? t->points[t->count - 1]->value : NAN;
}

static size_t trend_rows_changes_of(const struct trend *t, enum change_state state, bool worse)
{
	size_t n = 0;

	for (size_t i = 0; i < t->change_count; i++)
		n += t->changes[i].state == state && t->changes[i].worse == worse;
	return n;
}

static enum trend_class trend_rows_class_of(const struct trend *t, bool anew)
{
	if (trend_rows_changes_of(t, TREND_NEW, true))
		return TREND_WORSE;
	if (t->warning)
		return TREND_WARNS;
	if (trend_rows_changes_of(t, TREND_NEW, false))
		return TREND_BETTER;
	if (trend_rows_changes_of(t, TREND_ACKNOWLEDGED, true) +
	    trend_rows_changes_of(t, TREND_ACKNOWLEDGED, false))
		return TREND_KNOWN;
	if (anew)
		return TREND_ANEW;
	return t->change_count ? TREND_BACK : TREND_QUIET;
}

/* True if there is a recent one without a change. */
static bool trend_rows_take_seams(const struct trend_collecting *c, struct trend_row *row,
				  const struct trend *t, enum better better)
{
	bool anew = false;

	row->seams = xcalloc(t->seam_count + 1, sizeof(*row->seams));
	for (size_t i = 0; i < t->seam_count; i++) {
		const struct trend_seam *s = &t->seams[i];
		bool told = trend_seam_is_recent(t, s) && !s->differs;

		row->seams[row->seam_count++] = (struct trend_row_seam){
			.day = s->day,
			.time = trend_rows_time_of(s->day, t->points[s->at]->minute),
			.night = s->night,
			.night_before = s->night_before,
			.what = trend_news_seam_what(c->history, s->epoch_before, s->epoch, c->err),
			.words = told ? trend_news_seam_words(s, better) : NULL
		};
		anew = anew || told;
	}
	return anew;
}

/* True if the series has no figure for the last night, or if a night is overdue at its own pace. */
static bool trend_rows_is_silent(const struct trend *t, int64_t last)
{
	int64_t *days = xcalloc(t->count + 1, sizeof(*days));
	bool overdue;

	for (size_t i = 0; i < t->count; i++)
		days[i] = t->points[i]->day;
	days[t->count] = last;
	overdue = trend_missed_nights(days, t->count + 1, NULL, 0) > t->missed;
	free(days);
	return t->gaps || overdue;
}

static void trend_rows_add(struct trend_collecting *c, const struct history_series *s,
			   const struct trend *t, unsigned turn)
{
	const struct history_place *place = history_place(&c->places, view_string(s->machine));
	struct trend_row *row;

	ARRAY_GROW(c->rows->items, c->rows->count, c->rows->capacity);
	row = &c->rows->items[c->rows->count++];
	*row = (struct trend_row){
		.id = s->id,
		.turn = turn,
		.metric = xstrdup(view_string(s->metric)),
		.case_id = xstrdup(view_string(s->case_id)),
		.model = xstrdup(view_string(s->model)),
		.machine = history_machine_words(&c->places, view_string(s->machine)),
		.unit = xstrdup(view_string(s->unit)),
		.host = xstrdup(place ? place->host : view_string(s->machine)),
		.better = s->better,
		.median = t->median,
		.low = t->low,
		.high = t->high,
		.noise = (t->high - t->low) / (2 * BAND_SIGMAS) / fabs(t->median),
		.missed = t->missed,
		.warning = t->warning,
		.beyond = t->beyond,
		.beyond_by = t->beyond_by,
		.band = t->band
	};
	row->news = trend_rows_class_of(t, trend_rows_take_seams(c, row, t, s->better));
	trend_news_seam_groups_add(&c->rows->seams, c->history, s, t, c->err);
	row->changes = xcalloc(t->change_count + 1, sizeof(*row->changes));
	if (t->change_count)
		memcpy(row->changes, t->changes, t->change_count * sizeof(*row->changes));
	row->change_count = t->change_count;
	trend_rows_take_nights(row, t, c->rows->first);
	if (row->count) {
		c->rows->begin = fmin(c->rows->begin, row->nights[0].time);
		c->rows->end = fmax(c->rows->end, row->nights[row->count - 1].time);
	}
	c->rows->silent +=
		!row->young && row->news == TREND_QUIET && trend_rows_is_silent(t, c->rows->last);
	trend_news_count(&c->rows->summary, t);
}

static void trend_rows_visit(void *context, const struct history_series *s)
{
	struct trend_collecting *c = context;
	struct trend *trends;
	size_t n = trend_of_series(s, c->notes, &c->prior, &trends);
	unsigned turn = 0;

	trend_pools_add(&c->rows->pools, s);
	/* Changes of older epochs are not shown. */
	for (size_t i = 0; i < n; i++)
		if (trends[i].current)
			trend_rows_add(c, s, &trends[i], turn++);
	trends_release(trends, n);
}

const struct trend_change *trend_row_change(const struct trend_row *row)
{
	static const enum change_state wanted[] = { [TREND_WORSE] = TREND_NEW,
						    [TREND_BETTER] = TREND_NEW,
						    [TREND_KNOWN] = TREND_ACKNOWLEDGED,
						    [TREND_BACK] = TREND_RECOVERED };
	const struct trend_change *found = NULL;

	if (row->news == TREND_WARNS || row->news == TREND_ANEW || row->news == TREND_QUIET)
		return NULL;
	for (size_t i = 0; i < row->change_count; i++) {
		const struct trend_change *change = &row->changes[i];

		if (change->state == wanted[row->news] &&
		    (row->news != TREND_WORSE || change->worse))
			found = change;
	}
	return found;
}

int trend_row_suite_length(const struct trend_row *row)
{
	return (int)strcspn(row->case_id, "/:@");
}

bool trend_rows_one_suite(const struct trend_row *a, const struct trend_row *b)
{
	int length = trend_row_suite_length(a);

	return length == trend_row_suite_length(b) &&
	       !strncmp(a->case_id, b->case_id, (size_t)length);
}

/* The day of the row's news; 0: none, as for a warning. */
static int64_t trend_row_day(const struct trend_row *row)
{
	const struct trend_change *change = trend_row_change(row);

	if (change)
		return change->day;
	return row->news == TREND_ANEW ? row->seams[row->seam_count - 1].day : 0;
}

bool trend_rows_one_incident(const struct trend_row *a, const struct trend_row *b)
{
	const struct trend_change *x = trend_row_change(a), *y = trend_row_change(b);

	return a->news == b->news && trend_row_day(a) == trend_row_day(b) &&
	       trend_rows_one_suite(a, b) && !x == !y && (!x || (x->ratio > 1) == (y->ratio > 1)) &&
	       (a->better == BETTER_NONE) == (b->better == BETTER_NONE);
}

/* By class, then the greatest change first, then as the history has them. */
static int trend_rows_by_class(const void *left, const void *right)
{
	const struct trend_row *a = left, *b = right;
	const struct trend_change *x = trend_row_change(a), *y = trend_row_change(b);
	double u = x ? fabs(log(x->ratio)) : 0, v = y ? fabs(log(y->ratio)) : 0;

	if (a->news != b->news)
		return a->news < b->news ? -1 : 1;
	if (u != v)
		return u > v ? -1 : 1;
	return (a->id > b->id) - (a->id < b->id);
}

enum status trend_rows_collect(struct store *history, const struct history_filter *filter,
			       const struct history_nights *nights,
			       const struct history_notes *notes, struct trend_rows *out,
			       struct error *err)
{
	struct trend_collecting c = { .history = history, .rows = out, .err = err };
	struct history_notes placed = *notes;

	*out = (struct trend_rows){ .begin = INFINITY, .end = -INFINITY };
	if (nights->count) {
		out->last = nights->items[nights->count - 1].day;
		out->first = nights->items[0].day;
		if (out->last - out->first >= TREND_NIGHTS)
			out->first = out->last - TREND_NIGHTS + 1;
	}
	if (store_nights_places(history, &c.places, err) == STATUS_OK &&
	    trend_prior_learn(&c.prior, history, filter, err) == STATUS_OK) {
		placed.places = &c.places;
		c.notes = &placed;
		store_each_series(history, filter, trend_rows_visit, &c, err);
		trend_pools_find(&out->pools, &placed);
		for (size_t i = 0; i < out->pools.count; i++)
			trend_news_count_changes(&out->summary, &out->pools.items[i].trend);
	}
	out->looked_at = c.prior.series;
	out->odds_limit = trend_prior_limit(&c.prior);
	trend_prior_release(&c.prior);
	history_places_release(&c.places);
	if (out->count)
		qsort(out->items, out->count, sizeof(*out->items), trend_rows_by_class);
	return err->status;
}

void trend_rows_release(struct trend_rows *rows)
{
	for (size_t i = 0; i < rows->count; i++) {
		struct trend_row *row = &rows->items[i];

		free(row->metric);
		free(row->case_id);
		free(row->model);
		free(row->machine);
		free(row->unit);
		free(row->host);
		free(row->nights);
		free(row->changes);
		for (size_t k = 0; k < row->seam_count; k++) {
			free(row->seams[k].what);
			free(row->seams[k].words);
		}
		free(row->seams);
	}
	trend_news_seam_groups_release(&rows->seams);
	trend_pools_release(&rows->pools);
	free(rows->items);
	memset(rows, 0, sizeof(*rows));
}
