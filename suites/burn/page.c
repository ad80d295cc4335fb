/* Page of a soak: a sentence, and a table with the dose of each load. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "plan/metrics.h"
#include "plan/plan.h"
#include "reference/spec.h"
#include "report/view/format.h"
#include "report/view/presented.h"
#include "report/view/suite_page.h"
#include "suites/burn/burn.h"

/*
 * Dose of a soak: how rare a defect its verified multiply-adds would have found. N compared
 * multiply-adds find a defect that corrupts a fraction r of them with the probability 1 - exp(-c N
 * r). At 95 % r = 3.0 / (c N), the rule of three (Hanley and Lippman-Hand, JAMA 1983).
 */
#define RULE_OF_THREE 2.995732273554 /* -ln(0.05) */
/*
 * An intermittent defect, whose rate varies exponentially from soak to soak, is found with the
 * probability 1 - 1 / (1 + c N r): 95 % at r = 19 / (c N).
 */
#define COMES_AND_GOES 19.0

/*
 * c: fraction of single-bit errors of an operand, a product or a sum that reach a result stored in
 * FP32 (FP64: FP64, INT8: INT32). Smallest value over the three, for a random step of 8192,
 * simulated for each format.
 */
static const double visible[PRECISION_GEMM_COUNT] = {
	[PRECISION_FP64] = 0.86, [PRECISION_FP32] = 0.70, [PRECISION_TF32] = 0.76,
	[PRECISION_FP16] = 0.75, [PRECISION_BF16] = 0.94, [PRECISION_FP8] = 0.50,
	[PRECISION_INT8] = 1,
};

static const char *page_parameter_text_or_empty(const struct case_result *c, const char *parameter)
{
	const struct case_parameter *p = case_parameter(c, parameter);

	return p && p->text ? p->text : "";
}

static bool page_same_search(const struct case_result *a, const struct case_result *b)
{
	return strcmp(a->suite, b->suite) == 0 && strcmp(a->label, b->label) == 0 &&
	       strcmp(a->device, b->device) == 0 &&
	       strcmp(page_parameter_text_or_empty(a, "load"),
		      page_parameter_text_or_empty(b, "load")) == 0;
}

/* True if `c` is a slice of the same search, up to `now`. */
static bool page_dose_is_same_search(const struct case_result *c, const struct case_result *now)
{
	return page_same_search(c, now) && strcmp(page_parameter_text_or_empty(c, "slice"),
						  page_parameter_text_or_empty(now, "slice")) <= 0;
}

/* True if the case found wrong words or injected some. */
static bool page_dose_is_wrong(const struct case_result *c)
{
	const struct metric_value *wrong = case_metric(c, "burn.wrong");

	return c->status == CASE_FAILED || case_metric(c, "burn.injected") ||
	       (wrong && wrong->value > 0);
}

/*
 * Sums a count over all slices of the search up to `now`. 0: no slices, or wrong words in one; NaN:
 * a slice lacks the count.
 */
static double page_dose_searched_before(const struct result *all, const struct case_result *now,
					const char *count)
{
	double sum = 0;

	for (size_t i = 0; i < all->case_count; i++) {
		const struct case_result *c = &all->cases[i];
		const struct metric_value *m = case_metric(c, count);

		if (!page_dose_is_same_search(c, now))
			continue;
		if (page_dose_is_wrong(c))
			return 0;
		if (c->status == CASE_OK)
			sum += m ? m->value : (double)NAN;
	}
	return sum;
}

/* Formats a count for a note: "1.9 x 10^15". */
static const char *page_power_of_ten(double value, char *out, size_t size)
{
	int exponent = (int)floor(log10(value));

	snprintf(out, size, "%.1f x 10^%d", value / pow(10, exponent), exponent);
	return out;
}

void burn_page_state_dose(struct run *run, enum precision precision, const struct result *all)
{
	double multiply_adds = page_dose_searched_before(all, run->result, "burn.multiply_adds"),
	       hot = page_dose_searched_before(all, run->result, "burn.hot_multiply_adds");
	double seen = visible[precision] * multiply_adds;
	char done[32], steady[32], coming[32];

	if (!(multiply_adds > 0))
		return;
	run_value(run, "burn.detectable_rate", RULE_OF_THREE / seen);
	run_note(run,
		 "Up to this slice, each device did at least %s multiply-adds in %s. Every result "
		 "was compared, and none was wrong. A defect that corrupts one in %s multiply-adds "
		 "would have been found with a probability of 95 %%. Defects that are rarer, or "
		 "intermittent and rarer than one in %s, are possible.",
		 page_power_of_ten(multiply_adds, done, sizeof(done)), precision_name(precision),
		 page_power_of_ten(seen / RULE_OF_THREE, steady, sizeof(steady)),
		 page_power_of_ten(seen / COMES_AND_GOES, coming, sizeof(coming)));
	if (hot > 0)
		run_note(run,
			 "At %d °C or more, a defect that corrupts one in %s multiply-adds would "
			 "have been found with a probability of 95 %%.",
			 BURN_HOT_CELSIUS,
			 page_power_of_ten(visible[precision] * hot / RULE_OF_THREE, done,
					   sizeof(done)));
	else
		run_note(run, "No GEMM was tested at %d °C or more%s.", BURN_HOT_CELSIUS,
			 isnan(hot) ? ", or the temperature is unknown" : "");
}

/* True if the result has no later slice of the same search. */
static bool page_is_latest(const struct result *all, const struct case_result *c)
{
	for (size_t i = 0; i < all->case_count; i++) {
		const struct case_result *other = &all->cases[i];

		if (other != c && case_metric(other, "burn.detectable_rate") &&
		    page_dose_is_same_search(c, other))
			return false;
	}
	return true;
}

struct burn_dose burn_page_dose_of(const struct result *all, const struct case_result *c)
{
	const struct metric_value *rate = NULL;
	const struct case_result *latest = c;
	struct burn_dose dose = { 0 };

	for (size_t i = 0; i < all->case_count; i++) {
		const struct case_result *other = &all->cases[i];

		if (page_same_search(other, c) && case_metric(other, "burn.detectable_rate") &&
		    page_is_latest(all, other))
			latest = other;
	}
	rate = case_metric(latest, "burn.detectable_rate");
	dose.multiply_adds = page_dose_searched_before(all, latest, "burn.multiply_adds");
	if (!rate || !(rate->value > 0) || !(dose.multiply_adds > 0))
		return (struct burn_dose){ 0 };
	dose.one_in = 1 / rate->value;
	dose.one_in_bursts = dose.one_in * RULE_OF_THREE / COMES_AND_GOES;
	dose.one_in_hot = dose.one_in / dose.multiply_adds *
			  page_dose_searched_before(all, latest, "burn.hot_multiply_adds");
	return dose;
}

/* "1.9×10¹⁵"; a dash if unknown. */
static struct formatted burn_page_count(double value)
{
	return value > 0 && isfinite(value) ? format_scientific(value) : format_text("–");
}

/* Appends " 1.9×10¹⁵ (bf16)," for each load with a known dose; sums the multiply-adds. */
static void page_dose_add_loads(const struct result *all, struct text *loads, double *multiply_adds)
{
	for (size_t i = 0; i < all->case_count; i++) {
		const struct case_result *c = &all->cases[i];
		const struct metric_value *done = case_metric(c, "burn.multiply_adds"),
					  *rate = case_metric(c, "burn.detectable_rate");

		if (done && c->status == CASE_OK)
			*multiply_adds += done->value;
		if (!rate || !(rate->value > 0) || !page_is_latest(all, c))
			continue;
		text_addf(loads, "%s %s (%s)", loads->length ? "," : "",
			  burn_page_count(1 / rate->value).text,
			  page_parameter_text_or_empty(c, "load"));
	}
}

char *burn_page_statement(const struct result *all)
{
	struct text loads = TEXT_EMPTY, out = TEXT_EMPTY;
	double multiply_adds = 0;
	bool clean = true;

	page_dose_add_loads(all, &loads, &multiply_adds);
	for (size_t i = 0; i < all->case_count; i++)
		clean &= !page_dose_is_wrong(&all->cases[i]);
	if (loads.length && clean)
		text_addf(&out,
			  "Soak: all results of %s multiply-adds per device were compared, and "
			  "none was wrong. A defect that corrupts one multiply-add in%s would have "
			  "been found with a probability of 95 %%. Rarer or intermittent "
			  "defects are possible.",
			  burn_page_count(multiply_adds).text, loads.data);
	text_release(&loads);
	return out.length ? text_detach(&out) : NULL;
}

/* Sums a metric over the slices of the load of `c` in one run; 0 if no slice has it. */
static double page_sum(const struct result *run, const struct case_result *c, const char *metric)
{
	double sum = 0;

	for (size_t i = 0; i < run->case_count; i++) {
		const struct metric_value *m = case_metric(&run->cases[i], metric);

		if (m && page_same_search(&run->cases[i], c))
			sum += m->value;
	}
	return sum;
}

/* False for a slice that ended before it compared anything. */
static bool page_compared(const struct case_result *c)
{
	return case_metric(c, "burn.multiply_adds") || case_metric(c, "burn.wrong");
}

/* "671 TFLOP/s, 68 %"; without the share where the data sheet has no such value. */
static char *page_rate(const struct view *view, const struct result *run,
		       const struct case_result *c)
{
	const struct case_result *slowest = NULL;
	const struct metric_value *m = NULL;
	const struct device_info *device;
	struct formatted rate;
	struct spec_peak peak;

	/* The slice in which the load's rate was lowest. */
	for (size_t i = 0; i < run->case_count; i++) {
		const struct metric_value *own = view_headline(&run->cases[i]);

		if (run->cases[i].status == CASE_OK && own && own->headline &&
		    isfinite(own->value) && page_same_search(&run->cases[i], c) &&
		    (!m || own->value < m->value)) {
			slowest = &run->cases[i];
			m = own;
		}
	}
	device = slowest ? result_device(run, slowest->device) : NULL;
	if (!m)
		return xstrdup("not measured");
	rate = format_rounded(m->value, presented_case_unit(view, slowest, m));
	if (!device || device_is_host(device) ||
	    !spec_peak(schema_metric_sheet(m->name), slowest, m->name, device, &peak))
		return xstrdup(rate.text);
	return xasprintf("%s, %.0f %%", rate.text, 100 * m->value / peak.most);
}

/* Cells of a self-test's row: injected, found, and wrong words beyond those. */
static void page_add_injected(const struct result *run, const struct case_result *c,
			      struct tree *cells)
{
	double injected = 0, found = 0, wrong = page_sum(run, c, "burn.wrong");
	char text[FORMAT_SIZE];

	for (size_t i = 0; i < run->case_count; i++) {
		const struct metric_value *all = case_metric(&run->cases[i], "burn.injected"),
					  *part = case_metric(&run->cases[i], "burn.found");

		if (!all || !page_same_search(&run->cases[i], c))
			continue;
		injected += all->value;
		found += part ? part->value * all->value : 0;
	}
	snprintf(text, sizeof(text), "%.0f", injected);
	tree_item_text(cells, text);
	snprintf(text, sizeof(text), "%.0f", found);
	tree_item_text(cells, text);
	snprintf(text, sizeof(text), "%.0f", fmax(wrong - found, 0));
	tree_item_text(cells, text);
}

/* Cells of a soak's row: wrong words, rate and dose. */
static void page_add_dose(const struct view *view, const struct result *run,
			  const struct case_result *c, const struct burn_dose *dose,
			  struct tree *cells)
{
	char text[FORMAT_SIZE], *rate = page_rate(view, run, c);

	snprintf(text, sizeof(text), "%.0f", page_sum(run, c, "burn.wrong"));
	tree_item_text(cells, text);
	tree_item_text(cells, rate);
	tree_item_text(cells, burn_page_count(dose->one_in).text);
	tree_item_text(cells, burn_page_count(dose->one_in_bursts).text);
	tree_item_text(cells, dose->multiply_adds > 0 && !(dose->one_in_hot > 0)
				      ? "not tested"
				      : burn_page_count(dose->one_in_hot).text);
	free(rate);
}

static void page_add_row(const struct view *view, const struct result *run,
			 const struct case_result *c, bool selftest, struct tree *rows)
{
	const struct case_parameter *load = case_parameter(c, "load");
	struct burn_dose dose = burn_page_dose_of(run, c);
	struct tree *row = tree_item(rows), *cells = tree_list(row, "cells");
	double verified = page_sum(run, c, "burn.verified");

	tree_text(row, "name", presented_parameter(view, c->suite, load).text);
	if (dose.multiply_adds > 0)
		tree_textf(row, "where", "%s multiply-adds",
			   burn_page_count(dose.multiply_adds).text);
	else if (verified > 0)
		tree_text(row, "where", format_quantity(verified, "B").text);
	else
		tree_text(row, "where", "nothing");
	tree_text(row, "interval", "");
	if (selftest)
		page_add_injected(run, c, cells);
	else
		page_add_dose(view, run, c, &dose, cells);
}

static struct tree *page_add_table(const struct view *view, size_t run, bool selftest,
				   struct tree *tables)
{
	static const char *const of_soak[] = { "Wrong",
					       "Rate, share of data sheet",
					       "Steady defect: 1 in",
					       "Intermittent: 1 in",
					       "Only when hot: 1 in",
					       NULL };
	static const char *const of_selftest[] = { "Injected", "Found", "Others wrong", NULL };
	struct tree *table = tree_item(tables), *head;

	tree_textf(table, "title", "%s%s%s",
		   selftest ? "Injected errors that this self-test found"
			    : "Defects that this soak would have found",
		   view->count > 1 ? ", " : "", view->count > 1 ? view_run_name(view, run) : "");
	tree_text(table, "first", "Load");
	tree_text(table, "second", "Compared");
	if (selftest)
		tree_text(table, "note",
			  "Bytes count over all devices. Found: at the address where the error was "
			  "injected.");
	else
		tree_textf(table, "note",
			   "A defect that corrupts at least one multiply-add in the given number "
			   "would have been found with a probability of 95 %%. Only when hot: "
			   "GEMMs that ran "
			   "at %d °C or more. Multiply-adds count per device, bytes "
			   "over all devices. Rates are those of the slowest device while every "
			   "result is compared. Data sheets have no rate for single "
			   "multiprocessors, nor "
			   "for links under load.",
			   BURN_HOT_CELSIUS);
	head = tree_list(table, "head");
	for (const char *const *title = selftest ? of_selftest : of_soak; *title; title++)
		tree_item_text(head, *title);
	return tree_list(table, "rows");
}

static void page_show_dose(const struct view *view, const char *suite, struct tree *answers,
			   struct tree *tables, struct text *terms)
{
	(void)terms;
	for (size_t r = 0; r < view->count; r++) {
		const struct result *run = &view->results[r];
		char *words = burn_page_statement(run);
		struct tree *rows = NULL;
		double injected;
		bool selftest = view_is_selftest(run, &injected);

		if (words)
			tree_item_text(answers, words);
		free(words);
		for (size_t i = 0; i < run->case_count; i++) {
			const struct case_result *c = &run->cases[i];

			bool shown = false;

			/* All slices of a load share one row, at the position of the first. */
			for (size_t k = 0; k < i; k++)
				shown |= page_same_search(&run->cases[k], c) &&
					 page_compared(&run->cases[k]);
			if (strcmp(c->suite, suite) != 0 || !page_compared(c) || shown)
				continue;
			if (!rows)
				rows = page_add_table(view, r, selftest, tables);
			page_add_row(view, run, c, selftest, rows);
		}
	}
}

/* "6.0×10¹² multiply-adds compared, none wrong"; nothing where that is not so. */
static void page_add_title(const struct view *view, const char *suite, struct text *out)
{
	double multiply_adds = 0;
	struct text loads = TEXT_EMPTY;
	char *statement = burn_page_statement(view->results);

	(void)suite;
	page_dose_add_loads(view->results, &loads, &multiply_adds);
	if (statement)
		text_addf(out, "%s multiply-adds compared, none wrong",
			  burn_page_count(multiply_adds).text);
	text_release(&loads);
	free(statement);
}

static const char *const tabled[] = { "burn.throughput", "burn.bandwidth", "burn.traffic",
				      "burn.signatures", NULL };

const struct suite_page burn_page = {
	.tabled = tabled, .charts_lead = true, .title = page_add_title, .answer = page_show_dose
};
