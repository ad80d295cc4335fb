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

struct trend_page {
	struct store *history;
	struct history_nights nights;
	struct history_notes notes;
	struct trend_rows rows;
	struct tree *tree;
	struct error *err;
};

static void trend_add_differences(const struct trend_page *p, int64_t before, int64_t after,
				  struct tree *map)
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

static const char *trend_class_kind(enum trend_class class)
{
	static const char *const kinds[] = {
		[TREND_WORSE] = "failed",  [TREND_WARNS] = "error",  [TREND_BETTER] = "ok",
		[TREND_KNOWN] = "skipped", [TREND_ANEW] = "skipped", [TREND_BACK] = "skipped",
		[TREND_QUIET] = "none"
	};

	return kinds[class];
}

/* True if all series are of one device, which the page then names once. */
static bool trend_has_one_device(const struct trend_rows *rows)
{
	for (size_t i = 1; i < rows->count; i++)
		if (strcmp(view_string(rows->items[i].model), view_string(rows->items[0].model)) ||
		    strcmp(view_string(rows->items[i].machine),
			   view_string(rows->items[0].machine)))
			return false;
	return rows->count > 0;
}

static void trend_row_names(const struct trend_page *p, const struct trend_row *row,
			    struct tree *map)
{
	bool named = trend_has_one_device(&p->rows);

	char metric[FORMAT_SIZE];

	tree_textf(map, "series", "%lld", (long long)row->id);
	view_text(map, "case", row->case_id);
	view_text(map, "metric", view_metric_title(NULL, row->metric, metric, sizeof(metric)));
	view_text(map, "model", named ? NULL : row->model);
	view_text(map, "machine", named ? NULL : row->machine);
	tree_text(map, "kind", trend_class_kind(row->news));
	tree_text(map, "better", format_better(row->better));
	tree_text_owned(map, "state", trend_state_words(row));
}

/* A change's percentage is of the level before it, and so are those of its chart. */
static void trend_draw_row(const struct trend_page *p, const struct trend_row *row,
			   const char *prefix, bool axes, struct tree *map)
{
	const struct trend_change *change = trend_row_change(row);
	struct trend_mark *seams = xcalloc(row->seam_count + 1, sizeof(*seams));
	struct trend_drawing drawing = { .nights = row->nights,
					 .count = row->count,
					 .first = p->rows.first,
					 .last = p->rows.last,
					 .zero = change ? change->before : row->median,
					 .zero_name = change ? "the level before the change"
							     : "the median",
					 .low = row->low,
					 .high = row->high,
					 .seams = seams,
					 .seam_count = row->seam_count,
					 .axes = axes };
	char *id = row->turn ? xasprintf("%s-%lld-%u", prefix, (long long)row->id, row->turn + 1)
			     : xasprintf("%s-%lld", prefix, (long long)row->id);
	char *state = trend_state_words(row);
	char *title = xasprintf("%s, %s", row->case_id, row->metric);
	char median[FORMAT_SIZE], *finding;

	finding = xasprintf("%zu nights, median %s; %s", row->count,
			    format_quantity(row->median, row->unit, median, sizeof(median)), state);
	for (size_t i = 0; i < row->seam_count; i++)
		seams[i] = (struct trend_mark){ row->seams[i].day, row->seams[i].what };
	trend_chart(&drawing, id, title, finding, tree_list(map, "svg"));
	free(seams);
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
	tree_flag(map, "has_notes", list->count);
}

/* The nights of a detail chart as a table. */
static void trend_night_table(const struct trend_row *row, struct tree *map)
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

static void trend_add_detail(const struct trend_page *p, const struct trend_row *row,
			     struct tree *list)
{
	struct tree *map = tree_item(list), *changes;

	trend_row_names(p, row, map);
	changes = tree_list(map, "changes");
	for (size_t i = 0; i < row->change_count; i++) {
		struct tree *change = tree_item(changes);

		tree_text_owned(change, "words", trend_change_words(row, &row->changes[i]));
		trend_add_differences(p, row->changes[i].night_before, row->changes[i].night,
				      change);
	}
	for (size_t i = 0; i < row->seam_count; i++) {
		const struct trend_row_seam *seam = &row->seams[i];
		struct tree *change;

		if (!seam->words)
			continue;
		change = tree_item(changes);
		view_text(change, "words", seam->words);
		trend_add_differences(p, seam->night_before, seam->night, change);
	}
	trend_notes_of(p, row->id, map);
	trend_night_table(row, map);
	trend_draw_row(p, row, "detail", true, map);
}

static void trend_add_details(const struct trend_page *p)
{
	struct tree *list = tree_list(p->tree, "details");
	size_t shown = 0, notable = 0;

	for (size_t i = 0; i < p->rows.count; i++) {
		if (p->rows.items[i].news == TREND_QUIET)
			continue;
		if (++notable <= MOST_DETAILS) {
			trend_add_detail(p, &p->rows.items[i], list);
			shown++;
		}
	}
	tree_flag(p->tree, "has_details", shown);
	tree_textf(p->tree, "more_details",
		   notable > shown ? "%zu more are in the table of all series." : "",
		   notable - shown);
}

static void trend_add_table_row(const struct trend_page *p, const struct trend_row *row,
				struct tree *list)
{
	struct tree *map = tree_item(list);
	char text[FORMAT_SIZE];

	trend_row_names(p, row, map);
	tree_text(map, "last", format_quantity(row->last, row->unit, text, sizeof(text)));
	tree_text(map, "median", format_quantity(row->median, row->unit, text, sizeof(text)));
	tree_text(map, "noise",
		  isnan(row->noise) ? "–" : format_percent(row->noise, text, sizeof(text)));
	tree_textf(map, "nights", "%zu", row->measured);
	tree_textf(map, "missed", "%zu", row->missed);
	trend_draw_row(p, row, "spark", false, map);
}

static void trend_add_table(const struct trend_page *p)
{
	struct tree *list = tree_list(p->tree, "rows");
	size_t n = p->rows.count < MOST_ROWS ? p->rows.count : MOST_ROWS;

	for (size_t i = 0; i < n; i++)
		trend_add_table_row(p, &p->rows.items[i], list);
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

static void trend_add_noisiest(const struct trend_page *p)
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

		trend_row_names(p, rows[i], item);
		tree_text(item, "noise", format_percent(rows[i]->noise, text, sizeof(text)));
	}
	tree_flag(p->tree, "has_noisy", list->count);
	free(rows);
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
static void trend_set_method(const struct trend_page *p)
{
	char text[FORMAT_SIZE];

	tree_textf(p->tree, "segment", "%d", CHANGE_MIN_SEGMENT);
	tree_text(p->tree, "odds",
		  format_count(round(exp(p->rows.odds_limit)), text, sizeof(text)));
	tree_textf(p->tree, "looked_at", "%zu", p->rows.looked_at);
	tree_text(p->tree, "sudden", format_percent(TREND_SUDDEN, text, sizeof(text)));
	tree_textf(p->tree, "least", "%d", TREND_LEAST_NIGHTS);
	tree_textf(p->tree, "odds_series", "%d", TREND_ODDS_SERIES);
	tree_text(p->tree, "magnitude", format_percent(CHANGE_MAGNITUDE, text, sizeof(text)));
	tree_textf(p->tree, "band_sigmas", "%d", BAND_SIGMAS);
	tree_text(p->tree, "band_least", format_percent(BAND_LEAST, text, sizeof(text)));
	tree_textf(p->tree, "band_nights", "%d", BAND_NIGHTS);
	tree_textf(p->tree, "days_shown", "%d", TREND_NIGHTS);
}

static void trend_set_title(const struct trend_page *p, const struct report_options *options)
{
	char *hosts = history_hosts(&p->nights);
	char *text = *hosts ? xasprintf("Trend of %s", hosts) : xstrdup("Trend of the nights");

	view_text(p->tree, "title", options->title ? options->title : text);
	free(hosts);
	free(text);
}

static void trend_set_device(const struct trend_page *p)
{
	const struct trend_row *row = p->rows.items;
	char *words = NULL;

	if (trend_has_one_device(&p->rows) && row->model)
		words = row->machine ? xasprintf("%s (%s)", row->model, row->machine)
				     : xstrdup(row->model);
	view_text(p->tree, "device", words);
	free(words);
}

static void trend_fill_page(const struct trend_page *p, const struct report_options *options)
{
	trend_set_title(p, options);
	trend_set_device(p);
	trend_answer(&p->rows, &p->nights, p->tree);
	tree_list(p->tree, "warnings");
	trend_add_missed_nights(p);
	trend_notes_of(p, 0, p->tree);
	trend_add_details(p);
	trend_add_table(p);
	trend_add_noisiest(p);
	trend_set_method(p);
}

enum status report_trend_render(struct store *history, const struct history_filter *filter,
				const struct report_options *options, struct trend_summary *summary,
				struct text *html, struct error *err)
{
	struct trend_page p = { .history = history, .tree = tree_new(TREE_MAP), .err = err };

	if (store_nights(history, &p.nights, err) == STATUS_OK &&
	    store_notes(history, &p.notes, err) == STATUS_OK &&
	    trend_rows_collect(history, filter, &p.nights, &p.notes, &p.rows, err) == STATUS_OK) {
		trend_fill_page(&p, options);
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
