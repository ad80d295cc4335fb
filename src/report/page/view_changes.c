/*
 * Several results: what `compare` says of each against the first. A row per case and figure, the
 * worst first, with its devices inside; verdicts, ratios and their order are those of
 * compare/, computed once.
 */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "compare/compare.h"
#include "report/chart/chart.h"
#include "report/page/view_sections.h"
#include "report/view/view.h"
#include "report/view/presented.h"

#define SHOWN 30            /* rows; the rest is folded */
#define SHOWN_FEW 10        /* of each of several comparisons; */
#define SHOWN_LEAST 3       /* of each of more than this many, the rest is left out */
#define LONGEST_NAME 24     /* of a run */
#define NAMED_DIFFERENCES 3 /* differences named with the verdict */

/* The strip of a row: its ratio on an axis that all rows share, in px. */
#define FOLDS_MOST 24
#define STRIP_WIDTH 240.0
#define STRIP_MIDDLE 9.0
#define STRIP_LEAST 0.05 /* the axis spans at least 1.05 times either way */
#define STRIP_MOST 4.0   /* and at most 4 times */

struct changes {
	const struct view *view;
	const struct comparison *c;
	struct scale scale;
	const struct case_result **cases;
	struct text_index by_id; /* places in `cases` */
	size_t case_count;
};

static bool view_changes_is_certain_regression(const struct comparison_row *row)
{
	return row->change == CHANGE_REGRESSED && !row->possible;
}

/*
 * True if the row does not decide whether the figure got worse: only one run has it, sessions do
 * not compare it, or its change is not certain.
 */
static bool view_changes_is_open(const struct comparison *c, const struct comparison_row *row)
{
	double limit = 1 + (row->margin > c->margin ? row->margin : c->margin);

	return row->change == CHANGE_NONE || row->grouped || row->possible ||
	       (row->change == CHANGE_INCONCLUSIVE && !(row->high <= limit));
}

/* Why rows are open: "18 vary too much between sessions, 5 changed, but not for certain" */
static void view_changes_show_open(const struct comparison *c, struct tree *map)
{
	size_t possible = 0, inconclusive = 0, grouped = 0, missing = 0;
	struct text out = TEXT_EMPTY;

	for (size_t i = 0; i < c->count; i++) {
		const struct comparison_row *row = &c->rows[i];

		if (!view_changes_is_open(c, row))
			continue;
		*(row->change == CHANGE_NONE ? &missing
		  : row->grouped             ? &grouped
		  : row->possible            ? &possible
					     : &inconclusive) += 1;
	}
	format_count_of(&out, grouped, "vary too much between sessions");
	format_count_of(&out, inconclusive, "may have got worse by more than the margin");
	format_count_of(&out, possible, "changed, but not for certain");
	format_count_of(&out, missing, "have no value to compare with");
	tree_flag(map, "open_sessions", grouped);
	tree_text_owned(map, "open_reasons", text_detach(&out));
}

static void view_changes_show_outcome(const struct comparison *c, struct tree *map)
{
	struct page_answer answer = { .nothing = c->same_run ? "The same run twice"
							     : "Nothing could be compared",
				      .total = c->count };
	size_t wrong = c->fault_count, possible = 0, certain = 0, decided = 0;
	char *word, *good;

	for (size_t i = 0; i < c->count; i++) {
		const struct comparison_row *row = &c->rows[i];

		wrong += row->wrong;
		certain += view_changes_is_certain_regression(row);
		possible += row->change == CHANGE_REGRESSED && row->possible;
		if (c->same_run || view_changes_is_open(c, row))
			continue;
		answer.compared++;
		decided += row->change != CHANGE_INCONCLUSIVE;
	}
	/* As compare_whole_gate() does, a figure counts that is inconclusive, but not worse. */
	good = decided == c->count
		       ? xstrdup("No regression")
		       : xasprintf("No regression in %zu of %zu figures%s%s", decided, c->count,
				   decided < answer.compared ? ", none beyond the margin in " : "",
				   decided < answer.compared
					   ? format_text("%zu", answer.compared - decided).text
					   : "");
	word = xasprintf("%zu of %zu figures %sregressed", certain ? certain : possible, c->count,
			 certain ? "" : "possibly ");
	answer.found = wrong + certain;
	answer.found_word = wrong ? "Wrong results" : word;
	answer.warned = possible;
	answer.warned_word = word;
	answer.good = good;
	view_answer_show(&answer, map);
	free(word);
	free(good);
}

static bool view_changes_is_change(const struct comparison_row *row)
{
	return row->change == CHANGE_REGRESSED || row->change == CHANGE_IMPROVED;
}

static const char *view_changes_row_kind(const struct comparison_row *row)
{
	if (row->wrong || view_changes_is_certain_regression(row))
		return "failed";
	return row->change == CHANGE_UNCHANGED || row->change == CHANGE_IMPROVED ? "ok" : "skipped";
}

static struct formatted view_changes_value_of(double value, const char *unit, bool percent)
{
	if (!isfinite(value))
		return format_text("");
	return percent ? format_percent(value) : format_quantity(value, unit);
}

/* Word, values, ratio and reason of one device's row. */
static void view_changes_show_figures(const struct changes *k, struct tree *map,
				      const struct comparison_row *row)
{
	const struct view *view = k->view;
	const char *unit = presented_unit(view, row->metric, row->unit);
	const struct metric *metric = presented_metric(view, row->metric);
	bool percent = metric && metric->percent;
	double half;
	int digits;

	tree_text(map, "kind", view_changes_row_kind(row));
	tree_textf(map, "word", "%s%s",
		   row->possible && view_changes_is_change(row) ? "possibly " : "",
		   compare_change_name(row->change));
	tree_text(map, "a", view_changes_value_of(row->a, unit, percent).text);
	tree_text(map, "b", view_changes_value_of(row->b, unit, percent).text);
	half = (row->high - row->low) / 2 / row->ratio;
	digits = half > 0.1 ? 2 : half > 0.01 ? 3 : 4;
	tree_textf(map, "ratio", isfinite(row->ratio) ? "%.*f" : "", digits, row->ratio);
	tree_textf(map, "interval",
		   isfinite(row->low) && row->low < row->high ? "[%.*f, %.*f]" : "", digits,
		   row->low, digits, row->high);
	view_text(map, "devices", row->devices);
	view_text(map, "devices_b",
		  strcmp(row->devices, row->devices_b) == 0 ? "" : row->devices_b);
	if (*row->reason && row->change != CHANGE_UNCHANGED && row->only_in)
		tree_textf(map, "note", "only in %s",
			   row->only_in == 'A' ? k->c->name_a : k->c->name_b);
	else if (*row->reason && row->change != CHANGE_UNCHANGED)
		view_text(map, "note", row->reason);
	else if (row->launches_needed)
		tree_textf(map, "note", "%zu launches of each side would decide",
			   row->launches_needed);
	else
		tree_text(map, "note", "");
}

/* Half width of the axis, as a logarithm: it contains the decided ratios and intervals. */
static double view_changes_half_axis(const struct comparison *c)
{
	double half = log1p(STRIP_LEAST);

	for (size_t i = 0; i < c->count; i++) {
		const struct comparison_row *row = &c->rows[i];

		if (row->change != CHANGE_UNCHANGED && !view_changes_is_change(row))
			continue;
		if (row->ratio > 0 && isfinite(row->ratio))
			half = fmax(half, fabs(log(row->ratio)));
		if (row->low > 0 && isfinite(row->high))
			half = fmax(half, fmax(fabs(log(row->low)), fabs(log(row->high))));
	}
	return fmin(1.05 * half, log(STRIP_MOST));
}

/* From `low` to `high`, which are logarithms; an end beyond the axis is an arrow at its edge. */
static void view_changes_draw_whisker(const struct scale *scale, double low, double high,
				      struct text *path)
{
	double from = scale_at(scale, fmax(low, scale->low));
	double to = scale_at(scale, fmin(high, scale->high));

	if (low < scale->low)
		text_addf(path, "M%.0f %.0fl-4 4l4 4", from, STRIP_MIDDLE - 4);
	if (high > scale->high)
		text_addf(path, "M%.0f %.0fl4 4l-4 4", to, STRIP_MIDDLE - 4);
	text_add_char(path, 'M');
	chart_number(path, low < scale->low ? from - 4 : from);
	text_addf(path, " %.0fH", STRIP_MIDDLE);
	chart_number(path, high > scale->high ? to + 4 : to);
}

static void view_changes_draw_strip(const struct changes *k, const struct comparison_row *row,
				    struct tree *map)
{
	static const char *const colours[CHANGE_COUNT] = {
		[CHANGE_REGRESSED] = "#b3261e", [CHANGE_INCONCLUSIVE] = "#767676",
		[CHANGE_IMPROVED] = "#009e73",  [CHANGE_UNCHANGED] = "#0b5cad",
		[CHANGE_NONE] = "#767676",
	};
	/* Shapes also show the verdict, for readers who cannot distinguish the colours. */
	static const size_t markers[CHANGE_COUNT] = {
		[CHANGE_REGRESSED] = 2, [CHANGE_INCONCLUSIVE] = 5, [CHANGE_IMPROVED] = 4
	};
	struct text mark = TEXT_EMPTY, whisker = TEXT_EMPTY;
	bool there = isfinite(row->ratio) && row->ratio > 0;
	double band;

	if (there)
		chart_marker(&mark, markers[row->change], scale_at(&k->scale, log(row->ratio)),
			     STRIP_MIDDLE);
	if (there && row->low > 0 && isfinite(row->high))
		view_changes_draw_whisker(&k->scale, log(row->low), log(row->high), &whisker);
	/* Within it the figure is unchanged. */
	band = scale_at(&k->scale, log1p(row->kind == FIGURE_EXACT ? 0
					 : row->margin > 0         ? row->margin
								   : k->c->margin));
	chart_coordinate(map, "band_from", 2 * scale_at(&k->scale, 0) - band);
	chart_coordinate(map, "band_width", 2 * (band - scale_at(&k->scale, 0)));
	tree_flag(map, "strip", there);
	tree_text(map, "colour", colours[row->change]);
	tree_text_owned(map, "mark", text_detach(&mark));
	tree_text_owned(map, "whisker", text_detach(&whisker));
}

/* The axis in the head of the column. */
static void view_changes_draw_axis(struct changes *k, struct tree *map)
{
	static const double steps[] = { 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2 };
	double half = view_changes_half_axis(k->c), step = 0.01;
	struct tree *ticks;

	k->scale = (struct scale){
		.kind = SCALE_LINEAR, .low = -half, .high = half, .from = 12, .to = STRIP_WIDTH - 12
	};
	for (size_t i = 0; i < ARRAY_SIZE(steps) && log1p(steps[i]) < 0.9 * half; i++)
		step = steps[i];
	ticks = tree_list(map, "strip_ticks");
	for (int i = -1; i <= 1; i++) {
		double value = i < 0 ? 1 / (1 + step) : i ? 1 + step : 1;
		struct tree *tick = tree_item(ticks);

		chart_coordinate(tick, "at", scale_at(&k->scale, log(value)));
		tree_textf(tick, "label", i < 0 ? "1/%.4g" : "%.4g", i < 0 ? 1 + step : value);
	}
	chart_coordinate(map, "band_middle", scale_at(&k->scale, 0));
}

/*
 * Cases of both runs by id. A row has the case of the first run, or of the other if the first lacks
 * it.
 */
static void view_changes_index_cases(struct changes *k, size_t run)
{
	const struct result *const both[] = { &k->view->results[0], &k->view->results[run] };

	k->cases = xcalloc(both[0]->case_count + both[1]->case_count + 1, sizeof(*k->cases));
	for (size_t r = 0; r < 2; r++)
		for (size_t i = 0; i < both[r]->case_count; i++) {
			const struct case_result *c = &both[r]->cases[i];
			size_t *place = text_index_at(&k->by_id, view_string(c->id), "");

			k->cases[k->case_count] = c;
			*place = *place == SIZE_MAX ? k->case_count : *place;
			k->case_count++;
		}
}

static const struct case_result *view_changes_case_of(const struct changes *k, const char *id)
{
	size_t place = text_index_find(&k->by_id, id, "");

	return place == SIZE_MAX ? NULL : k->cases[place];
}

/* "transfer: host to device, pinned, 64 MiB" */
static void view_changes_show_case(const struct changes *k, const struct comparison_row *row,
				   struct tree *map)
{
	const struct case_result *c = view_changes_case_of(k, row->case_id);
	char *parameters = c ? view_named_parameters(k->view, c, NULL) : NULL;
	const char *section = c ? view_section(c) : "";
	struct text out = TEXT_EMPTY;

	if (c)
		text_addf(&out, "%s%s%s%s%s", view_string(c->suite),
			  *section || *parameters ? ": " : "", section,
			  *section && *parameters ? ", " : "", parameters);
	else
		text_add(&out, row->point);
	view_text(map, "case", out.data);
	view_text(map, "case_id", row->point);
	tree_text(map, "metric",
		  *row->metric ? presented_metric_title(k->view, row->metric).text : "");
	free(parameters);
	text_release(&out);
}

static bool view_changes_one_case(const struct comparison_row *a, const struct comparison_row *b)
{
	return strcmp(a->point, b->point) == 0 && strcmp(a->metric, b->metric) == 0;
}

/* Other devices of the case at `first`: a line each, and a count by word. */
static void view_changes_show_inside(const struct changes *k, size_t first, const bool *done,
				     struct tree *map)
{
	struct tree *inside = tree_list(map, "inside");
	size_t counts[CHANGE_COUNT] = { 0 }, count = 0;
	struct text words = TEXT_EMPTY;

	for (size_t i = first; i < k->c->count; i++) {
		if (done[i] || !view_changes_one_case(&k->c->rows[first], &k->c->rows[i]))
			continue;
		counts[k->c->rows[i].change]++;
		count++;
	}
	for (size_t i = first; count > 1 && i < k->c->count; i++)
		if (!done[i] && view_changes_one_case(&k->c->rows[first], &k->c->rows[i]))
			view_changes_show_figures(k, tree_item(inside), &k->c->rows[i]);
	for (int i = 0; i < CHANGE_COUNT; i++)
		if (counts[i])
			format_list(&words, "%zu %s", counts[i],
				    compare_change_name((enum change)i));
	tree_flag(map, "several", count > 1);
	tree_textf(map, "device_count", "%zu", count);
	tree_text_owned(map, "device_words", text_detach(&words));
}

/* The tables that are closed at first: one for the undecided rows of each suite. */
struct folds {
	struct tree *list;
	const char *names[FOLDS_MOST]; /* borrowed */
	struct tree *rows[FOLDS_MOST];
	size_t count;
};

static struct tree *view_changes_fold_of(struct folds *folds, const char *name)
{
	for (size_t i = 0; i < folds->count; i++)
		if (strcmp(folds->names[i], name) == 0)
			return folds->rows[i];
	if (folds->count == FOLDS_MOST)
		return folds->rows[FOLDS_MOST - 1];
	folds->names[folds->count] = name;
	folds->rows[folds->count] = tree_list(tree_item(folds->list), "rows");
	return folds->rows[folds->count++];
}

#define GROUPED "grouped" /* the fold of figures that sessions do not compare */
#define MISSING "missing" /* that of figures without a value to compare with */

/* "alloc: 21 INCONCLUSIVE"; "11 more that were decided" */
static void view_changes_name_folds(const struct folds *folds)
{
	for (size_t i = 0; i < folds->count; i++) {
		struct tree *fold = folds->list->children[i];
		char *words =
			strcmp(folds->names[i], GROUPED) == 0
				? xasprintf("%zu not comparable between sessions",
					    folds->rows[i]->count)
			: strcmp(folds->names[i], MISSING) == 0
				? xasprintf("%zu without a value to compare with",
					    folds->rows[i]->count)
			: *folds->names[i]
				? xasprintf("%s: %zu %s", folds->names[i], folds->rows[i]->count,
					    compare_change_name(CHANGE_INCONCLUSIVE))
				: xasprintf("%zu more figures that were decided",
					    folds->rows[i]->count);

		view_text_owned(fold, "fold_words", words);
	}
}

/* The list of a row: decided rows are open up to `most`, all others are folded. */
static struct tree *view_changes_list_of(const struct changes *k, const struct comparison_row *row,
					 size_t most, struct tree *shown, struct folds *folds)
{
	const struct case_result *c = view_changes_case_of(k, row->case_id);

	if (row->grouped)
		return view_changes_fold_of(folds, GROUPED);
	if (row->change == CHANGE_NONE && !row->wrong)
		return view_changes_fold_of(folds, MISSING);
	if (row->change == CHANGE_INCONCLUSIVE)
		return view_changes_fold_of(folds, c ? view_string(c->suite) : "?");
	return shown->count < most ? shown : view_changes_fold_of(folds, "");
}

static void view_changes_show_rows(const struct changes *k, struct tree *map)
{
	size_t most = k->view->count == 2                 ? SHOWN
		      : k->view->count - 1 <= SHOWN_LEAST ? SHOWN_FEW
							  : SHOWN_LEAST,
	       left_out = 0, count = 0;
	struct tree *shown = tree_list(map, "changed");
	struct folds folds = { .list = tree_list(map, "folds") };
	bool *done = xcalloc(k->c->count + 1, sizeof(*done));

	for (size_t i = 0; i < k->c->count; i++) {
		const struct comparison_row *row = &k->c->rows[i];
		struct tree *item;

		if (done[i])
			continue;
		if (count++ < most || most > SHOWN_LEAST) {
			item = tree_item(view_changes_list_of(k, row, most, shown, &folds));
			view_changes_show_case(k, row, item);
			view_changes_show_figures(k, item, row);
			view_changes_draw_strip(k, row, item);
			view_changes_show_inside(k, i, done, item);
		} else {
			left_out++;
		}
		for (size_t j = i; j < k->c->count; j++)
			done[j] = done[j] || view_changes_one_case(row, &k->c->rows[j]);
	}
	free(done);
	view_changes_name_folds(&folds);
	tree_flag(map, "has_changed", count != 0 && !compare_whole_is_empty(k->c));
	tree_flag(map, "has_decided", shown->count != 0);
	tree_textf(map, "left_out", left_out ? "%zu" : "", left_out);
}

static bool view_changes_devices_differ(const struct comparison *c)
{
	for (size_t i = 1; i < c->count; i++)
		if (strcmp(c->rows[i].devices, c->rows[0].devices) != 0)
			return true;
	return c->count && strcmp(c->rows[0].devices, c->rows[0].devices_b) != 0;
}

/* "Differs: driver 580.65 → 580.95; cuda:2 only in B: NVIDIA H200; and 3 more" */
static void view_changes_show_differences(const struct comparison *c, struct tree *map)
{
	struct text out = TEXT_EMPTY;

	for (size_t i = 0; i < c->difference_count && i < NAMED_DIFFERENCES; i++) {
		char *a = format_label(c->differences[i].a, 30);
		char *b = format_label(c->differences[i].b, 30);

		text_add(&out, i ? "; " : "");
		if (strcmp(a, COMPARE_MISSING) == 0)
			text_addf(&out, "%s only in %s: %s", c->differences[i].name, c->name_b, b);
		else if (strcmp(b, COMPARE_MISSING) == 0)
			text_addf(&out, "%s only in %s: %s", c->differences[i].name, c->name_a, a);
		else
			text_addf(&out, "%s %s → %s", c->differences[i].name, a, b);
		free(a);
		free(b);
	}
	if (c->difference_count > NAMED_DIFFERENCES)
		text_addf(&out, "; and %zu more", c->difference_count - NAMED_DIFFERENCES);
	tree_text_owned(map, "differs", text_detach(&out));
}

static size_t view_changes_most_launches(const struct comparison *c, bool b)
{
	size_t most = 0;

	for (size_t i = 0; i < c->count; i++) {
		size_t n = b ? c->rows[i].launches_b : c->rows[i].launches_a;

		most = n > most ? n : most;
	}
	return most;
}

/* "5 launches of each"; "5 launches of B, 1 of A" */
static void view_changes_show_launches(const struct comparison *c, struct tree *map)
{
	size_t a = view_changes_most_launches(c, false), b = view_changes_most_launches(c, true);
	const char *plural = b == 1 ? "" : "es";

	if (!a && !b)
		tree_text(map, "launches", "");
	else if (a == b)
		tree_textf(map, "launches", "%zu launch%s of each", b, plural);
	else
		tree_textf(map, "launches", "%zu launch%s of %s, %zu of %s", b, plural, c->name_b,
			   a, c->name_a);
}

/* "1.05 (transfer host to device)": the certain regression with the largest ratio; or NULL. */
static char *view_changes_worst(const struct changes *k)
{
	const struct comparison_row *worst = NULL;
	const struct case_result *c;
	char *parameters, *words;

	for (size_t i = 0; i < k->c->count; i++)
		if (view_changes_is_certain_regression(&k->c->rows[i]) &&
		    isfinite(k->c->rows[i].ratio) && (!worst || k->c->rows[i].ratio > worst->ratio))
			worst = &k->c->rows[i];
	c = worst ? view_changes_case_of(k, worst->case_id) : NULL;
	if (!c)
		return NULL;
	parameters = view_named_parameters(k->view, c, NULL);
	words = xasprintf("%.3g (%s%s%s)", worst->ratio, view_string(c->suite),
			  *parameters ? " " : "", parameters);
	free(parameters);
	return words;
}

/* "2 of 41 figures regressed, worst ratio 1.05 (matmul FP16)". malloc'ed. */
static char *view_changes_finding(const struct changes *k, const struct tree *map)
{
	char *worst = view_changes_worst(k), *finding;

	finding = xasprintf("%s%s%s", tree_member_text(map, "verdict_word"),
			    worst ? ", worst ratio " : "", worst ? worst : "");
	free(worst);
	return finding;
}

static char *view_changes_show_comparison(const struct view *view, size_t run,
					  const struct comparison *c, struct tree *map)
{
	struct changes k = { .view = view, .c = c };
	struct tree *notes = tree_list(map, "notes");
	size_t begin, end;
	char *finding;

	tree_text(map, "letter", view_letter(run).text);
	tree_flag(map, "legend", run == 1);
	view_text(map, "side_a", c->name_a);
	view_text(map, "side_b", c->name_b);
	tree_textf(map, "changes_id", run > 1 ? "changes-%zu" : "changes", run);
	view_changes_show_outcome(c, map);
	view_changes_show_open(c, map);
	view_text(map, "sentence", c->sentence);
	/* "... both with", "--launches 5", ": fewer ...": lines break at an option's hyphens. */
	begin = strcspn(c->advice, "-");
	end = begin;
	while (c->advice[begin] && !text_starts_with(c->advice + begin, "--"))
		begin += 1 + strcspn(c->advice + begin + 1, "-");
	end = begin + strcspn(c->advice + begin, " ");
	if (isdigit((unsigned char)c->advice[end + (c->advice[end] == ' ')]))
		end += 1 + strspn(c->advice + end + 1, "0123456789");
	tree_flag(map, "has_advice", *c->advice);
	tree_textf(map, "advice", "%.*s", (int)begin, c->advice);
	tree_textf(map, "advice_option", "%.*s", (int)(end - begin), c->advice + begin);
	tree_text(map, "advice_end", c->advice + end);
	tree_textf(map, "margin", "%.3g %%", 100 * c->margin);
	tree_flag(map, "automatic", c->automatic);
	view_changes_show_launches(c, map);
	for (size_t i = 0; i < c->fault_count; i++)
		tree_item_text(notes, c->faults[i]);
	if (*c->host_finding)
		tree_item_text(notes, c->host_finding);
	view_changes_show_differences(c, map);
	tree_flag(map, "many_devices", view_changes_devices_differ(c));
	view_changes_draw_axis(&k, map);
	view_changes_index_cases(&k, run);
	view_changes_show_rows(&k, map);
	finding = view_changes_finding(&k, map);
	text_index_release(&k.by_id);
	free(k.cases);
	return finding;
}

/* Its name, where all runs have one, else its letter. malloc'ed. */
static char *view_changes_side_name(const struct view *view, size_t run)
{
	for (size_t r = 0; r < view->count; r++)
		if (!*view_run_name(view, r))
			return xstrdup(view_letter(run).text);
	return format_label(view_run_name(view, run), LONGEST_NAME);
}

char *view_changes(const struct view *view, struct tree *page)
{
	struct tree *list = tree_list(page, "changes");
	char *finding = NULL;

	for (size_t r = 1; r < view->count; r++) {
		char *name_a = view_changes_side_name(view, 0),
		     *name_b = view_changes_side_name(view, r);
		const struct comparison_input input = {
			.name_a = name_a,
			.name_b = name_b,
			.a = &view->results[0],
			.b = &view->results[r],
			.a_count = 1,
			.b_count = 1,
			.turns = compare_taken_in_turns(&view->results[0], &view->results[r]),
		};
		struct error err = ERROR_NONE;
		struct comparison comparison;

		compare_results(&input, &comparison, &err);
		free(name_a);
		free(name_b);
		/* Without a history nothing can fail. */
		if (err.status != STATUS_OK)
			break;
		free(finding);
		finding = view_changes_show_comparison(view, r, &comparison, tree_item(list));
		compare_json_comparison_release(&comparison);
	}
	tree_flag(page, "one_change", list->count == 1);
	if (list->count == 1)
		return finding;
	free(finding);
	return NULL;
}
