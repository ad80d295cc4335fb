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
static char *table_case_name(const struct view *view, const struct case_result *c,
			     const char *const *without)
{
	char *parameters = view_named_parameters(view, c, without);
	const char *section = view_section(c);
	char *name = xasprintf("%s%s%s", section, *section ? ": " : "", parameters);

	free(parameters);
	return name;
}

static void tables_add_row(const struct view *view, const struct case_result *c,
			   const struct table_row *table, struct tree *rows)
{
	char *name = table_case_name(view, c, table->without);
	struct tree *row = tree_item(rows), *cells = tree_list(row, "cells");

	view_text(row, "name", name);
	tree_text_owned(row, "where", view_devices(view, c));
	tree_text(row, "interval", "");
	for (size_t i = 0; table->columns[i]; i++) {
		const struct metric_value *m = case_metric(c, table->columns[i]);

		tree_item_text(cells, view_value(view, c, m).text);
	}
	free(name);
}

void view_tables(const struct view *view, const char *suite, struct tree *map)
{
	const struct presentation p = view_presentation(view, suite);
	struct tree *tables = tree_list(map, "tables");

	for (const struct table_row *row = p.tables; row && row->title; row++) {
		struct tree *table = tree_new(TREE_MAP), *head, *rows = tree_list(table, "rows");

		for (size_t i = 0; i < view->results->case_count; i++)
			if (strcmp(view_string(view->results->cases[i].suite), suite) == 0 &&
			    row->columns[0] &&
			    case_metric(&view->results->cases[i], row->columns[0]))
				tables_add_row(view, &view->results->cases[i], row, rows);
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
			struct formatted name = view_metric_title(view, row->columns[i]);

			format_capital(name.text);
			tree_item_text(head, name.text);
		}
		view_text(table, "note", row->note ? row->note : "");
	}
	if (suite_page_of(suite).limits)
		suite_page_of(suite).limits(view, suite, tables);
}

#define MOST_ON_PAPER 200 /* cases of a suite */

/* "02:57:58.123" */
static void cases_add_clock(double seconds, struct text *out)
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
static void set_remark(struct tree *row, const struct case_result *c)
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
		cases_add_clock(c->energy[i].began, &remark);
		text_add(&remark, " to ");
		cases_add_clock(c->energy[i].ended, &remark);
		text_add(&remark, " UTC.");
	}
	view_text(row, "remark", remark.length ? remark.data : "");
	text_release(&remark);
}

/* "noisy", "failed", ..: what filters of the table look for; "": OK. */
static const char *case_row_kind(const struct case_result *c)
{
	static const char *const kinds[] = { [CASE_OK] = "",
					     [CASE_SKIPPED] = "skipped",
					     [CASE_FAILED] = "failed",
					     [CASE_ERROR] = "error" };

	return c->status == CASE_OK && view_noisy(c) ? "noisy" : kinds[c->status];
}

/* The case's id as the row's: it stays from run to run. "": a text that no address can hold. */
static const char *cases_row_link(const struct case_result *c)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789-._~!$()*+,;=:@/";
	const char *id = view_string(c->id);

	return strchr(id, '/') && strspn(id, allowed) == strlen(id) ? id : "";
}

static void cases_add_row(const struct view *view, const struct case_result *c, struct tree *rows)
{
	const struct metric_value *m = view_headline(c);
	struct tree *row = tree_item(rows);
	const char *noise;
	struct text out = TEXT_EMPTY;

	view_text(row, "id", c->id);
	tree_text(row, "link", cases_row_link(c));
	tree_text(row, "kind", case_row_kind(c));
	tree_text_owned(row, "where", view_devices(view, c));
	tree_text(row, "symbol", format_status_symbol(c->status));
	tree_text(row, "word", format_status_word(c->status));
	tree_text(row, "value", m ? view_value(view, c, m).text : "");
	tree_text(row, "interval", m ? view_interval(view, c, m).text : "");
	tree_textf(row, "n", m && m->n ? "%zu" : "", m ? m->n : 0);
	/* "time 9.68 µs, memory 402.7 MB": every metric but the one shown. */
	for (size_t i = 0; i < c->metric_count; i++)
		if (&c->metrics[i] != m)
			format_list(&out, "%s %s",
				    view_metric_title(view, view_string(c->metrics[i].name)).text,
				    view_value(view, c, &c->metrics[i]).text);
	view_text_owned(row, "others", text_detach(&out));
	noise = "";
	for (size_t i = 0; !*noise && i < c->series_count; i++)
		if (c->series[i].statistics.noisy)
			noise = *c->series[i].statistics.noise ? c->series[i].statistics.noise
							       : "noisy";
	view_text(row, "noise", noise);
	if (!c->verification.done)
		tree_text(row, "checked", "");
	else if (isfinite(c->verification.error))
		tree_textf(row, "checked", "error %s",
			   format_scaled(c->verification.error, 1).text);
	else
		tree_text(row, "checked", "exact");
	set_remark(row, c);
}

/* The methods of verification, each once. */
static void add_methods(const struct view *view, const char *suite, struct tree *map)
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

/* 0: no figure; 1: a noisy one; 2: a figure. */
static int cases_rank_of_row(const struct case_result *c)
{
	if (c->status != CASE_OK)
		return 0;
	return view_noisy(c) ? 1 : 2;
}

/* Adds rows of this rank (-1: of any) as long as there are fewer than `most`. */
static void cases_add_rows(const struct view *view, const char *suite, int rank, size_t most,
			   struct tree *rows)
{
	for (size_t i = 0; i < view->results->case_count && rows->count < most; i++) {
		const struct case_result *c = &view->results->cases[i];

		if (strcmp(view_string(c->suite), suite) == 0 &&
		    (rank < 0 || cases_rank_of_row(c) == rank))
			cases_add_row(view, c, rows);
	}
}

struct case_counts {
	size_t all, by_rank[3];
	const struct metric_value *shown; /* NULL: no case has a figure */
};

static struct case_counts cases_count(const struct view *view, const char *suite)
{
	struct case_counts counts = { 0 };

	for (size_t i = 0; i < view->results->case_count; i++) {
		const struct case_result *c = &view->results->cases[i];

		if (strcmp(view_string(c->suite), suite) != 0)
			continue;
		counts.shown = counts.shown ? counts.shown : view_headline(c);
		counts.by_rank[cases_rank_of_row(c)]++;
		counts.all++;
	}
	return counts;
}

/* A page of more cases than this lists the worst of them. */
#define MOST_LISTED 10000
#define WORST_LISTED 1000

void view_cases(const struct view *view, const char *suite, struct tree *map)
{
	struct case_counts counts = cases_count(view, suite);
	struct tree *rows = tree_list(map, "cases");

	if (counts.all <= MOST_LISTED)
		cases_add_rows(view, suite, -1, counts.all, rows);
	for (int rank = 0; rank < 3 && counts.all > MOST_LISTED; rank++)
		cases_add_rows(view, suite, rank, WORST_LISTED, rows);
	tree_textf(map, "case_count", "%zu", counts.all);
	if (counts.all == rows->count)
		tree_textf(map, "case_words", counts.all == 1 ? "The case" : "All %zu cases",
			   counts.all);
	else
		tree_textf(map, "case_words",
			   "%zu of %zu cases, cases without a figure first, then noisy ones "
			   "(gpuproof export csv has all)",
			   rows->count, counts.all);
	tree_flag(map, "not_on_paper", counts.all > MOST_ON_PAPER);
	tree_text(map, "metric",
		  counts.shown ? view_metric_title(view, view_string(counts.shown->name)).text
			       : "value");
	tree_text(map, "better", counts.shown ? format_better(counts.shown->better) : "");
	add_methods(view, suite, map);
	/* Filters that work without a script (report.css), where they would leave something. */
	tree_flag(map, "filters", counts.by_rank[1] || counts.by_rank[0]);
	tree_textf(map, "noisy_count", counts.by_rank[1] ? "%zu" : "", counts.by_rank[1]);
	tree_textf(map, "bad_count", counts.by_rank[0] ? "%zu" : "", counts.by_rank[0]);
}
