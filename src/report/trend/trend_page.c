#include "report/trend/trend_page.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "history/change_points.h"
#include "report/page/html.h"
#include "report/template/template.h"
#include "report/trend/trend_answer.h"
#include "report/trend/trend_rows.h"
#include "report/trend/trend_words.h"
#include "report/view/format.h"
#include "report/view/presented.h"
#include "report/view/view.h"

#define MOST_DETAILS 24 /* charts of rows that there is something to say about */
#define MOST_ROWS 2000
#define MOST_NOISY 10

struct page {
	struct store *history;
	struct history_nights nights;
	struct history_notes notes;
	struct trend_rows rows;
	struct tree *tree;
	struct error *err;
};

static void differences(const struct page *p, int64_t before, int64_t after, struct tree *map)
{
	struct tree *list = tree_list(map, "facts");
	struct fact_differences found = { 0 };

	history_differences(p->history, before, after, &found, p->err);
	for (size_t i = 0; i < found.count; i++) {
		struct tree *fact = tree_item(list);

		view_text(fact, "fact", found.items[i].name);
		view_text(fact, "was", found.items[i].before);
		view_text(fact, "is", found.items[i].after);
	}
	fact_differences_release(&found);
}

static const char *kind_of(enum trend_class class)
{
	static const char *const kinds[] = {
		[TREND_WORSE] = "failed",  [TREND_WARNS] = "error",  [TREND_BETTER] = "ok",
		[TREND_KNOWN] = "skipped", [TREND_ANEW] = "skipped", [TREND_BACK] = "skipped",
		[TREND_QUIET] = "none"
	};

	return kinds[class];
}

static void row_names(const struct trend_row *row, struct tree *map)
{
	char metric[FORMAT_SIZE];

	tree_textf(map, "series", "%lld", (long long)row->id);
	view_text(map, "case", row->case_id);
	view_text(map, "metric", view_metric_title(NULL, row->metric, metric, sizeof(metric)));
	view_text(map, "model", row->model);
	view_text(map, "machine", row->machine);
	tree_text(map, "kind", kind_of(row->news));
	tree_text(map, "better", format_better(row->better));
	tree_text_owned(map, "state", trend_state_words(row));
}

/* A change's percentage is of the level before it, and so are those of its chart. */
static void draw(const struct page *p, const struct trend_row *row, const char *prefix, bool axes,
		 struct tree *map)
{
	const struct trend_change *change = trend_row_change(row);
	struct trend_drawing drawing = { .nights = row->nights,
					 .count = row->count,
					 .first = p->rows.first,
					 .last = p->rows.last,
					 .zero = change ? change->before : row->median,
					 .zero_name = change ? "the level before the change"
							     : "the median",
					 .low = row->low,
					 .high = row->high,
					 .axes = axes };
	char *id = row->turn ? xasprintf("%s-%lld-%u", prefix, (long long)row->id, row->turn + 1)
			     : xasprintf("%s-%lld", prefix, (long long)row->id);
	char *state = trend_state_words(row);
	char *title = xasprintf("%s, %s", row->case_id, row->metric);
	char median[FORMAT_SIZE], *finding;

	finding = xasprintf("%zu nights, median %s; %s", row->count,
			    format_quantity(row->median, row->unit, median, sizeof(median)), state);
	trend_chart(&drawing, id, title, finding, tree_list(map, "svg"));
	free(id);
	free(title);
	free(state);
	free(finding);
}

/* Notes about a series; 0: about whole nights. */
static void notes_of(const struct page *p, int64_t series, struct tree *map)
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
	tree_flag(map, "has_notes", list->count);
}

/* The nights of a detail chart as a table. */
static void night_table(const struct trend_row *row, struct tree *map)
{
	struct tree *list = tree_list(map, "values");
	char value[FORMAT_SIZE], date[16];

	for (size_t i = 0; i < row->count; i++) {
		struct tree *item = tree_item(list);

		history_date(row->nights[i].day, date);
		tree_text(item, "date", date);
		tree_text(item, "value",
			  format_quantity(row->nights[i].value, row->unit, value, sizeof(value)));
	}
}

static void detail(const struct page *p, const struct trend_row *row, struct tree *list)
{
	struct tree *map = tree_item(list), *changes;

	row_names(row, map);
	changes = tree_list(map, "changes");
	for (size_t i = 0; i < row->change_count; i++) {
		struct tree *change = tree_item(changes);

		tree_text_owned(change, "words", trend_change_words(row, &row->changes[i]));
		differences(p, row->changes[i].night_before, row->changes[i].night, change);
	}
	if (row->anew) {
		struct tree *change = tree_item(changes);
		char date[16];

		history_date(row->start.day, date);
		tree_textf(change, "words", "Starts anew %s: hardware, driver or config changed",
			   date);
		differences(p, row->start.night_before, row->start.night, change);
	}
	notes_of(p, row->id, map);
	night_table(row, map);
	draw(p, row, "detail", true, map);
}

static void details(const struct page *p)
{
	struct tree *list = tree_list(p->tree, "details");
	size_t shown = 0, notable = 0;

	for (size_t i = 0; i < p->rows.count; i++) {
		if (p->rows.items[i].news == TREND_QUIET)
			continue;
		if (++notable <= MOST_DETAILS) {
			detail(p, &p->rows.items[i], list);
			shown++;
		}
	}
	tree_flag(p->tree, "has_details", shown);
	tree_textf(p->tree, "more_details",
		   notable > shown ? "%zu more are in the table of all series." : "",
		   notable - shown);
}

static void table_row(const struct page *p, const struct trend_row *row, struct tree *list)
{
	struct tree *map = tree_item(list);
	char text[FORMAT_SIZE];

	row_names(row, map);
	tree_text(map, "last", format_quantity(row->last, row->unit, text, sizeof(text)));
	tree_text(map, "median", format_quantity(row->median, row->unit, text, sizeof(text)));
	tree_text(map, "noise",
		  isnan(row->noise) ? "–" : format_percent(row->noise, text, sizeof(text)));
	tree_textf(map, "nights", "%zu", row->measured);
	tree_textf(map, "missed", "%zu", row->missed);
	draw(p, row, "spark", false, map);
}

static void table(const struct page *p)
{
	struct tree *list = tree_list(p->tree, "rows");
	size_t n = p->rows.count < MOST_ROWS ? p->rows.count : MOST_ROWS;

	for (size_t i = 0; i < n; i++)
		table_row(p, &p->rows.items[i], list);
	tree_textf(p->tree, "more_rows",
		   p->rows.count > n ? "%zu series without news are left out." : "",
		   p->rows.count - n);
}

static int by_noise(const void *left, const void *right)
{
	const struct trend_row *const *a = left, *const *b = right;
	double x = isnan((*a)->noise) ? -1 : (*a)->noise, y = isnan((*b)->noise) ? -1 : (*b)->noise;

	if (x != y)
		return x > y ? -1 : 1;
	return ((*a)->id > (*b)->id) - ((*a)->id < (*b)->id);
}

static void noisiest(const struct page *p)
{
	const struct trend_row **rows = xcalloc(p->rows.count + 1, sizeof(*rows));
	struct tree *list = tree_list(p->tree, "noisy");
	char text[FORMAT_SIZE];

	for (size_t i = 0; i < p->rows.count; i++)
		rows[i] = &p->rows.items[i];
	if (p->rows.count)
		qsort(rows, p->rows.count, sizeof(*rows), by_noise);
	for (size_t i = 0; i < p->rows.count && i < MOST_NOISY && !isnan(rows[i]->noise); i++) {
		struct tree *item = tree_item(list);

		row_names(rows[i], item);
		tree_text(item, "noise", format_percent(rows[i]->noise, text, sizeof(text)));
	}
	tree_flag(p->tree, "has_noisy", list->count);
	free(rows);
}

static void missed(const struct page *p)
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
	tree_flag(p->tree, "has_missed", count);
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

/* Definitions of the words on the page, from the constants that decide. */
static void method(const struct page *p)
{
	char text[FORMAT_SIZE];

	tree_textf(p->tree, "segment", "%d", CHANGE_MIN_SEGMENT);
	tree_text(p->tree, "odds",
		  format_count(round(exp(p->rows.odds_limit)), text, sizeof(text)));
	tree_textf(p->tree, "looked_at", "%zu", p->rows.looked_at);
	tree_textf(p->tree, "odds_series", "%d", TREND_ODDS_SERIES);
	tree_text(p->tree, "magnitude", format_percent(CHANGE_MAGNITUDE, text, sizeof(text)));
	tree_textf(p->tree, "band_sigmas", "%d", BAND_SIGMAS);
	tree_text(p->tree, "band_least", format_percent(BAND_LEAST, text, sizeof(text)));
	tree_textf(p->tree, "band_nights", "%d", BAND_NIGHTS);
	tree_textf(p->tree, "days_shown", "%d", TREND_NIGHTS);
}

static void title(const struct page *p, const struct report_options *options)
{
	char *hosts = history_hosts(&p->nights);
	char *text = *hosts ? xasprintf("Trend of %s", hosts) : xstrdup("Trend of the nights");

	view_text(p->tree, "title", options->title ? options->title : text);
	free(hosts);
	free(text);
}

static void fill(const struct page *p, const struct report_options *options)
{
	title(p, options);
	trend_answer(&p->rows, &p->nights, p->tree);
	tree_list(p->tree, "warnings");
	missed(p);
	notes_of(p, 0, p->tree);
	details(p);
	table(p);
	noisiest(p);
	method(p);
}

enum status report_trend_render(struct store *history, const struct history_filter *filter,
				const struct report_options *options, struct trend_summary *summary,
				struct text *html, struct error *err)
{
	struct page p = { .history = history, .tree = tree_new(TREE_MAP), .err = err };

	if (store_nights(history, &p.nights, err) == STATUS_OK &&
	    store_notes(history, &p.notes, err) == STATUS_OK &&
	    trend_rows_collect(history, filter, &p.nights, &p.notes, &p.rows, err) == STATUS_OK) {
		fill(&p, options);
		*summary = p.rows.summary;
		if (err->status == STATUS_OK)
			html_render("trend", options, p.tree, html, err);
	}
	trend_rows_release(&p.rows);
	history_notes_release(&p.notes);
	history_nights_release(&p.nights);
	tree_free(p.tree);
	return err->status;
}

enum status report_trend_write(struct store *history, const struct history_filter *filter,
			       const struct report_options *options, struct trend_summary *summary,
			       struct error *err)
{
	struct text html = TEXT_EMPTY;

	if (report_trend_render(history, filter, options, summary, &html, err) == STATUS_OK)
		html_publish(options, &html, err);
	text_release(&html);
	return err->status;
}
