#include "history/history.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/text.h"

#define SECONDS_PER_DAY 86400

bool history_day(const char *date, int64_t *day)
{
	struct tm tm = { 0 };
	const char *end = date ? strptime(date, "%Y-%m-%d", &tm) : NULL;
	time_t seconds;

	if (!end || (*end && *end != 'T'))
		return false;
	seconds = timegm(&tm);
	*day = seconds / SECONDS_PER_DAY;
	/* strptime() accepts 31 February. */
	return gmtime_r(&seconds, &tm) && tm.tm_mday == atoi(date + 8);
}

void history_date(int64_t day, char out[16])
{
	time_t seconds = day * SECONDS_PER_DAY;
	struct tm tm;

	gmtime_r(&seconds, &tm);
	if (!strftime(out, 16, "%Y-%m-%d", &tm))
		out[0] = '\0';
}

void history_moment(int64_t day, int minute, char out[32])
{
	char date[16];

	history_date(day, date);
	snprintf(out, 32, minute < 0 ? "%s" : "%s %02d:%02d", date, minute / 60 % 24, minute % 60);
}

void history_nights_release(struct history_nights *nights)
{
	for (size_t i = 0; i < nights->count; i++) {
		struct history_night *n = &nights->items[i];
		char *texts[] = { n->run_id, n->started, n->host, n->label,
				  n->state,  n->verdict, n->tags };

		for (size_t k = 0; k < ARRAY_SIZE(texts); k++)
			free(texts[k]);
	}
	free(nights->items);
	memset(nights, 0, sizeof(*nights));
}

bool history_has_tag(const char *tags, const char *tag)
{
	size_t length = tag ? strlen(tag) : 0;

	for (const char *p = tags; tag && *p; p += strcspn(p, " "), p += *p == ' ')
		if (strcspn(p, " ") == length && strncmp(p, tag, length) == 0)
			return true;
	return !tag;
}

void history_places_release(struct history_places *places)
{
	for (size_t i = 0; i < places->count; i++) {
		struct history_place *p = &places->items[i];
		char *texts[] = { p->machine, p->host,        p->device, p->slot,
				  p->serial,  p->host_before, p->tags };

		for (size_t k = 0; k < ARRAY_SIZE(texts); k++)
			free(texts[k]);
	}
	free(places->items);
	memset(places, 0, sizeof(*places));
}

static int history_by_machine(const void *machine, const void *place)
{
	return strcmp(machine, ((const struct history_place *)place)->machine);
}

const struct history_place *history_place(const struct history_places *places, const char *machine)
{
	const struct history_place *p =
		places->count ? bsearch(machine, places->items, places->count,
					sizeof(*places->items), history_by_machine)
			      : NULL;

	return p && strcmp(p->machine, p->host) != 0 ? p : NULL;
}

const struct history_place *history_place_named(const struct history_places *places,
						const char *word)
{
	for (size_t i = 0; i < places->count; i++) {
		const struct history_place *p = &places->items[i];
		size_t host = strlen(p->host);

		if (strcmp(p->machine, word) == 0 || (*p->serial && strcmp(p->serial, word) == 0) ||
		    (strncmp(p->host, word, host) == 0 && word[host] == '/' &&
		     strcmp(p->device, word + host + 1) == 0))
			return p;
	}
	return NULL;
}

char *history_machine_words(const struct history_places *places, const char *machine)
{
	const struct history_place *p = history_place(places, machine);
	struct text out = TEXT_EMPTY;

	text_add(&out, machine);
	if (p) {
		const char *const words[][2] = { { "", p->host },
						 { "", p->device },
						 { "", p->slot },
						 { "serial ", p->serial },
						 { "previously in ", p->host_before } };
		const char *between = ": ";

		for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
			if (!*words[i][1])
				continue;
			text_addf(&out, "%s%s%s", between, words[i][0], words[i][1]);
			between = ", ";
		}
	}
	return text_detach(&out);
}

void history_notes_release(struct history_notes *notes)
{
	for (size_t i = 0; i < notes->count; i++) {
		struct history_note *n = &notes->items[i];
		char *texts[] = { n->text, n->written, n->by,      n->ticket,
				  n->host, n->machine, n->case_id, n->metric };

		for (size_t k = 0; k < ARRAY_SIZE(texts); k++)
			free(texts[k]);
	}
	free(notes->items);
	memset(notes, 0, sizeof(*notes));
}

static int history_by_series(const void *a, const void *b)
{
	const struct store_figure *p = *(const struct store_figure *const *)a;
	const struct store_figure *q = *(const struct store_figure *const *)b;
	int order = strcmp(p->case_id, q->case_id);

	order = order ? order : strcmp(p->metric, q->metric);
	order = order ? order : strcmp(p->model, q->model);
	return order ? order : strcmp(p->machine, q->machine);
}

/* Values that were measured, by series. The caller frees the array. */
static const struct store_figure **
history_measured_figures_of_night(const struct store_night *night, size_t *count)
{
	const struct store_figure **out = xcalloc(night->figure_count + 1, sizeof(*out));

	*count = 0;
	for (size_t i = 0; i < night->figure_count; i++)
		if (!isnan(night->figures[i].value))
			out[(*count)++] = &night->figures[i];
	qsort(out, *count, sizeof(*out), history_by_series);
	return out;
}

/* Compares the measured values of the stored and the new version of one run. */
static enum history_added history_choose_night_version(const struct store_night *before,
						       const struct store_night *after,
						       struct error *err)
{
	size_t old_count, count, missing = 0, changed = 0;
	const struct store_figure **old = history_measured_figures_of_night(before, &old_count);
	const struct store_figure **now = history_measured_figures_of_night(after, &count);
	bool completed =
		strcmp(before->state, "complete") != 0 && strcmp(after->state, "complete") == 0;

	for (size_t i = 0; i < old_count; i++) {
		const struct store_figure *const *found =
			bsearch(&old[i], now, count, sizeof(*now), history_by_series);

		missing += !found;
		changed += found && (*found)->value != old[i]->value;
	}
	free(old);
	free(now);
	if (missing)
		error_set(err, STATUS_USAGE,
			  "not replaced: the history contains run %.80s with %zu values, and this "
			  "result lacks %zu of them",
			  after->run_id, old_count, missing);
	else if (count > old_count || completed)
		return HISTORY_REPLACED;
	else if (changed)
		error_set(err, STATUS_USAGE,
			  "not replaced: the history contains run %.80s, and %zu of its %zu values "
			  "differ; a different run needs another id",
			  after->run_id, changed, old_count);
	else if (*after->verdict && strcmp(before->verdict, after->verdict) != 0)
		return HISTORY_REPLACED;
	return HISTORY_PRESENT;
}

enum status history_add_night(struct store *store, const struct store_night *night,
			      enum history_added *added, struct error *err)
{
	struct store_night before = { 0 };
	int64_t old;

	*added = HISTORY_PRESENT;
	if (sqlite_store_begin(store, err) != STATUS_OK)
		return err->status;
	old = store_find_night(store, night->run_id, err);
	if (err->status == STATUS_OK && !old)
		*added = HISTORY_ADDED;
	else if (old && store_read_night(store, old, &before, err) == STATUS_OK)
		*added = history_choose_night_version(&before, night, err);
	store_night_release(&before);
	if (err->status == STATUS_OK && *added == HISTORY_REPLACED)
		store_remove_night(store, old, err);
	if (err->status == STATUS_OK && *added != HISTORY_PRESENT)
		store_add_night(store, night, err);
	return sqlite_store_end(store, *added != HISTORY_PRESENT, err);
}

enum status history_add(struct store *store, const struct result *result, enum history_added *added,
			struct error *err)
{
	struct store_night night;

	*added = HISTORY_PRESENT;
	if (night_of_result(result, &night, err) == STATUS_OK)
		history_add_night(store, &night, added, err);
	store_night_release(&night);
	return err->status;
}

enum status history_tally(struct store *store, const struct store_night *night, const char *name,
			  struct history_tally *tally, struct error *err)
{
	enum history_added added = HISTORY_PRESENT;

	if (night)
		history_add_night(store, night, &added, err);
	if (err->status == STATUS_USAGE) {
		tally->refused++;
		error_prefix(err, "%s", name);
		if (tally->complain)
			tally->complain(err);
		error_clear(err);
		return STATUS_OK;
	}
	if (err->status != STATUS_OK)
		return error_prefix(err, "%s", name);
	tally->added += added == HISTORY_ADDED;
	tally->replaced += added == HISTORY_REPLACED;
	tally->present += added == HISTORY_PRESENT;
	return STATUS_OK;
}

/* A note on a day without a night would not be visible anywhere. */
static enum status history_check_day(struct store *store, int64_t day, struct error *err)
{
	int64_t before = INT64_MIN, after = INT64_MAX;
	char date[16], early[16] = "", late[16] = "";
	struct history_nights nights;
	bool found = false;

	store_nights(store, &nights, err);
	for (size_t i = 0; i < nights.count; i++) {
		int64_t d = nights.items[i].day;

		found = found || d == day;
		before = d < day && d > before ? d : before;
		after = d > day && d < after ? d : after;
	}
	history_nights_release(&nights);
	if (found || err->status != STATUS_OK)
		return err->status;
	if (before == INT64_MIN && after == INT64_MAX)
		return error_set(err, STATUS_USAGE, "the history contains no runs");
	history_date(day, date);
	if (before != INT64_MIN)
		history_date(before, early);
	if (after != INT64_MAX)
		history_date(after, late);
	return error_set(err, STATUS_USAGE, "the history has no run of %s; the nearest: %s%s%s",
			 date, early, *early && *late ? " and " : "", late);
}

enum status history_annotate(struct store *store, int64_t day, int64_t series, bool acknowledges,
			     const char *text, struct error *err)
{
	char now[32];
	struct history_note note = { .day = day,
				     .series = series,
				     .acknowledges = acknowledges,
				     .text = (char *)text,
				     .written = now };

	clock_iso8601(now, sizeof(now));
	if (history_check_day(store, day, err) == STATUS_OK)
		store_add_note(store, &note, err);
	return err->status;
}

/* Skips a note about a series that this history does not have. */
static void history_merge_note(struct store *store, const struct history_notes *there,
			       struct store *from, const struct history_note *note,
			       struct error *err)
{
	struct history_note copy = *note;
	bool known = false;

	if (note->series)
		copy.series = store_find_series(store, from, note->series, err);
	for (const struct history_note *n = there->items; n < there->items + there->count; n++)
		known = known ||
			(n->day == copy.day && n->series == copy.series &&
			 n->acknowledges == copy.acknowledges && n->state == copy.state &&
			 strcmp(n->text, copy.text) == 0 && strcmp(n->written, copy.written) == 0 &&
			 strcmp(n->host, copy.host) == 0 && strcmp(n->machine, copy.machine) == 0);
	if (!known && (!note->series || copy.series))
		store_add_note(store, &copy, err);
}

enum status history_merge(struct store *store, struct store *from, const char *name,
			  struct history_tally *tally, struct error *err)
{
	struct history_nights nights;

	if (sqlite_store_begin(store, err) != STATUS_OK)
		return err->status;
	store_nights(from, &nights, err);
	for (size_t i = 0; i < nights.count && err->status == STATUS_OK; i++) {
		struct store_night night;

		if (store_read_night(from, nights.items[i].id, &night, err) != STATUS_OK)
			break;
		history_tally(store, &night, name, tally, err);
		store_night_release(&night);
	}
	history_nights_release(&nights);
	if (err->status == STATUS_OK) {
		struct history_notes there = { 0 }, notes = { 0 };

		if (store_notes(store, &there, err) == STATUS_OK)
			store_notes(from, &notes, err);
		for (size_t i = 0; i < notes.count && err->status == STATUS_OK; i++)
			history_merge_note(store, &there, from, &notes.items[i], err);
		history_notes_release(&notes);
		history_notes_release(&there);
	}
	return sqlite_store_end(store, true, err);
}
