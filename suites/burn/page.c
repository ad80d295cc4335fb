/* Page of a soak: a sentence, and a table with the dose of each load (dose.c). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "report/view/format.h"
#include "report/view/presented.h"
#include "report/view/suite_page.h"
#include "suites/burn/burn.h"

/* Formats "1.9 × 10¹⁵"; a dash if unknown. */
static const char *burn_page_count(double value, char *out, size_t size)
{
	static const char *const raised[] = {
		"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹",
	};
	int exponent = value >= 1 ? (int)floor(log10(value)) : 0;

	if (!(value > 0) || isinf(value))
		return "–";
	snprintf(out, size, "%.1f × 10%s%s", value / pow(10, exponent),
		 exponent >= 10 ? raised[exponent / 10 % 10] : "", raised[exponent % 10]);
	return out;
}

/* Sums a metric over the slices of the load of `c` in one run; 0 if no slice has it. */
static double burn_page_sum(const struct result *run, const struct case_result *c,
			    const char *metric)
{
	double sum = 0;

	for (size_t i = 0; i < run->case_count; i++) {
		const struct metric_value *m = case_metric(&run->cases[i], metric);

		if (m && burn_same_search(&run->cases[i], c))
			sum += m->value;
	}
	return sum;
}

/* False for a slice that ended before it compared anything. */
static bool burn_page_compared(const struct case_result *c)
{
	return case_metric(c, "burn.multiply_adds") || case_metric(c, "burn.wrong");
}

/* All slices of a load share one row, at the position of the first. */
static bool burn_page_first_slice(const struct result *run, const struct case_result *c)
{
	for (size_t i = 0; &run->cases[i] != c; i++)
		if (burn_same_search(&run->cases[i], c) && burn_page_compared(&run->cases[i]))
			return false;
	return true;
}

static void burn_page_add_row(const struct view *view, const struct result *run,
			      const struct case_result *c, struct tree *rows)
{
	const struct case_parameter *load = case_parameter(c, "load");
	struct burn_dose dose = burn_dose_of(run, c);
	struct tree *row = tree_item(rows), *cells = tree_list(row, "cells");
	double verified = burn_page_sum(run, c, "burn.verified");
	char text[FORMAT_SIZE];

	tree_text(row, "name", view_parameter(view, c->suite, load).text);
	if (dose.multiply_adds > 0)
		tree_textf(row, "where", "%s multiply-adds",
			   burn_page_count(dose.multiply_adds, text, sizeof(text)));
	else if (verified > 0)
		tree_text(row, "where", format_quantity(verified, "B").text);
	else
		tree_text(row, "where", "nothing");
	tree_text(row, "interval", "");
	tree_item_text(cells, burn_page_count(dose.one_in, text, sizeof(text)));
	tree_item_text(cells, burn_page_count(dose.one_in_bursts, text, sizeof(text)));
	tree_item_text(cells, dose.multiply_adds > 0 && !(dose.one_in_hot > 0)
				      ? "not tested"
				      : burn_page_count(dose.one_in_hot, text, sizeof(text)));
	snprintf(text, sizeof(text), "%.0f", burn_page_sum(run, c, "burn.wrong"));
	tree_item_text(cells, text);
}

static struct tree *burn_page_add_table(const struct view *view, size_t run, struct tree *tables)
{
	struct tree *table = tree_item(tables), *head;

	tree_textf(table, "title", "Defects that this soak would have found%s%s",
		   view->count > 1 ? ", " : "", view->count > 1 ? view_run_name(view, run) : "");
	tree_text(table, "first", "Load");
	tree_text(table, "second", "Compared");
	tree_textf(table, "note",
		   "A defect that corrupts at least one multiply-add in the given number would "
		   "have been found with a probability of 95 %%. Only when hot: GEMMs that ran at "
		   "%d °C and more. Multiply-adds count per device, bytes over all devices.",
		   BURN_HOT_CELSIUS);
	head = tree_list(table, "head");
	tree_item_text(head, "Steady defect: 1 in");
	tree_item_text(head, "Intermittent: 1 in");
	tree_item_text(head, "Only when hot: 1 in");
	tree_item_text(head, "Wrong");
	return tree_list(table, "rows");
}

static void burn_show_dose(const struct view *view, const char *suite, struct tree *answers,
			   struct tree *tables, struct text *terms)
{
	(void)terms;
	for (size_t r = 0; r < view->count; r++) {
		const struct result *run = &view->results[r];
		char *words = burn_statement(run);
		struct tree *rows = NULL;

		if (words)
			tree_item_text(answers, words);
		free(words);
		for (size_t i = 0; i < run->case_count; i++) {
			const struct case_result *c = &run->cases[i];

			if (strcmp(c->suite, suite) != 0 || !burn_page_compared(c) ||
			    !burn_page_first_slice(run, c))
				continue;
			if (!rows)
				rows = burn_page_add_table(view, r, tables);
			burn_page_add_row(view, run, c, rows);
		}
	}
}

const struct suite_page burn_page = { .answer = burn_show_dose };
