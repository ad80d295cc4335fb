/* The table of all cases of a suite: one flat list, so that it stays quick with thousands. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "report/page/view_sections.h"
#include "report/view/presented.h"
#include "report/view/suite_page.h"

/*
 * Tables of cases whose metrics belong together and are not points of a curve: a row a case, a
 * column a metric. The suite's rows name them (result/presentation.h).
 */

/* "small: FP32, arena, 8 GiB" */
static char *view_cases_table_case_name(const struct view *view, const struct case_result *c,
					const char *const *without)
{
	char *parameters = view_named_parameters(view, c, without);
	const char *section = view_section(c);
	char *name = xasprintf("%s%s%s", section, *section ? ": " : "", parameters);

	free(parameters);
	return name;
}

static void view_cases_tables_add_row(const struct view *view, const struct case_result *c,
				      const struct table_row *table, struct tree *rows)
{
	char *name = view_cases_table_case_name(view, c, table->without);
	struct tree *row = tree_item(rows), *cells = tree_list(row, "cells");

	view_text(row, "name", name);
	tree_text_owned(row, "where", view_all_devices(view, c));
	tree_text(row, "interval", "");
	for (size_t i = 0; table->columns[i]; i++) {
		const struct metric_value *m = case_metric(c, table->columns[i]);

		tree_item_text(cells, presented_value(view, c, m).text);
	}
	free(name);
}

void view_cases_tables(const struct view *view, const char *suite, struct tree *map)
{
	const struct presentation p = view_presentation(view, suite);
	struct tree *tables = tree_list(map, "tables");

	for (const struct table_row *row = p.tables; row && row->title; row++) {
		struct tree *table = tree_new(TREE_MAP), *head, *rows = tree_list(table, "rows");

		for (size_t i = 0; i < view->results->case_count; i++)
			if (strcmp(view_string(view->results->cases[i].suite), suite) == 0 &&
			    row->columns[0] &&
			    case_metric(&view->results->cases[i], row->columns[0]))
				view_cases_tables_add_row(view, &view->results->cases[i], row,
							  rows);
		if (!rows->count) {
			tree_free(table);
			continue;
		}
		tree_append(tables, table);
		view_text(table, "title", row->title);
		tree_text(table, "first", "Case");
		tree_text(table, "second", "Where");
		head = tree_list(table, "head");
		for (size_t i = 0; row->columns[i]; i++) {
			struct formatted name = presented_metric_title(view, row->columns[i]);

			format_capital(name.text);
			tree_item_text(head, name.text);
		}
		view_text(table, "note", row->note ? row->note : "");
	}
	if (presented_suite_page_of(suite).limits)
		presented_suite_page_of(suite).limits(view, suite, tables);
}

#define MOST_ON_PAPER 200 /* cases of a suite */

/* "02:57:58.123" */
static void view_cases_add_clock(double seconds, struct text *out)
{
	double milliseconds = fmod(floor(1e3 * seconds), 86400e3);
	unsigned ms = milliseconds >= 0 ? (unsigned)milliseconds : 0;

	text_addf(out, "%02u:%02u:%02u.%03u", ms / 3600000, ms / 60000 % 60, ms / 1000 % 60,
		  ms % 1000);
}

/*
 * Why there is no number; else what a reader must know, and which code ran where there was a
 * choice.
 */
static void view_cases_set_remark(struct tree *row, const struct case_result *c)
{
	struct text remark = TEXT_EMPTY;
	const char *before;

	if (*view_string(c->reason)) {
		view_text(row, "remark", c->reason);
		return;
	}
	text_add(&remark, view_string(c->notes));
	for (size_t i = 0; i < c->path_count; i++)
		text_addf(&remark, "%s%s",
			  i               ? "; "
			  : remark.length ? " Code: "
					  : "Code: ",
			  c->paths[i]);
	/* Samples outside those of the figure. */
	for (size_t i = 0; i < c->series_count; i++)
		if (c->series[i].warmup)
			text_addf(&remark, "%sWarm-up: %zu %s dropped until the level settled.",
				  remark.length ? " " : "", c->series[i].warmup,
				  c->series[i].warmup == 1 ? "sample was" : "samples were");
	/* Time by phase; negligible phases are left out. */
	before = remark.length ? " Time: " : "Time: ";
	for (size_t i = 0; i < c->phase_count; i++) {
		if (!(c->phases[i].seconds >= 0.02 * c->seconds))
			continue;
		text_addf(&remark, "%s%s %s", before, view_string(c->phases[i].name),
			  format_quantity(c->phases[i].seconds, "s").text);
		before = ", ";
	}
	/* Between which times the joules were counted: a power log can be held against them. */
	for (size_t i = 0; i < c->energy_count; i++) {
		text_addf(&remark, " Energy of %s: %s from ", view_string(c->energy[i].name),
			  format_quantity(c->energy[i].joules, "J").text);
		view_cases_add_clock(c->energy[i].began, &remark);
		text_add(&remark, " to ");
		view_cases_add_clock(c->energy[i].ended, &remark);
		text_add(&remark, " UTC.");
	}
	view_text(row, "remark", remark.length ? remark.data : "");
	text_release(&remark);
}

/* "noisy", "failed", ..: what filters of the table look for; "": OK. */
static const char *view_cases_row_kind(const struct case_result *c)
{
	static const char *const kinds[] = { [CASE_OK] = "",
					     [CASE_SKIPPED] = "skipped",
					     [CASE_FAILED] = "failed",
					     [CASE_ERROR] = "error" };

	return c->status == CASE_OK && view_noisy(c) ? "noisy" : kinds[c->status];
}

/* The case's id as the row's: it stays from run to run. "": a text that no address can hold. */
static const char *view_cases_row_link(const struct case_result *c)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789-._~!$()*+,;=:@/";
	const char *id = view_string(c->id);

	return strchr(id, '/') && strspn(id, allowed) == strlen(id) ? id : "";
}

/*
 * Cases that measure the same on one device each, on devices of one model: a row of the table. Of
 * fewer than MERGED_FROM devices, and of cases without a figure, each has a row of its own.
 */
#define MERGED_FROM 3
#define VALUES_MOST 16 /* of devices that a row lists */

struct case_row {
	const struct case_result **cases; /* by value; borrowed */
	size_t count, first;              /* first: place of the earliest in the result */
	char *point;                      /* of several cases */
};

/* The most remarkable of a row's cases: failed or not run, else noisy, else the middle one. */
static const struct case_result *view_cases_row_worst(const struct case_row *r)
{
	for (size_t i = 0; i < r->count; i++)
		if (r->cases[i]->status != CASE_OK || view_noisy(r->cases[i]))
			return r->cases[i];
	return r->cases[(r->count - 1) / 2];
}

/* 0: no figure; 1: a noisy one; 2: a figure. */
static int view_cases_row_rank(const struct case_row *r)
{
	const struct case_result *worst = view_cases_row_worst(r);

	if (worst->status != CASE_OK)
		return 0;
	return view_noisy(worst) ? 1 : 2;
}

static int view_cases_rows_by_value(const void *a, const void *b)
{
	double x = view_headline(*(const struct case_result *const *)a)->value;
	double y = view_headline(*(const struct case_result *const *)b)->value;

	return (x > y) - (x < y);
}

/* "9.578, 9.612, 9.586 µs": in the order of the devices, of many the ends alone. */
static void view_cases_add_values(const struct view *view, const struct case_row *r,
				  struct text *out)
{
	const struct case_result *middle = r->cases[(r->count - 1) / 2];
	const struct metric_value *shown = view_headline(middle);
	const char *unit = presented_case_unit(view, middle, shown);
	struct formatted words;
	double factor;
	size_t listed = 0;

	words = format_unit(shown->value, unit, &factor);
	if (r->count > VALUES_MOST) {
		text_addf(out, "%s to ",
			  format_scaled(view_headline(r->cases[0])->value, factor).text);
		text_addf(out, "%s %s",
			  format_scaled(view_headline(r->cases[r->count - 1])->value, factor).text,
			  words.text);
		return;
	}
	for (size_t s = 0; s < view->source_count; s++)
		for (size_t i = 0; i < r->count; i++)
			if (strcmp(view_string(r->cases[i]->device), view->sources[s].device) == 0)
				text_addf(out, "%s%s", listed++ ? ", " : "",
					  format_scaled(view_headline(r->cases[i])->value, factor)
						  .text);
	text_addf(out, " %s", words.text);
}

/* The largest error of a row's cases. */
static void view_cases_show_check(const struct case_row *r, struct tree *row)
{
	double error = NAN;
	bool done = true;

	for (size_t i = 0; i < r->count; i++) {
		done = done && r->cases[i]->verification.done;
		error = fmax(error, r->cases[i]->verification.error);
	}
	if (!done)
		tree_text(row, "checked", "");
	else if (isfinite(error))
		tree_textf(row, "checked", "error %s", format_scaled(error, 1).text);
	else
		tree_text(row, "checked", "exact");
}

static void view_cases_add_row(const struct view *view, const struct case_row *r, struct tree *rows)
{
	const struct case_result *c = r->cases[(r->count - 1) / 2];
	const struct metric_value *m = view_headline(c);
	struct tree *row = tree_item(rows);
	const struct case_result *worst = view_cases_row_worst(r);
	const char *noise;
	struct text out = TEXT_EMPTY;

	view_text(row, "id", r->point ? r->point : c->id);
	tree_text(row, "link", r->point ? "" : view_cases_row_link(c));
	tree_text(row, "kind", view_cases_row_kind(worst));
	if (r->count > 1) {
		tree_textf(row, "where", "%zu devices", r->count);
		view_cases_add_values(view, r, &out);
	} else {
		tree_text_owned(row, "where", view_all_devices(view, c));
	}
	tree_text(row, "symbol", format_status_symbol(c->status));
	tree_text(row, "word", format_status_word(c->status));
	tree_text(row, "value", m ? presented_value(view, c, m).text : "");
	tree_text(row, "interval", m ? presented_interval(view, c, m).text : "");
	tree_textf(row, "n", m && m->n ? "%zu" : "", m ? m->n : 0);
	/* "time 9.68 µs, memory 402.7 MB": every metric but the one shown. */
	for (size_t i = 0; i < c->metric_count; i++)
		if (&c->metrics[i] != m)
			format_list(
				&out, "%s %s",
				presented_metric_title(view, view_string(c->metrics[i].name)).text,
				presented_value(view, c, &c->metrics[i]).text);
	view_text_owned(row, "others", text_detach(&out));
	noise = "";
	for (size_t i = 0; !*noise && i < worst->series_count; i++)
		if (worst->series[i].statistics.noisy)
			noise = *worst->series[i].statistics.noise
					? worst->series[i].statistics.noise
					: "noisy";
	view_text(row, "noise", noise);
	view_cases_show_check(r, row);
	view_cases_set_remark(row, c);
}

/* The methods of verification, each once. */
static void view_cases_add_methods(const struct view *view, const char *suite, struct tree *map)
{
	struct tree *list = tree_list(map, "methods");

	for (size_t i = 0; i < view->results->case_count; i++) {
		const struct case_result *c = &view->results->cases[i];
		const char *method = view_string(c->verification.method);
		bool known =
			!*method || strcmp(view_string(c->suite), suite) != 0 || list->count == 8;
		char *cut;

		for (size_t k = 0; !known && k < list->count; k++)
			known = strncmp(list->children[k]->text, method, FORMAT_LONGEST) == 0;
		if (known)
			continue;
		cut = format_cut(method, FORMAT_LONGEST);
		tree_item_text(list, cut);
		free(cut);
	}
}

/* True if devices of one model may share the row of this case. */
static bool view_cases_may_share_row(const struct view *view, const struct case_result *c)
{
	const struct metric_value *m = view_headline(c);
	const struct device_info *own = result_device(view->results, view_string(c->device));

	return view->source_count >= MERGED_FROM && c->status == CASE_OK && c->device_count < 2 &&
	       m && isfinite(m->value) && own &&
	       strcmp(own->name, view->results->devices[0].name) == 0;
}

struct case_rows {
	struct case_row *items;
	size_t count;
};

/* The rows of the suite's cases, in the order of their first ones. */
static struct case_rows view_cases_rows_of(const struct view *view, const char *suite)
{
	size_t count = view->results->case_count;
	struct case_rows rows = { xcalloc(count + 1, sizeof(*rows.items)), 0 };
	struct text_index places = { 0 };

	for (size_t i = 0; i < count; i++) {
		const struct case_result *c = &view->results->cases[i];
		struct case_row *row = &rows.items[rows.count];
		char *point;

		if (strcmp(view_string(c->suite), suite) != 0)
			continue;
		point = view_cases_may_share_row(view, c) ? case_point(c) : NULL;
		if (point) {
			size_t *place = text_index_at(&places, point, "");

			if (*place == SIZE_MAX)
				*place = rows.count;
			row = &rows.items[*place];
		}
		/* `places` borrows the point of a row's first case. */
		if (!row->count) {
			rows.count++;
			row->point = point;
		} else {
			free(point);
		}
		row->cases = xrealloc(row->cases, row->count + 1, sizeof(*row->cases));
		row->cases[row->count++] = c;
	}
	text_index_release(&places);
	for (size_t i = 0; i < rows.count; i++)
		if (rows.items[i].point)
			qsort(rows.items[i].cases, rows.items[i].count, sizeof(*rows.items->cases),
			      view_cases_rows_by_value);
	return rows;
}

static void view_cases_rows_release(struct case_rows *rows)
{
	for (size_t i = 0; i < rows->count; i++) {
		free(rows->items[i].cases);
		free(rows->items[i].point);
	}
	free(rows->items);
}

/* Adds rows of this rank (-1: of any) as long as there are fewer than `most`. */
static void view_cases_add_rows(const struct view *view, const struct case_rows *all, int rank,
				size_t most, struct tree *rows)
{
	for (size_t i = 0; i < all->count && rows->count < most; i++)
		if (rank < 0 || view_cases_row_rank(&all->items[i]) == rank)
			view_cases_add_row(view, &all->items[i], rows);
}

/* A page of more cases than this lists the worst of them. */
#define MOST_LISTED 10000
#define WORST_LISTED 1000

void view_cases(const struct view *view, const char *suite, struct tree *map)
{
	struct tree *rows = tree_list(map, "cases");
	struct case_rows all = view_cases_rows_of(view, suite);
	size_t cases = 0, by_rank[3] = { 0 };
	const struct metric_value *shown = NULL;

	for (size_t i = 0; i < all.count; i++) {
		cases += all.items[i].count;
		by_rank[view_cases_row_rank(&all.items[i])]++;
		shown = shown ? shown : view_headline(all.items[i].cases[0]);
	}
	if (all.count <= MOST_LISTED)
		view_cases_add_rows(view, &all, -1, all.count, rows);
	for (int rank = 0; rank < 3 && all.count > MOST_LISTED; rank++)
		view_cases_add_rows(view, &all, rank, WORST_LISTED, rows);
	tree_textf(map, "case_count", "%zu", cases);
	if (all.count == rows->count)
		tree_textf(map, "case_words", cases == 1 ? "The case" : "All %zu cases", cases);
	else
		tree_textf(map, "case_words",
			   "%zu of %zu cases: first those without a figure, then noisy ones; "
			   "gpuproof export csv has all",
			   rows->count, cases);
	tree_flag(map, "merged", all.count < cases);
	tree_flag(map, "not_on_paper", all.count > MOST_ON_PAPER);
	tree_text(map, "metric",
		  shown ? presented_metric_title(view, view_string(shown->name)).text : "value");
	tree_text(map, "better", shown ? format_better(shown->better) : "");
	view_cases_add_methods(view, suite, map);
	/* Filters that work without a script (report.css), where they would leave something. */
	tree_flag(map, "filters", by_rank[1] || by_rank[0]);
	tree_textf(map, "noisy_count", by_rank[1] ? "%zu" : "", by_rank[1]);
	tree_textf(map, "bad_count", by_rank[0] ? "%zu" : "", by_rank[0]);
	view_cases_rows_release(&all);
}
