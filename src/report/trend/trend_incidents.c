/* Incidents: series that changed together, each as one panel of the trend page. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "report/trend/trend_rows.h"
#include "report/view/presented.h"
#include "report/view/view.h"

#define MOST_SHOWN 8    /* series of an incident that are not folded */
#define MOST_MEMBERS 60 /* series of an incident that are named */
#define MOST_DRAWN 16   /* lines next to the series that changed most */

static char *trend_incidents_found_words(const struct trend_change *c)
{
	if (c->found != FOUND_BY_NIGHTS)
		return trend_news_found_words(c);
	return xasprintf("odds over %s to 1",
			 format_power_of_ten(pow(10, trend_odds_power(c))).text);
}

/* "10.2 % worse since 2026-10-27" */
static void trend_incidents_add_change_words(struct text *out, const struct trend_row *row,
					     const struct trend_change *c, double least)
{
	char moment[32];

	history_moment(c->day, c->minute, moment);
	if (trend_percent(c) - least >= 0.05)
		text_addf(out, "%.1f to ", least);
	text_addf(out, "%.1f\u00a0%% %s since %s", trend_percent(c),
		  trend_news_direction(row->better, c->ratio), moment);
}

static char *trend_incidents_change_words(const struct trend_row *row, const struct trend_change *c)
{
	char *decision = c->decision ? triage_words(c->decision) : NULL,
	     *how = trend_incidents_found_words(c);
	struct text out = TEXT_EMPTY;

	text_addf(&out, "%s: ", trend_change_state_name(c->state));
	trend_incidents_add_change_words(&out, row, c, trend_percent(c));
	text_addf(&out, ", %s → %s; %s%s%s", format_quantity(c->before, row->unit).text,
		  format_quantity(c->after, row->unit).text, how, decision ? "; " : "",
		  decision ? decision : "");
	free(how);
	free(decision);
	return text_detach(&out);
}

char *trend_incidents_state_words(const struct trend_row *row)
{
	const struct trend_change *c = trend_row_change(row);
	struct text out = TEXT_EMPTY;

	if (row->news == TREND_WARNS)
		return trend_news_warning_words(row->beyond, row->beyond_by, row->band);
	if (row->news == TREND_ANEW)
		return xstrdup(row->seams[row->seam_count - 1].words);
	if (!c)
		return xstrdup(row->young ? "cannot tell yet" : "no change");
	text_addf(&out, "%s: ", trend_change_state_name(c->state));
	trend_incidents_add_change_words(&out, row, c, trend_percent(c));
	return text_detach(&out);
}

/* The seam at the change: "driver 590.10"; NULL: none. */
static const char *trend_incidents_row_cause(const struct trend_row *row,
					     const struct trend_change *c)
{
	for (size_t i = 0; i < row->seam_count; i++)
		if (row->seams[i].night == c->night)
			return row->seams[i].what;
	return NULL;
}

char *incident_words(const struct trend_page *p, const struct incident *x)
{
	const struct trend_row *row = x->rows[0];
	const struct trend_change *c = trend_row_change(row);
	const char *cause = c ? trend_incidents_row_cause(row, c) : NULL;
	struct text out = TEXT_EMPTY;
	double least = INFINITY;
	bool one = !trend_incidents_has_one_device(&p->rows);
	char *state;

	for (size_t i = 1; i < x->count; i++)
		one = one && !strcmp(x->rows[i]->host, row->host);
	if (one && *row->host)
		text_addf(&out, "%s, ", row->host);
	if (x->count > 1)
		text_addf(&out, "%.*s: %zu figures ", trend_row_suite_length(row), row->case_id,
			  x->count);
	else
		text_addf(&out, "%s: %s ", row->case_id,
			  presented_metric_title(NULL, row->metric).text);
	if (c) {
		for (size_t i = 0; i < x->count; i++)
			least = fmin(least, trend_percent(trend_row_change(x->rows[i])));
		trend_incidents_add_change_words(&out, row, c, least);
		if (cause)
			text_addf(&out, ", with %s", cause);
		return text_detach(&out);
	}
	if (x->count > 1 && row->news == TREND_WARNS) {
		text_add(&out, "outside their usual range in at least 2 of the last 3 runs");
		return text_detach(&out);
	}
	state = trend_incidents_state_words(row);
	text_addf(&out, "%s", state);
	free(state);
	return text_detach(&out);
}

size_t incidents_collect(const struct trend_rows *rows, struct incident **out)
{
	bool *taken = xcalloc(rows->count + 1, sizeof(*taken));
	size_t count = 0;

	*out = xcalloc(rows->count + 1, sizeof(**out));
	for (size_t i = 0; i < rows->count; i++) {
		struct incident *x = &(*out)[count];

		if (rows->items[i].news == TREND_QUIET || taken[i])
			continue;
		x->rows = xcalloc(rows->count - i, sizeof(*x->rows));
		for (size_t k = i; k < rows->count; k++)
			if (!taken[k] &&
			    trend_rows_one_incident(&rows->items[i], &rows->items[k])) {
				taken[k] = true;
				x->rows[x->count++] = &rows->items[k];
			}
		count++;
	}
	free(taken);
	return count;
}

void incidents_release(struct incident *incidents, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(incidents[i].rows);
	free(incidents);
}

/*
 * Adds the differences in the environment, except for the night `said`, which the page already has.
 */
static void trend_incidents_add_differences(const struct trend_page *p, int64_t before,
					    int64_t after, int64_t said, struct tree *map)
{
	struct tree *list = tree_list(map, "facts");
	struct fact_differences found = { 0 };

	if (after == said)
		return;
	trend_news_differences(p->history, before, after, &found, p->err);
	for (size_t i = 0; i < found.count; i++) {
		struct tree *fact = tree_item(list);

		view_text(fact, "fact", found.items[i].name);
		view_text(fact, "was", found.items[i].before);
		view_text(fact, "is", found.items[i].after);
	}
	trend_news_fact_differences_release(&found);
}

static const char *trend_incidents_class_kind(enum trend_class class)
{
	static const char *const kinds[] = {
		[TREND_WORSE] = "failed",  [TREND_WARNS] = "error",  [TREND_BETTER] = "ok",
		[TREND_KNOWN] = "skipped", [TREND_ANEW] = "skipped", [TREND_BACK] = "skipped",
		[TREND_QUIET] = "none"
	};

	return kinds[class];
}

static bool trend_incidents_is_same_device(const struct trend_row *a, const struct trend_row *b)
{
	return !strcmp(view_string(a->model), view_string(b->model)) &&
	       !strcmp(view_string(a->machine), view_string(b->machine));
}

bool trend_incidents_has_one_device(const struct trend_rows *rows)
{
	for (size_t i = 1; i < rows->count; i++)
		if (!trend_incidents_is_same_device(&rows->items[i], rows->items))
			return false;
	return rows->count > 0;
}

void trend_incidents_row_names(const struct trend_row *row, bool named, struct tree *map)
{
	tree_textf(map, "series", "%lld", (long long)row->id);
	view_text(map, "case", row->case_id);
	view_text(map, "metric", presented_metric_title(NULL, row->metric).text);
	view_text(map, "model", named ? NULL : row->model);
	view_text(map, "machine", named ? NULL : row->machine);
	tree_text(map, "kind", trend_incidents_class_kind(row->news));
	tree_text(map, "better", format_better(row->better));
}

/* Percentages of a change, and of its chart, are relative to the level before it. */
static struct trend_drawing trend_incidents_row_drawing(const struct trend_page *p,
							const struct trend_row *row)
{
	const struct trend_change *change = trend_row_change(row);

	return (struct trend_drawing){ .nights = row->nights,
				       .count = row->count,
				       .first = p->rows.begin,
				       .last = p->rows.end,
				       .better = row->better,
				       .zero = change ? change->before : row->median,
				       .zero_name = change ? "the level before the change"
							   : "the median",
				       .low = row->low,
				       .high = row->high };
}

void trend_incidents_draw_row(const struct trend_page *p, const struct trend_row *row,
			      const struct trend_row *const *others, size_t count, bool axes,
			      struct tree *map)
{
	struct trend_mark *seams = xcalloc(row->seam_count + 1, sizeof(*seams));
	struct trend_drawing drawing = trend_incidents_row_drawing(p, row), *lines;
	char *id = xasprintf("%s-%lld-%u", axes ? "detail" : "spark", (long long)row->id,
			     row->turn + 1);
	char *state = trend_incidents_state_words(row);
	char *title = xasprintf("%s, %s", row->case_id, row->metric);
	char *finding;

	finding = xasprintf("%zu runs, median %s; %s", row->count,
			    format_quantity(row->median, row->unit).text, state);
	for (size_t i = 0; i < row->seam_count; i++)
		seams[i] = (struct trend_mark){ row->seams[i].time, row->seams[i].what };
	lines = xcalloc(count + 1, sizeof(*lines));
	for (size_t i = 0; i < count; i++)
		lines[i] = trend_incidents_row_drawing(p, others[i]);
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

void trend_incidents_notes_of(const struct trend_page *p, int64_t series, struct tree *map)
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

/* The runs of a detail chart as a table. */
static void trend_incidents_night_table(const struct trend_row *row, struct tree *map)
{
	struct tree *list = tree_list(map, "values");

	for (size_t i = 0; i < row->count; i++) {
		const struct trend_night *n = &row->nights[i];
		struct tree *item = tree_item(list);
		bool alone =
			(!i || n[-1].day != n->day) && (i + 1 == row->count || n[1].day != n->day);
		char moment[32];

		history_moment(n->day, alone ? -1 : n->minute, moment);
		tree_text(item, "date", moment);
		tree_text(item, "value", format_quantity(n->value, row->unit).text);
	}
}

void trend_incidents_set_device(const struct trend_row *row, struct tree *map)
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
static void trend_incidents_add_member(const struct trend_page *p, const struct trend_row *row,
				       bool named, int64_t *said, struct tree *list)
{
	struct tree *map = tree_item(list), *changes;

	trend_incidents_row_names(row, named, map);
	changes = tree_list(map, "changes");
	for (size_t i = 0; i < row->change_count; i++) {
		const struct trend_change *c = &row->changes[i];
		struct tree *change = tree_item(changes);

		tree_text_owned(change, "words", trend_incidents_change_words(row, c));
		trend_incidents_add_differences(p, c->night_before, c->night, *said, change);
		*said = c->night;
	}
	for (size_t i = 0; i < row->seam_count; i++) {
		const struct trend_row_seam *seam = &row->seams[i];
		struct tree *change;

		if (!seam->words)
			continue;
		change = tree_item(changes);
		view_text(change, "words", seam->words);
		trend_incidents_add_differences(p, seam->night_before, seam->night, *said, change);
		*said = seam->night;
	}
	if (row->news == TREND_WARNS)
		tree_text_owned(tree_item(changes), "words", trend_incidents_state_words(row));
	trend_incidents_notes_of(p, row->id, map);
}

/* A line of an incident's table: the levels before and after, or the median and the last run. */
static void trend_incidents_add_shown(const struct trend_row *row, bool first, struct tree *list)
{
	const struct trend_change *c = trend_row_change(row);
	struct tree *map = tree_item(list);
	double before = c ? c->before : row->median, after = c ? c->after : row->last;

	view_text(map, "case", row->case_id);
	tree_text(map, "metric", presented_metric_title(NULL, row->metric).text);
	tree_flag(map, "drawn", first);
	tree_text(map, "before", format_quantity(before, row->unit).text);
	tree_text(map, "after", format_quantity(after, row->unit).text);
	tree_text(map, "change", format_margin(after / before - 1).text);
}

void trend_add_incident(const struct trend_page *p, const struct incident *x, struct tree *list)
{
	const struct trend_row *const *rows = (const struct trend_row *const *)x->rows;
	struct tree *map = tree_item(list), *members, *shown;
	size_t count = x->count, drawn = count - 1 < MOST_DRAWN ? count - 1 : MOST_DRAWN;
	enum trend_class news = rows[0]->news;
	bool one = count > 1;
	int64_t said = 0;

	for (size_t i = 1; i < count; i++)
		one = one && trend_incidents_is_same_device(rows[i], rows[0]);
	trend_incidents_set_device(one && !trend_incidents_has_one_device(&p->rows) ? rows[0]
										    : NULL,
				   map);
	one = one || trend_incidents_has_one_device(&p->rows);
	view_text_owned(map, "incident", incident_words(p, x));
	tree_text(map, "state",
		  news == TREND_KNOWN  ? "acknowledged"
		  : news == TREND_BACK ? "recovered"
				       : "");
	tree_text(map, "kind", trend_incidents_class_kind(news));
	tree_text(map, "before_name", trend_row_change(rows[0]) ? "Before" : "Median");
	tree_text(map, "after_name", trend_row_change(rows[0]) ? "After" : "Last run");
	shown = tree_list(map, "shown");
	for (size_t i = 0; i < count && i < MOST_SHOWN; i++)
		trend_incidents_add_shown(rows[i], i == 0, shown);
	tree_textf(map, "series", "%lld", (long long)rows[0]->id);
	members = tree_list(map, "members");
	for (size_t i = 0; i < count && i < MOST_MEMBERS; i++)
		trend_incidents_add_member(p, rows[i], one, &said, members);
	tree_textf(map, "folded_count",
		   count > MOST_SHOWN ? "Evidence, and %zu more figures" : "Evidence",
		   count - MOST_SHOWN);
	tree_textf(map, "more_members",
		   count > MOST_MEMBERS ? "%zu more figures: gpuproof history trend." : "",
		   count - MOST_MEMBERS);
	trend_incidents_night_table(rows[0], map);
	trend_incidents_draw_row(p, rows[0], rows + 1, drawn, true, map);
}
