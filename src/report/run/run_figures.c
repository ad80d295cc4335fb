/*
 * How much of the data sheet a run got: a row for each quantity, and in it a dot for each device at
 * its share, with the interval as a line.
 */
#include "report/run/run_figures.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "reference/gpu.h"
#include "report/chart/chart.h"
#include "report/view/presented.h"
#include "report/view/suite_page.h"
#include "result/verdict.h"

/* px of a position from 0 to 1 in a row of dots. */
static double run_figures_dots_at(double position)
{
	return DOTS_EDGE + DOTS_WIDTH * fmax(0, fmin(position, 1));
}

/*
 * The figures of a run that no data sheet bounds, in a table for each metric: of several devices
 * the middle one, and a dot for each.
 */

#define MOST_ROWS 6   /* of a metric: the rest is in the suite's fold */
#define FAR_AWAY 0.05 /* of the middle: such a device is named */

/* Replaces a figure whose level still changed, which a reader would take for the device's. */
#define UNSETTLED "not settled"

struct plain {
	struct tree *list;
	const struct view *view;
	size_t number; /* of the suite, from 1 */
};

/* A row's figure on each device that has one, sorted by value. */
struct plain_spread {
	const struct selected_case **items;
	size_t count;
};

static struct plain_spread
run_figures_plain_spread_of(const struct headline *h, const struct headline_row *row, size_t figure)
{
	size_t sources = h->selection.view->source_count;
	struct plain_spread out = { xcalloc(sources + 1, sizeof(*out.items)), 0 };

	for (size_t s = 0; s < sources; s++) {
		const struct headline_group *group = row->cells[s].group;
		const struct selected_case *one = group ? group->figures[figure] : NULL;

		if (one && isfinite(one->m->value) && !case_is_unsettled(one->c, one->m))
			out.items[out.count++] = one;
	}
	qsort(out.items, out.count, sizeof(*out.items), headline_by_value);
	return out;
}

/* The worse of the two in the middle of an even number. */
static const struct selected_case *run_figures_middle_case(const struct headline *h,
							   const struct plain_spread *spread)
{
	return spread
		->items[h->better == BETTER_LOWER ? spread->count / 2 : (spread->count - 1) / 2];
}

/* "cuda:5 is 12 % worse"; "" where none is far from the middle one. */
static char *run_figures_plain_outlier_of(const struct headline *h,
					  const struct plain_spread *spread)
{
	double middle = run_figures_middle_case(h, spread)->m->value;
	const struct selected_case *worst =
		spread->items[h->better == BETTER_LOWER ? spread->count - 1 : 0];
	double away = fabs(worst->m->value - middle) / middle;

	if (spread->count < 3 || h->better == BETTER_NONE || !(middle > 0) || away < FAR_AWAY)
		return xstrdup("");
	return xasprintf("%s is %.0f %% worse", h->selection.view->sources[worst->source].label,
			 100 * away);
}

/* "68 % of the data sheet" for a figure that is no quantity of its own, as under a soak's load. */
static char *run_figures_plain_share_of(const struct headline *h,
					const struct selected_case *selected)
{
	struct headline_peak peak;

	return headline_peak(h, selected, &peak)
		       ? xasprintf("%.0f\u00a0%% of the data sheet", 100 * peak.share)
		       : xstrdup("");
}

/* The largest deviation of a device from the middle one, as a fraction of that; 0: one device. */
static double run_figures_plain_reach_of(const struct headline *h,
					 const struct plain_spread *spread)
{
	double middle = spread->count > 1 ? run_figures_middle_case(h, spread)->m->value : 0;

	if (!(middle > 0))
		return 0;
	return fmax(1 - spread->items[0]->m->value / middle,
		    spread->items[spread->count - 1]->m->value / middle - 1);
}

/* The end of the axis that a table's strips share: 2, 5, 10, 20 % ... */
static double run_figures_plain_axis_end(double reach)
{
	static const double steps[] = { 2, 5, 10 };
	double end = 0.01;

	for (size_t i = 0; end < reach || !i; i++)
		end = steps[i % 3] * pow(10, (double)(i / 3)) / 100;
	return end;
}

/* A dot for each device, at its deviation from the middle one. */
static char *run_figures_plain_dots_of(const struct headline *h, const struct plain_spread *spread,
				       double end)
{
	double middle = run_figures_middle_case(h, spread)->m->value;
	struct text dots = TEXT_EMPTY;

	for (size_t i = 0; run_figures_plain_reach_of(h, spread) > 0 && i < spread->count; i++) {
		double away = spread->items[i]->m->value / middle - 1;

		text_addf(&dots, "M%.0f 9h0", run_figures_dots_at(0.5 + away / end / 2));
	}
	return text_detach(&dots);
}

static void run_plain_add_figure(const struct headline *h, const struct headline_row *row,
				 size_t index, double end, struct tree *figures)
{
	struct plain_spread spread = run_figures_plain_spread_of(h, row, index);
	const struct selected_case *middle =
		spread.count ? run_figures_middle_case(h, &spread) : NULL;

	if (middle) {
		struct tree *figure = tree_item(figures);
		const struct case_parameter *x =
			h->axis ? case_parameter(middle->c, h->axis) : NULL;

		tree_text(figure, "value",
			  presented_value(h->selection.view, middle->c, middle->m).text);
		tree_text_owned(figure, "share", run_figures_plain_share_of(h, middle));
		tree_text(figure, "interval",
			  presented_interval(h->selection.view, middle->c, middle->m).text);
		/* The place on the axis: "64 MiB". */
		tree_text(figure, "at",
			  x ? presented_parameter(h->selection.view, middle->c->suite, x).text
			    : "");
		tree_text_owned(figure, "dots", run_figures_plain_dots_of(h, &spread, end));
		tree_text_owned(figure, "outlier", run_figures_plain_outlier_of(h, &spread));
	}
	free(spread.items);
}

/* True if a data sheet bounds the row's figure on any device. */
static bool run_figures_plain_has_sheet(const struct headline *h, const struct headline_row *row)
{
	struct headline_peak peak;

	for (size_t s = 0; s < h->selection.view->source_count; s++)
		if (row->cells[s].group &&
		    headline_peak(h, row->cells[s].group->figures[0], &peak) && peak.quantity)
			return true;
	return false;
}

/* The axis of the strips of a table: "has_axis" and its ends. */
static double run_figures_plain_set_axis(const struct headline *h, struct tree *table)
{
	double reach = 0, end;

	for (size_t i = 0; i < h->count; i++)
		for (size_t f = 0;
		     f < HEADLINE_FIGURES && !run_figures_plain_has_sheet(h, &h->rows[i]); f++) {
			struct plain_spread spread = run_figures_plain_spread_of(h, &h->rows[i], f);

			reach = fmax(reach, run_figures_plain_reach_of(h, &spread));
			free(spread.items);
		}
	end = run_figures_plain_axis_end(reach);
	tree_flag(table, "has_axis", reach > 0);
	tree_textf(table, "axis_end", "%.0f", 100 * end);
	return end;
}

static void run_figures_plain_add_row(const struct headline *h, const struct headline_row *row,
				      double end, struct tree *rows)
{
	struct tree *map = tree_item(rows), *figures = tree_list(map, "figures");
	size_t failed = 0;

	for (size_t s = 0; s < h->selection.view->source_count; s++)
		failed += row->cells[s].failed;
	view_text(map, "label", row->label);
	for (size_t f = 0; f < HEADLINE_FIGURES; f++)
		run_plain_add_figure(h, row, f, end, figures);
	/* The first of several figures has the label. */
	for (size_t f = 0; f < figures->count; f++)
		tree_textf(figures->children[f], "span", f ? "" : "%zu", figures->count);
	tree_text(map, "absent", figures->count ? "" : UNSETTLED);
	tree_textf(map, "failed", failed ? "%zu %s failed" : "", failed, format_cases(failed));
}

static void run_figures_plain_add_metric(void *user, const char *suite, const struct headline *h)
{
	struct plain *p = user;
	size_t count = 0;
	struct tree *table, *rows;
	double end;

	/* A part of one mostly describes the measurement, not the machine. */
	if (strcmp(view_string(h->selection.items[0].m->unit), "1") == 0)
		return;
	for (size_t i = 0; i < h->count; i++)
		count += !run_figures_plain_has_sheet(h, &h->rows[i]);
	if (!count)
		return;
	table = tree_item(p->list);
	view_text(table, "suite", suite);
	tree_textf(table, "suite_id", "suite-%zu", p->number);
	tree_text(table, "metric",
		  presented_metric_title(p->view, h->selection.items[0].m->name).text);
	tree_text(table, "better", format_better(h->better));
	view_text(table, "common", h->common);
	end = run_figures_plain_set_axis(h, table);
	rows = tree_list(table, "rows");
	for (size_t i = 0; i < h->count && rows->count < MOST_ROWS; i++)
		if (!run_figures_plain_has_sheet(h, &h->rows[i]))
			run_figures_plain_add_row(h, &h->rows[i], end, rows);
	tree_textf(table, "more", count > rows->count ? "%zu more" : "", count - rows->count);
}

void run_plain_figures(const struct view *view, const bool *without, struct tree *page)
{
	struct plain p = { .list = tree_list(page, "plain"), .view = view };

	for (size_t i = 0; i < view->suite_count; i++) {
		p.number = i + 1;
		if (!without[i])
			headline_each(view, view->suites[i], run_figures_plain_add_metric, &p);
	}
}

/* The title of a run's page: its finding. */

#define TITLE_LONGEST 160
#define TITLE_FIGURES 2

static bool run_figures_devices_are_identical(const struct result *r)
{
	for (size_t i = 1; i < r->device_count; i++)
		if (strcmp(r->devices[i].name, r->devices[0].name) != 0)
			return false;
	return true;
}

/* ": cuda:5 is 15 % slower than the other 7 in FP32 GEMM"; false: no device stands out. */
static bool run_figures_title_add_outlier(struct text *out, const struct view *view,
					  const struct headline_shares *shares)
{
	struct headline_outlier most = { 0 }, one;

	for (size_t i = 0;
	     run_figures_devices_are_identical(view->results) && i < shares->quantity_count; i++)
		if (headline_shares_outlier(shares, view, &shares->quantities[i], &one) &&
		    one.below > most.below)
			most = one;
	if (!most.quantity)
		return false;
	text_addf(out, ": %s is %.0f %% slower than ", view->sources[most.source].label,
		  100 * most.below);
	if (most.others == 1)
		text_add(out, "the other device");
	else
		text_addf(out, "the other %zu devices", most.others);
	text_addf(out, " in %s", most.quantity->title);
	return true;
}

/* The worst device's share of the highest quantity of a group; NULL: none. */
static const struct headline_share *
run_figures_highest_share_of_group(const struct headline_shares *shares, const char *group)
{
	const struct headline_share *best = NULL;

	for (size_t i = 0; i < shares->quantity_count; i++) {
		const struct headline_quantity *q = &shares->quantities[i];

		if (q->worst && strcmp(q->quantity->group, group) == 0 &&
		    (!best || shares->items[q->worst - 1].value > best->value))
			best = &shares->items[q->worst - 1];
	}
	return best;
}

/* ": STREAM triad at 91 % of the data sheet, FP16 GEMM, tensor cores at 77 %" */
static bool run_figures_title_add_shares(struct text *out, const struct headline_shares *shares)
{
	const char *done[TITLE_FIGURES] = { NULL };
	size_t count = 0;

	for (const struct quantity *q = quantities; q->name && count < TITLE_FIGURES; q++) {
		const struct headline_share *share;

		if (count && strcmp(done[count - 1], q->group) == 0)
			continue;
		share = run_figures_highest_share_of_group(shares, q->group);
		if (!share)
			continue;
		done[count] = q->group;
		text_addf(out, "%s%s at %.0f %%%s", count ? ", " : ": ", share->title,
			  100 * share->share, count ? "" : " of the data sheet");
		count++;
	}
	return count != 0;
}

/* ": 6.0×10¹² multiply-adds compared, none wrong": the answer of a suite that has one. */
static bool run_figures_title_add_suite(struct text *out, const struct view *view)
{
	for (size_t i = 0; i < view->suite_count; i++) {
		struct suite_page page = presented_suite_page_of(view->suites[i]);
		struct text words = TEXT_EMPTY;
		bool found;

		if (page.title)
			page.title(view, view->suites[i], &words);
		found = words.length != 0;
		if (found)
			text_addf(out, ": %s", words.data);
		text_release(&words);
		if (found)
			return true;
	}
	return false;
}

struct first_figure {
	struct text *out;
	bool found;
};

/* ": attention throughput up to 191 GFLOP/s": the best of the first metric with a unit. */
static void run_figures_title_add_best(void *user, const char *suite, const struct headline *h)
{
	struct first_figure *first = user;
	const struct selected_case *best = NULL;

	if (first->found || strcmp(view_string(h->selection.items[0].m->unit), "1") == 0)
		return;
	for (size_t i = 0; i < h->group_count; i++) {
		const struct selected_case *one = h->groups[i].figures[0];

		if (one && isfinite(one->m->value) && !case_is_unsettled(one->c, one->m) &&
		    (!best || (h->better == BETTER_LOWER ? one->m->value < best->m->value
							 : one->m->value > best->m->value)))
			best = one;
	}
	if (!best)
		return;
	first->found = true;
	text_addf(first->out, ": %s %s %s %s", suite,
		  presented_metric_title(h->selection.view, best->m->name).text,
		  h->better == BETTER_LOWER ? "from" : "up to",
		  format_rounded(best->m->value,
				 presented_case_unit(h->selection.view, best->c, best->m))
			  .text);
}

static bool run_figures_title_add_first(struct text *out, const struct view *view)
{
	struct first_figure first = { .out = out };

	for (size_t i = 0; i < view->suite_count && !first.found; i++)
		headline_each(view, view->suites[i], run_figures_title_add_best, &first);
	return first.found;
}

static bool run_figures_title_add_bad(struct text *out, const struct view_counts *n)
{
	size_t planned = n->total + n->unreached;

	if (n->of[CASE_FAILED])
		text_addf(out, ": %zu wrong %s in %zu cases", n->of[CASE_FAILED],
			  n->of[CASE_FAILED] == 1 ? "result" : "results", planned);
	else if (n->of[CASE_ERROR])
		text_addf(out, ": %zu of %zu cases ended in an error", n->of[CASE_ERROR], planned);
	else if (!n->of[CASE_OK])
		text_add(out, ": nothing was measured");
	else
		return false;
	return true;
}

char *run_figures_title(const struct view *view, const struct headline_shares *shares)
{
	const struct result *r = view->results;
	struct text out = TEXT_EMPTY;
	struct view_counts n;
	double injected;
	char *cut;

	view_count(view, &n);
	if (*view_string(r->label))
		text_addf(&out, "%s, ", r->label);
	if (r->device_count)
		view_add_devices(&out, r);
	else
		text_add(&out, "No device");
	if (n.of[CASE_OK] && (n.stopped || n.unreached))
		text_add(&out, ", not finished");
	if (view_is_selftest(r, &injected))
		text_addf(&out, ": self-test found all %.0f injected errors", injected);
	else if (!run_figures_title_add_bad(&out, &n) &&
		 !run_figures_title_add_outlier(&out, view, shares) &&
		 !run_figures_title_add_shares(&out, shares) &&
		 !run_figures_title_add_suite(&out, view) &&
		 !run_figures_title_add_first(&out, view))
		text_addf(&out, ": %zu %s measured", n.of[CASE_OK], format_cases(n.of[CASE_OK]));
	cut = format_cut(out.data, TITLE_LONGEST);
	text_release(&out);
	return cut;
}

#define DOTS_MIDDLE 9.0  /* px: the row's middle from its top */
#define ABOVE_SHEET 1.05 /* of the longest row, where one is above the data sheet */

static void run_figures_add_dot(const struct headline_share *share, double end, struct text *dots,
				struct text *lines)
{
	chart_marker(dots, 0, run_figures_dots_at(share->share / end), DOTS_MIDDLE);
	if (isfinite(share->low) && isfinite(share->high))
		text_addf(lines, "M%.1f %.0fH%.1f", run_figures_dots_at(share->low / end),
			  DOTS_MIDDLE, run_figures_dots_at(share->high / end));
}

/* The middle one of identical devices, the worse of two. */
static const struct headline_share *run_figures_middle_share(const struct headline_shares *shares,
							     const struct view *view,
							     const struct headline_quantity *q)
{
	const struct headline_share *worst = &shares->items[q->worst - 1];
	size_t below = 0;

	for (size_t s = 0; s < view->source_count; s++) {
		const struct headline_share *one =
			q->items[s] ? &shares->items[q->items[s] - 1] : NULL;

		below = 0;
		for (size_t o = 0; one && one->share > 0 && o < view->source_count; o++)
			below += q->items[o] && shares->items[q->items[o] - 1].share > 0 &&
				 (shares->items[q->items[o] - 1].share < one->share ||
				  (shares->items[q->items[o] - 1].share == one->share && o < s));
		if (one && one->share > 0 && below == (q->devices - 1) / 2)
			return one;
	}
	return worst;
}

static void run_figures_add_note(struct text *note, const char *words)
{
	text_addf(note, "%s%s", note->length ? "; " : "", words);
}

/* Which devices have no share, because a case of theirs failed. */
static void run_figures_note_failed(const struct headline_shares *shares, const struct view *view,
				    const struct headline_quantity *q, struct text *note)
{
	size_t failed = 0, first = 0;
	char *words;

	for (size_t s = 0; s < view->source_count; s++)
		if (q->items[s] && !(shares->items[q->items[s] - 1].share > 0)) {
			first = failed++ ? first : s;
		}
	if (!failed)
		return;
	words = failed == 1 ? xasprintf("failed on %s", view->sources[first].label)
			    : xasprintf("failed on %zu devices", failed);
	run_figures_add_note(note, words);
	free(words);
}

/* Names the slow device, what held the figure back, and of how many ways it is the best. */
static char *run_figures_share_note(const struct headline_shares *shares, const struct view *view,
				    const struct headline_quantity *q,
				    const struct headline_share *shown)
{
	struct text note = TEXT_EMPTY;
	struct headline_outlier outlier;
	int64_t reasons = case_throttle_reasons(shown->c);
	char *words;

	if (headline_shares_outlier(shares, view, q, &outlier)) {
		words = xasprintf("%s is %.0f %% slower", view->sources[outlier.source].label,
				  100 * outlier.below);
		run_figures_add_note(&note, words);
		free(words);
	}
	run_figures_note_failed(shares, view, q, &note);
	if (reasons > 0) {
		words = result_throttle_page_words(reasons);
		run_figures_add_note(&note, words);
		free(words);
	}
	if (shown->ways > 1) {
		words = xasprintf("best of %zu: %s to %s", shown->ways,
				  format_rounded(shown->least, shown->unit).text,
				  format_rounded(shown->value, shown->unit).text);
		run_figures_add_note(&note, words);
		free(words);
	}
	return text_detach(&note);
}

static int run_figures_by_quantity(const void *a, const void *b)
{
	const struct headline_quantity *const *p = a, *const *q = b;

	return ((*p)->quantity > (*q)->quantity) - ((*p)->quantity < (*q)->quantity);
}

void run_figures(const struct view *view, const struct headline_shares *shares, struct tree *page)
{
	struct tree *list = tree_list(page, "figures");
	const struct headline_quantity **order =
		xcalloc(shares->quantity_count + 1, sizeof(const struct headline_quantity *));
	struct text grid = TEXT_EMPTY;
	double end = 1; /* the share at the right end of each row */
	size_t count = 0;

	for (size_t i = 0; i < shares->count; i++)
		end = fmax(end, shares->items[i].share * ABOVE_SHEET);
	for (size_t i = 0; i < shares->quantity_count; i++)
		if (shares->quantities[i].worst)
			order[count++] = &shares->quantities[i];
	qsort(order, count, sizeof(*order), run_figures_by_quantity);
	for (size_t i = 0; i < count; i++) {
		const struct headline_share *shown =
			run_figures_middle_share(shares, view, order[i]);
		struct tree *row = tree_item(list);
		struct text dots = TEXT_EMPTY, lines = TEXT_EMPTY;

		for (size_t s = 0; s < view->source_count; s++)
			if (order[i]->items[s] && shares->items[order[i]->items[s] - 1].share > 0)
				run_figures_add_dot(&shares->items[order[i]->items[s] - 1], end,
						    &dots, &lines);
		view_text(row, "name", order[i]->title);
		tree_text(row, "value", format_rounded(shown->value, shown->unit).text);
		tree_textf(row, "share", "%.0f %%", 100 * shown->share);
		tree_text_owned(row, "dots", text_detach(&dots));
		tree_text_owned(row, "lines", text_detach(&lines));
		tree_text_owned(row, "note", run_figures_share_note(shares, view, order[i], shown));
	}
	free(order);
	for (int part = 0; part < 4; part++)
		text_addf(&grid, "M%.1f 0V18", run_figures_dots_at(part / 4.0 / end));
	tree_text_owned(page, "dots_grid", text_detach(&grid));
	tree_textf(page, "dots_half", "%.1f", run_figures_dots_at(0.5 / end));
	tree_textf(page, "dots_sheet", "%.1f", run_figures_dots_at(1 / end));
	tree_flag(page, "several_devices", view->source_count > 1);
	tree_textf(page, "device_count", "%zu", view->source_count);
}
