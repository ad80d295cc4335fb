#include "report/trend/trend_page.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "history/change_points.h"
#include "report/page/html.h"
#include "report/page/view_sections.h"
#include "report/template/template.h"
#include "report/trend/trend_rows.h"
#include "report/view/view.h"
#include "report/view/presented.h"

static const char *trend_change_direction(enum better better, double ratio)
{
	if (better == BETTER_NONE)
		return ratio > 1 ? "more" : "less";
	return ratio > 1 ? "worse" : "better";
}

static char *found_words(const struct trend_change *c)
{
	if (c->found != FOUND_BY_NIGHTS)
		return trend_found_words(c);
	return xasprintf("odds over %s to 1",
			 format_power_of_ten(pow(10, trend_odds_power(c))).text);
}

static char *trend_change_words(const struct trend_row *row, const struct trend_change *c)
{
	char date[16];
	char *decision = c->decision ? triage_words(c->decision) : NULL, *how, *out;

	history_date(c->day, date);
	how = found_words(c);
	out = xasprintf("%s since %s: %s → %s, %.1f\u00a0%% %s, %s%s%s",
			change_state_name(c->state), date,
			format_quantity(c->before, row->unit).text,
			format_quantity(c->after, row->unit).text, trend_percent(c),
			trend_change_direction(row->better, c->ratio), how, decision ? "; " : "",
			decision ? decision : "");
	free(how);
	free(decision);
	return out;
}

static char *trend_state_words(const struct trend_row *row)
{
	const struct trend_change *c = trend_row_change(row);
	char date[16];

	if (row->news == TREND_WARNS)
		return trend_warning_words(row->beyond, row->beyond_by, row->band);
	if (row->news == TREND_ANEW)
		return xstrdup(row->seams[row->seam_count - 1].words);
	if (!c)
		return xstrdup(row->young ? "cannot tell yet" : "no change");
	history_date(c->day, date);
	return xasprintf("%s: %.1f %% %s since %s", change_state_name(c->state), trend_percent(c),
			 trend_change_direction(row->better, c->ratio), date);
}

static char *trend_incident_name(const struct trend_row *const *rows, size_t count)
{
	if (count > 1)
		return xasprintf("%.*s: %zu series", trend_row_suite_length(rows[0]),
				 rows[0]->case_id, count);
	return xasprintf("%s, %s", rows[0]->case_id, view_metric_title(NULL, rows[0]->metric).text);
}

static char *trend_incident_words(const struct trend_row *const *rows, size_t count)
{
	const struct trend_change *c = trend_row_change(rows[0]);
	double low = INFINITY, high = 0;
	char date[16];

	if (!c || count < 2)
		return trend_state_words(rows[0]);
	for (size_t i = 0; i < count; i++) {
		low = fmin(low, trend_percent(trend_row_change(rows[i])));
		high = fmax(high, trend_percent(trend_row_change(rows[i])));
	}
	history_date(c->day, date);
	if (high - low < 0.05)
		return xasprintf("%s: %.1f\u00a0%% %s since %s", change_state_name(c->state), high,
				 trend_change_direction(rows[0]->better, c->ratio), date);
	return xasprintf("%s: %.1f %% to %.1f\u00a0%% %s since %s", change_state_name(c->state),
			 low, high, trend_change_direction(rows[0]->better, c->ratio), date);
}

struct answering {
	const struct trend_rows *rows;
	const struct history_nights *nights;
	struct tree *tree;
};

/* If no series has enough nights there is no answer, and no tick. */
static bool trend_nothing_known(const struct answering *p)
{
	return p->rows->summary.young == p->rows->summary.series &&
	       !trend_pools_tell(&p->rows->pools);
}

static void answer_word(const struct answering *p)
{
	const struct trend_summary *s = &p->rows->summary;
	size_t unknown = s->young + p->rows->silent;
	const struct page_answer answer = {
		.found = s->worse,
		.found_word = "Changed for the worse",
		.warned = s->warnings,
		.warned_word = "Warning",
		.compared = trend_nothing_known(p) ? 0 : s->series - unknown,
		.total = s->series,
		.good = "Nothing new for the worse",
		.things = "series",
		.nothing = p->nights->count ? "Cannot tell yet" : "No nights",
	};

	page_answer_show(&answer, p->tree);
}

static void trend_set_sentence(const struct answering *p, const char *news, const char *last)
{
	const struct trend_summary *s = &p->rows->summary;
	const char *nights = p->nights->count == 1 ? "night" : "nights";
	struct text out = TEXT_EMPTY;

	if (trend_nothing_known(p))
		text_addf(&out,
			  "%zu series over %zu %s up to %s: cannot tell yet. A change can be found "
			  "after %d nights with the same hardware, driver and config; one of "
			  "%.0f\u00a0%% and more at once.",
			  s->series, p->nights->count, nights, last, TREND_LEAST_NIGHTS,
			  100 * TREND_SUDDEN);
	else
		text_addf(&out, "%s, in %zu series over %zu %s up to %s.", news, s->series,
			  p->nights->count, nights, last);
	if (s->young && !trend_nothing_known(p))
		text_addf(&out, " %zu of %zu series: fewer than %d nights: cannot tell yet.",
			  s->young, s->series, TREND_LEAST_NIGHTS);
	if (p->rows->silent)
		text_addf(&out, " %zu of %zu series have no figure in the last night.",
			  p->rows->silent, s->series);
	tree_text_owned(p->tree, "verdict", text_detach(&out));
}

static void trend_set_answer(const struct answering *p)
{
	const struct trend_summary *s = &p->rows->summary;
	struct text text = TEXT_EMPTY;
	char last[16] = "–";

	if (p->nights->count)
		history_date(p->rows->last, last);
	format_count_of(&text, s->worse,
			s->worse == 1 ? "new change for the worse" : "new changes for the worse");
	format_count_of(&text, s->warnings, s->warnings == 1 ? "warning" : "warnings");
	format_count_of(&text, s->improved, s->improved == 1 ? "improvement" : "improvements");
	format_count_of(&text, s->fresh - s->worse - s->improved,
			s->fresh - s->worse - s->improved == 1
				? "change without a better direction"
				: "changes without a better direction");
	trend_set_sentence(p, text.length ? text.data : "No new change", last);
	answer_word(p);
	text_release(&text);
}

/* Changes that coincide with another driver, config or hardware, and changes of pools. */
static void trend_add_seams(const struct answering *p)
{
	struct tree *list = tree_list(p->tree, "since");

	for (size_t i = 0; i < p->rows->seams.count; i++) {
		char *words = seam_group_words(&p->rows->seams.items[i]);

		words[0] = (char)toupper((unsigned char)words[0]);
		tree_item_text(list, view_string(words));
		free(words);
	}
	for (size_t i = 0; i < p->rows->pools.count;) {
		char *words = trend_pool_words(&p->rows->pools, &i);

		tree_item_text(list, view_string(words));
		free(words);
	}
}

static void trend_answer(const struct trend_rows *rows, const struct history_nights *nights,
			 struct tree *tree)
{
	const struct answering p = { rows, nights, tree };

	trend_set_answer(&p);
	trend_add_seams(&p);
}

#define MOST_INCIDENTS 24
#define MOST_LISTED 3   /* series of an incident that are not folded */
#define MOST_MEMBERS 60 /* series of an incident that are named */
#define MOST_DRAWN 16   /* lines next to the series that changed most */
#define MOST_ROWS 60    /* of a suite */

struct trend_page {
	struct store *history;
	struct history_nights nights;
	struct history_notes notes;
	struct trend_rows rows;
	struct tree *tree;
	struct error *err;
};

/*
 * Adds the differences in the environment, except for the night `said`, which the page already has.
 */
static void trend_add_differences(const struct trend_page *p, int64_t before, int64_t after,
				  int64_t said, struct tree *map)
{
	struct tree *list = tree_list(map, "facts");
	struct fact_differences found = { 0 };

	if (after == said)
		return;
	history_differences(p->history, before, after, &found, p->err);
	for (size_t i = 0; i < found.count; i++) {
		struct tree *fact = tree_item(list);

		view_text(fact, "fact", found.items[i].name);
		view_text(fact, "was", found.items[i].before);
		view_text(fact, "is", found.items[i].after);
	}
	fact_differences_release(&found);
}

static const char *trend_class_kind(enum trend_class class)
{
	static const char *const kinds[] = {
		[TREND_WORSE] = "failed",  [TREND_WARNS] = "error",  [TREND_BETTER] = "ok",
		[TREND_KNOWN] = "skipped", [TREND_ANEW] = "skipped", [TREND_BACK] = "skipped",
		[TREND_QUIET] = "none"
	};

	return kinds[class];
}

static bool trend_is_same_device(const struct trend_row *a, const struct trend_row *b)
{
	return !strcmp(view_string(a->model), view_string(b->model)) &&
	       !strcmp(view_string(a->machine), view_string(b->machine));
}

/* True if all series are of one device, which the page then names once. */
static bool trend_has_one_device(const struct trend_rows *rows)
{
	for (size_t i = 1; i < rows->count; i++)
		if (!trend_is_same_device(&rows->items[i], rows->items))
			return false;
	return rows->count > 0;
}

/* `named`: its device is named elsewhere. */
static void trend_row_names(const struct trend_row *row, bool named, struct tree *map)
{
	tree_textf(map, "series", "%lld", (long long)row->id);
	view_text(map, "case", row->case_id);
	view_text(map, "metric", view_metric_title(NULL, row->metric).text);
	view_text(map, "model", named ? NULL : row->model);
	view_text(map, "machine", named ? NULL : row->machine);
	tree_text(map, "kind", trend_class_kind(row->news));
	tree_text(map, "better", format_better(row->better));
}

/* Percentages of a change, and of its chart, are relative to the level before it. */
static struct trend_drawing trend_row_drawing(const struct trend_page *p,
					      const struct trend_row *row)
{
	const struct trend_change *change = trend_row_change(row);

	return (struct trend_drawing){ .nights = row->nights,
				       .count = row->count,
				       .first = p->rows.first,
				       .last = p->rows.last,
				       .zero = change ? change->before : row->median,
				       .zero_name = change ? "the level before the change"
							   : "the median",
				       .low = row->low,
				       .high = row->high };
}

/* The row's nights, over the lines of `others`, each as a share of its own level. */
static void trend_draw_row(const struct trend_page *p, const struct trend_row *row,
			   const struct trend_row *const *others, size_t count, bool axes,
			   struct tree *map)
{
	struct trend_mark *seams = xcalloc(row->seam_count + 1, sizeof(*seams));
	struct trend_drawing drawing = trend_row_drawing(p, row), *lines;
	char *id = xasprintf("%s-%lld-%u", axes ? "detail" : "spark", (long long)row->id,
			     row->turn + 1);
	char *state = trend_state_words(row);
	char *title = xasprintf("%s, %s", row->case_id, row->metric);
	char *finding;

	finding = xasprintf("%zu nights, median %s; %s", row->count,
			    format_quantity(row->median, row->unit).text, state);
	for (size_t i = 0; i < row->seam_count; i++)
		seams[i] = (struct trend_mark){ row->seams[i].day, row->seams[i].what };
	lines = xcalloc(count + 1, sizeof(*lines));
	for (size_t i = 0; i < count; i++)
		lines[i] = trend_row_drawing(p, others[i]);
	drawing.seams = seams;
	drawing.seam_count = row->seam_count;
	drawing.others = lines;
	drawing.other_count = count;
	drawing.axes = axes;
	trend_chart(&drawing, id, title, finding, tree_list(map, "svg"));
	free(seams);
	free(lines);
	free(id);
	free(title);
	free(state);
	free(finding);
}

/* Notes about a series; 0: about whole nights. */
static void trend_notes_of(const struct trend_page *p, int64_t series, struct tree *map)
{
	struct tree *list = tree_list(map, "notes");

	for (size_t i = 0; i < p->notes.count; i++) {
		const struct history_note *n = &p->notes.items[i];
		struct tree *item;
		char date[16], *words;

		if (n->series != series)
			continue;
		item = tree_item(list);
		history_date(n->day, date);
		tree_text(item, "date", date);
		words = n->state ? triage_note_words(n) : xstrdup(n->text);
		view_text(item, "text", words);
		tree_text(item, "what",
			  n->state          ? "Decision of"
			  : n->acknowledges ? "Acknowledged"
					    : "Note of");
		free(words);
	}
}

/* The nights of a detail chart as a table. */
static void trend_night_table(const struct trend_row *row, struct tree *map)
{
	struct tree *list = tree_list(map, "values");
	char date[16];

	for (size_t i = 0; i < row->count; i++) {
		struct tree *item = tree_item(list);

		history_date(row->nights[i].day, date);
		tree_text(item, "date", date);
		tree_text(item, "value", format_quantity(row->nights[i].value, row->unit).text);
	}
}

/* The device of a row; NULL: none is named. */
static void trend_set_device(const struct trend_row *row, struct tree *map)
{
	char *words = row && row->model && row->machine
			      ? xasprintf("%s (%s)", row->model, row->machine)
			      : NULL;

	view_text(map, "device", words || !row ? words : row->model);
	free(words);
}

/*
 * A series of an incident: its changes, and the differences unless an earlier series listed them.
 */
static void trend_add_member(const struct trend_page *p, const struct trend_row *row, bool named,
			     int64_t *said, struct tree *list)
{
	struct tree *map = tree_item(list), *changes;

	trend_row_names(row, named, map);
	changes = tree_list(map, "changes");
	for (size_t i = 0; i < row->change_count; i++) {
		const struct trend_change *c = &row->changes[i];
		struct tree *change = tree_item(changes);

		tree_text_owned(change, "words", trend_change_words(row, c));
		trend_add_differences(p, c->night_before, c->night, *said, change);
		*said = c->night;
	}
	for (size_t i = 0; i < row->seam_count; i++) {
		const struct trend_row_seam *seam = &row->seams[i];
		struct tree *change;

		if (!seam->words)
			continue;
		change = tree_item(changes);
		view_text(change, "words", seam->words);
		trend_add_differences(p, seam->night_before, seam->night, *said, change);
		*said = seam->night;
	}
	if (row->news == TREND_WARNS)
		tree_text_owned(tree_item(changes), "words", trend_state_words(row));
	trend_notes_of(p, row->id, map);
}

/* rows of one incident, the greatest change first */
static void trend_add_incident(const struct trend_page *p, const struct trend_row *const *rows,
			       size_t count, struct tree *list)
{
	struct tree *map = tree_item(list), *members, *folded;
	size_t drawn = count - 1 < MOST_DRAWN ? count - 1 : MOST_DRAWN;
	int64_t said = 0;
	bool one = count > 1;

	for (size_t i = 1; i < count; i++)
		one = one && trend_is_same_device(rows[i], rows[0]);
	trend_set_device(one && !trend_has_one_device(&p->rows) ? rows[0] : NULL, map);
	one = one || trend_has_one_device(&p->rows);
	tree_text_owned(map, "incident", trend_incident_name(rows, count));
	tree_text_owned(map, "state", trend_incident_words(rows, count));
	tree_text(map, "kind", trend_class_kind(rows[0]->news));
	tree_textf(map, "drawn", drawn ? "Dots: %s. Grey: %zu other series." : "",
		   view_string(rows[0]->case_id), drawn);
	tree_textf(map, "series", "%lld", (long long)rows[0]->id);
	members = tree_list(map, "members");
	folded = tree_list(map, "folded");
	for (size_t i = 0; i < count && i < MOST_MEMBERS; i++)
		trend_add_member(p, rows[i], one, &said, i < MOST_LISTED ? members : folded);
	tree_textf(map, "folded_count", folded->count ? "%zu more series" : "",
		   count - members->count);
	tree_textf(map, "more_members",
		   count > MOST_MEMBERS ? "%zu more: gpuproof history trend." : "",
		   count - MOST_MEMBERS);
	trend_night_table(rows[0], map);
	trend_draw_row(p, rows[0], rows + 1, drawn, true, map);
}

/* Rows that changed together are one incident: of one suite, since one day, in one direction. */
static void trend_add_incidents(const struct trend_page *p)
{
	const struct trend_row **together = xcalloc(p->rows.count + 1, sizeof(struct trend_row *));
	bool *taken = xcalloc(p->rows.count + 1, sizeof(*taken));
	struct tree *list = tree_list(p->tree, "details");
	size_t incidents = 0;

	for (size_t i = 0; i < p->rows.count; i++) {
		const struct trend_row *row = &p->rows.items[i];
		size_t n = 0;

		if (row->news == TREND_QUIET || taken[i])
			continue;
		for (size_t k = i; k < p->rows.count; k++)
			if (!taken[k] && trend_rows_one_incident(row, &p->rows.items[k])) {
				taken[k] = true;
				together[n++] = &p->rows.items[k];
			}
		if (++incidents <= MOST_INCIDENTS)
			trend_add_incident(p, together, n, list);
	}
	tree_textf(p->tree, "more_details",
		   incidents > list->count ? "%zu more are in the tables below." : "",
		   incidents - list->count);
	free(together);
	free(taken);
}

static void trend_add_table_row(const struct trend_page *p, const struct trend_row *row,
				struct tree *list)
{
	struct tree *map = tree_item(list);

	trend_row_names(row, trend_has_one_device(&p->rows), map);
	tree_text_owned(map, "state", trend_state_words(row));
	tree_text(map, "last", format_quantity(row->last, row->unit).text);
	tree_text(map, "median", format_quantity(row->median, row->unit).text);
	tree_text(map, "noise", isnan(row->noise) ? "–" : format_percent(row->noise).text);
	tree_textf(map, "nights", "%zu", row->measured);
	tree_textf(map, "missed", "%zu", row->missed);
	trend_draw_row(p, row, NULL, 0, false, map);
}

/* All series of the suite of rows.items[first]. */
static void trend_add_table(const struct trend_page *p, size_t first, bool *taken,
			    struct tree *suites)
{
	const struct trend_row *of = &p->rows.items[first];
	struct tree *map = tree_item(suites), *list = tree_list(map, "rows");
	size_t count = 0, news = 0;

	for (size_t i = first; i < p->rows.count; i++) {
		const struct trend_row *row = &p->rows.items[i];

		if (!trend_rows_one_suite(of, row))
			continue;
		taken[i] = true;
		news += row->news != TREND_QUIET;
		if (count++ < MOST_ROWS)
			trend_add_table_row(p, row, list);
	}
	tree_textf(map, "suite", "%.*s", trend_row_suite_length(of), of->case_id);
	tree_textf(map, "counts",
		   news ? "%zu series, %zu with a change, seam or warning"
			: "%zu series, none changed",
		   count, news);
	tree_textf(map, "more_rows",
		   count > MOST_ROWS ? "%zu more: gpuproof history trend --all." : "",
		   count - MOST_ROWS);
}

static void trend_add_missed_nights(const struct trend_page *p)
{
	int64_t *days = xcalloc(p->nights.count + 1, sizeof(*days)), missing[MOST_MISSED];
	size_t count = history_missed(&p->nights, missing);
	struct tree *list;
	char date[16];

	for (size_t i = 0; i < p->nights.count; i++)
		days[i] = p->nights.items[i].day;
	trend_missed_strip(missing, count, days, p->nights.count, p->rows.first, p->rows.last,
			   p->tree);
	tree_textf(p->tree, "missed_count", "%zu", count);
	list = tree_list(p->tree, "missed_dates");
	for (size_t i = 0; i < count; i++) {
		history_date(missing[i], date);
		tree_item_text(list, date);
	}
	history_date(p->rows.first, date);
	tree_text(p->tree, "first_day", p->nights.count ? date : "–");
	history_date(p->rows.last, date);
	tree_text(p->tree, "last_day", p->nights.count ? date : "–");
	free(days);
}

static void trend_fill_page(const struct trend_page *p, const struct report_options *options)
{
	struct tree *suites = tree_list(p->tree, "suites");
	bool *taken = xcalloc(p->rows.count + 1, sizeof(*taken));
	char *hosts = history_hosts(&p->nights);
	char *text = *hosts ? xasprintf("Trend of %s", hosts) : xstrdup("Trend of the nights");

	view_text(p->tree, "title", options->title ? options->title : text);
	free(hosts);
	free(text);
	trend_set_device(trend_has_one_device(&p->rows) ? p->rows.items : NULL, p->tree);
	trend_answer(&p->rows, &p->nights, p->tree);
	tree_list(p->tree, "warnings");
	trend_add_missed_nights(p);
	trend_notes_of(p, 0, p->tree);
	trend_add_incidents(p);
	for (size_t i = 0; i < p->rows.count; i++)
		if (!taken[i])
			trend_add_table(p, i, taken, suites);
	free(taken);
	/* Definitions of the words on the page, from the constants that decide. */
	tree_textf(p->tree, "segment", "%d", CHANGE_MIN_SEGMENT);
	tree_text(p->tree, "odds", format_count(round(exp(p->rows.odds_limit))).text);
	tree_textf(p->tree, "looked_at", "%zu", p->rows.looked_at);
	tree_text(p->tree, "sudden", format_percent(TREND_SUDDEN).text);
	tree_textf(p->tree, "least", "%d", TREND_LEAST_NIGHTS);
	tree_textf(p->tree, "odds_series", "%d", TREND_ODDS_SERIES);
	tree_text(p->tree, "magnitude", format_percent(CHANGE_MAGNITUDE).text);
	tree_textf(p->tree, "band_sigmas", "%d", BAND_SIGMAS);
	tree_text(p->tree, "band_least", format_percent(BAND_LEAST).text);
	tree_textf(p->tree, "band_nights", "%d", BAND_NIGHTS);
	tree_textf(p->tree, "days_shown", "%d", TREND_NIGHTS);
}

enum status report_trend_write(struct store *history, const struct history_filter *filter,
			       const struct report_options *options, struct trend_summary *summary,
			       struct error *err)
{
	struct trend_page p = { .history = history, .tree = tree_new(TREE_MAP), .err = err };

	if (store_nights(history, &p.nights, err) == STATUS_OK &&
	    store_notes(history, &p.notes, err) == STATUS_OK &&
	    trend_rows_collect(history, filter, &p.nights, &p.notes, &p.rows, err) == STATUS_OK) {
		trend_fill_page(&p, options);
		*summary = p.rows.summary;
	}
	trend_rows_release(&p.rows);
	history_notes_release(&p.notes);
	history_nights_release(&p.nights);
	return html_write("trend", options, p.tree, err);
}
