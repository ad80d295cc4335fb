#include "history/thin/thin.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "history/fleet/fleet.h"
#include "history/trend.h"

#define ROUNDS 4 /* the first, and those in which more series stay whole */

/* Answer about one series. */
struct saying {
	int64_t series;
	char *words;
};

/* Everything that is said about a history. */
struct judged {
	struct saying *items; /* by series */
	size_t count, capacity;
	char *fleet; /* findings, one a line */
};

struct nights {
	int64_t *items;
	size_t count, capacity;
};

/* A look at all series: what is said, and which nights are near a change. */
struct look {
	struct judged *judged;
	struct nights *near; /* NULL: not asked for */
	const struct history_notes *notes;
	const struct trend_prior *prior;
};

static void add_night(struct nights *nights, int64_t night)
{
	ARRAY_GROW(nights->items, nights->count, nights->capacity);
	nights->items[nights->count++] = night;
}

static void add_near(struct nights *near, const struct trend *t, size_t at)
{
	size_t end = at + THIN_AROUND < t->count ? at + THIN_AROUND : t->count;

	for (size_t i = at > THIN_AROUND ? at - THIN_AROUND : 0; i < end; i++)
		add_night(near, t->points[i]->night);
}

static void say_trend(struct text *out, const struct trend *t)
{
	text_addf(out, "epoch %" PRId64 " %d %d %zu %zu\n", t->epoch, t->current, t->warning,
		  t->beyond, t->gaps);
	for (size_t i = 0; i < t->change_count; i++) {
		const struct trend_change *c = &t->changes[i];

		text_addf(out, "change %" PRId64 " %s %d %d\n", c->day, change_state_name(c->state),
			  c->worse, c->improved);
	}
}

static void look_at(void *context, const struct history_series *s)
{
	struct look *look = context;
	struct judged *j = look->judged;
	struct text words = TEXT_EMPTY;
	struct trend *trends;
	size_t n = trend_of_series(s, look->notes, look->prior, &trends);

	for (size_t i = 0; i < n; i++) {
		say_trend(&words, &trends[i]);
		for (size_t k = 0; look->near && k < trends[i].change_count; k++)
			add_near(look->near, &trends[i], trends[i].changes[k].at);
	}
	trends_release(trends, n);
	ARRAY_GROW(j->items, j->count, j->capacity);
	j->items[j->count++] = (struct saying){ s->id, text_detach(&words) };
}

static char *say_fleet(const struct fleet *f)
{
	struct text out = TEXT_EMPTY;

	for (size_t i = 0; i < f->finding_count; i++) {
		char *subject = fleet_subject_words(f, &f->findings[i]);
		char *since = fleet_since_words(&f->findings[i]);

		text_addf(&out, "%s %s%s\n", subject, since,
			  f->findings[i].decision ? " closed" : "");
		free(subject);
		free(since);
	}
	return text_detach(&out);
}

static enum status judge(struct store *store, struct judged *out, struct nights *near,
			 struct error *err)
{
	const struct history_filter all = { .all_metrics = true };
	struct history_notes notes = { 0 };
	struct history_places places = { 0 };
	struct trend_prior prior = { 0 };
	struct fleet fleet = { 0 };
	struct look look = { out, near, &notes, &prior };

	memset(out, 0, sizeof(*out));
	if (store_notes(store, &notes, err) == STATUS_OK &&
	    store_places(store, &places, err) == STATUS_OK &&
	    trend_prior_learn(&prior, store, &all, err) == STATUS_OK) {
		notes.places = &places;
		store_each_series(store, &all, look_at, &look, err);
	}
	if (err->status == STATUS_OK && fleet_read(&fleet, store, &all, err) == STATUS_OK)
		out->fleet = say_fleet(&fleet);
	fleet_release(&fleet);
	trend_prior_release(&prior);
	history_places_release(&places);
	history_notes_release(&notes);
	return err->status;
}

static void judged_release(struct judged *j)
{
	for (size_t i = 0; i < j->count; i++)
		free(j->items[i].words);
	free(j->items);
	free(j->fleet);
}

static void keep_night(void *context, const struct history_series *s)
{
	for (size_t i = 0; i < s->count; i++)
		add_night(context, s->points[i].night);
}

/* Fills in the series that are judged otherwise now; returns how many. */
static size_t differing(const struct judged *before, const struct judged *now, int64_t *series)
{
	size_t found = 0;

	for (size_t i = 0, k = 0; i < before->count; i++) {
		const struct saying *b = &before->items[i];

		while (k < now->count && now->items[k].series < b->series)
			k++;
		if (k == now->count || now->items[k].series != b->series ||
		    strcmp(now->items[k].words, b->words) != 0)
			series[found++] = b->series;
	}
	return found;
}

/*
 * Thins within a transaction of its own, which is undone where something is said otherwise; then
 * `keep` has grown. `done`: it stays.
 */
static enum status try_thinning(struct store *store, int64_t before, const struct judged *said,
				struct nights *keep, struct thinning *out, bool *done,
				struct error *err)
{
	int64_t *series = xcalloc(said->count + 1, sizeof(*series));
	struct judged now = { 0 };
	size_t n = 0;

	if (store_begin(store, err) == STATUS_OK) {
		if (store_thin(store, before, THIN_EVERY, keep->items, keep->count, &out->nights,
			       err) == STATUS_OK &&
		    judge(store, &now, NULL, err) == STATUS_OK) {
			n = differing(said, &now, series);
			*done = !n && strcmp(said->fleet, now.fleet) == 0;
		}
		store_end(store, *done, err);
	}
	for (size_t i = 0; i < n && err->status == STATUS_OK; i++) {
		const struct history_filter one = { .all_metrics = true, .series = series[i] };

		store_each_series(store, &one, keep_night, keep, err);
	}
	out->whole += n;
	judged_release(&now);
	free(series);
	return err->status;
}

static enum status check_day(struct store *store, int64_t before, struct error *err)
{
	struct history_nights nights = { 0 };
	char last[16] = "", latest[16] = "";

	if (store_nights(store, &nights, err) == STATUS_OK && nights.count) {
		int64_t day = nights.items[nights.count - 1].day;

		history_date(day, last);
		history_date(day - THIN_LATEST, latest);
		if (before > day - THIN_LATEST)
			error_set(err, STATUS_USAGE,
				  "thin: the last night is of %s, and %d days before it stay "
				  "whole: "
				  "nights before %s or an earlier day can be thinned",
				  last, THIN_LATEST, latest);
	}
	history_nights_release(&nights);
	return err->status;
}

enum status history_thin(struct store *store, int64_t before, struct thinning *out,
			 struct error *err)
{
	struct judged said = { 0 };
	struct nights keep = { 0 };
	bool done = false;

	*out = (struct thinning){ 0 };
	if (check_day(store, before, err) != STATUS_OK || store_begin(store, err) != STATUS_OK)
		return err->status;
	judge(store, &said, &keep, err);
	for (int i = 0; i < ROUNDS && !done && err->status == STATUS_OK; i++)
		try_thinning(store, before, &said, &keep, out, &done, err);
	if (err->status == STATUS_OK && !done)
		error_set(err, STATUS_USAGE,
			  "thin: without these nights the history would say something else (%zu "
			  "series): nothing was thinned; an earlier day may do",
			  out->whole);
	store_end(store, done, err);
	if (err->status == STATUS_OK)
		store_compact(store, err);
	judged_release(&said);
	free(keep.items);
	return err->status;
}
