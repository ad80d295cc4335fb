/* The page about architectures: its sentence, the matrix of all cards, and two findings. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "report/reference/reference.h"
#include "report/view/presented.h"

#define BAR_WIDTH 64.0 /* px of the longest bar of a column */
#define WIDE_BAR 220.0
#define IMPOSSIBLE 1.05 /* of the data sheet: another GPU, or data that stayed in a cache */

static double architecture_page_answers_highest(const struct architectures *a, size_t question)
{
	double most = 0;

	for (size_t i = 0; i < a->count; i++)
		if (a->lines[i].answers[question].row) {
			most = fmax(most, a->lines[i].answers[question].value->value);
			if (isfinite(a->lines[i].answers[question].peak))
				most = fmax(most, a->lines[i].answers[question].peak);
		}
	return most;
}

static void architecture_page_set_cell(const struct answer *answer, double most, double factor,
				       struct tree *cell)
{
	bool there = answer->row != NULL;
	double peak = there ? answer->peak : (double)NAN;
	char text[32];

	tree_flag(cell, "there", there);
	if (!there)
		return;
	/* "0.809", "112", "4.34": three digits in the unit of the column. */
	snprintf(text, sizeof(text), "%.3g", answer->value->value / factor);
	if (answer->value->value / factor >= 999.5)
		snprintf(text, sizeof(text), "%.0f", answer->value->value / factor);
	tree_text(cell, "value", text);
	tree_textf(cell, "bar", "%.1f", fmax(1, BAR_WIDTH * answer->value->value / most));
	tree_textf(cell, "sheet", "%.1f", isfinite(peak) ? BAR_WIDTH * peak / most : 0);
	tree_flag(cell, "impossible",
		  answer->kind != PUBLISHED && answer->value->value > IMPOSSIBLE * peak);
	tree_text(cell, "colour", answer->kind == MEASURED ? "#0b5cad" : "#767676");
	tree_flag(cell, "imported", answer->kind == IMPORTED);
	tree_textf(cell, "share", isfinite(peak) ? "%.0f %%" : "",
		   100 * answer->value->value / peak);
}

/* "PCIe" of a value of the V100 PCIe in the line "V100". */
static const char *architecture_page_variant(const struct architectures *a,
					     const struct architecture_line *line, size_t card)
{
	const char *label = a->r->cards[card].label;
	size_t length = strlen(line->label);

	return strncmp(label, line->label, length) == 0 && label[length] == ' ' ? label + length + 1
										: "";
}

/* True if the line's answers are of several cards, which then stand with each answer. */
static bool architecture_page_mixes_cards(const struct architecture_line *line)
{
	const struct answer *first = NULL;

	for (size_t q = 0; q < QUESTIONS; q++) {
		const struct answer *answer = &line->answers[q];

		if (answer->row && first && answer->card != first->card)
			return true;
		if (answer->row && !first)
			first = answer;
	}
	return false;
}

/* "V100 (PCIe, SXM2)": the line with the cards whose answers it shows. */
static char *architecture_page_names(const struct architectures *a,
				     const struct architecture_line *line)
{
	struct text cards = TEXT_EMPTY;
	char *names;

	for (size_t i = 0; architecture_page_mixes_cards(line) && i < line->card_count; i++) {
		bool answers = false;

		for (size_t q = 0; q < QUESTIONS; q++)
			answers = answers ||
				  (line->answers[q].row && line->answers[q].card == line->cards[i]);
		if (answers)
			format_list(&cards, "%s",
				    architecture_page_variant(a, line, line->cards[i]));
	}
	names = cards.length ? xasprintf("%s (%s)", line->label, cards.data) : xstrdup(line->label);
	text_release(&cards);
	return names;
}

/* Questions that no card answers have no column: their unit stays "". */
static void architecture_page_add_columns(const struct architectures *a, struct tree *page,
					  double *factors, struct formatted *units)
{
	struct tree *columns = tree_list(page, "questions");

	for (size_t q = 0; q < QUESTIONS; q++) {
		const char *unit = "";
		struct tree *column;

		for (size_t i = 0; i < a->count; i++)
			if (a->lines[i].answers[q].row)
				unit = a->lines[i].answers[q].row->quantity->unit;
		if (!*unit)
			continue;
		units[q] = format_unit(architecture_page_answers_highest(a, q), unit, &factors[q]);
		/* 1 PFLOP/s would make fractions of all older cards. */
		if (factors[q] == 1e15) {
			factors[q] = 1e12;
			units[q] = format_text("T%s", unit);
		}
		column = tree_item(columns);
		tree_text(column, "title", questions[q].title);
		tree_text(column, "unit", units[q].text);
	}
}

/* True if the cards answer with different quantities, as a copy and a triad. */
static bool architecture_page_mixes_quantities(const struct architectures *a, size_t question)
{
	const struct quantity *first = NULL;

	for (size_t i = 0; i < a->count; i++) {
		const struct answer *answer = &a->lines[i].answers[question];

		if (answer->row && first && answer->row->quantity != first)
			return true;
		if (answer->row)
			first = answer->row->quantity;
	}
	return false;
}

/* "SXM2, STREAM copy": what of this answer differs from the others in its row or column. */
static char *architecture_page_own_words(const struct architectures *a, size_t line,
					 size_t question)
{
	const struct answer *answer = &a->lines[line].answers[question];
	struct text out = TEXT_EMPTY;

	if (answer->row && architecture_page_mixes_cards(&a->lines[line]))
		format_list(&out, "%s",
			    architecture_page_variant(a, &a->lines[line], answer->card));
	if (answer->row && architecture_page_mixes_quantities(a, question))
		format_list(&out, "%s", answer->row->quantity->title);
	return text_detach(&out);
}

static void architecture_page_add_matrix(const struct architectures *a, struct tree *page)
{
	struct formatted units[QUESTIONS] = { 0 };
	double factors[QUESTIONS];
	struct tree *rows;

	architecture_page_add_columns(a, page, factors, units);
	rows = tree_list(page, "lines");
	for (size_t i = 0; i < a->count; i++) {
		const struct architecture_line *line = &a->lines[i];
		struct tree *row = tree_item(rows), *cells;

		view_text(row, "label", line->label);
		view_text(row, "architecture", line->architecture);
		tree_textf(row, "year", isfinite(line->year) ? "%.0f" : "", line->year);
		tree_flag(row, "measured", line->measured);
		cells = tree_list(row, "cells");
		for (size_t q = 0; q < QUESTIONS; q++) {
			struct tree *cell = *units[q].text ? tree_item(cells) : NULL;

			if (!cell)
				continue;
			tree_text(cell, "title", questions[q].title);
			tree_text(cell, "unit", units[q].text);
			architecture_page_set_cell(&line->answers[q],
						   architecture_page_answers_highest(a, q),
						   factors[q], cell);
			view_text_owned(cell, "card", architecture_page_own_words(a, i, q));
		}
	}
}

static void architecture_page_launches_add_bar(struct tree *rows, const char *label, double part,
					       bool measured, char *words)
{
	struct tree *row = tree_item(rows);

	view_text(row, "label", label);
	tree_textf(row, "bar", "%.1f", fmax(1, WIDE_BAR * part));
	tree_text(row, "colour", measured ? "#0b5cad" : "#767676");
	tree_text_owned(row, "words", words);
}

#define FP32 1
#define FP16 2

/* How many times the FP32 rate each card multiplies FP16 matrices. */
static void architecture_page_add_halves(const struct architectures *a, struct tree *page)
{
	struct tree *rows = tree_list(page, "halves");
	double most = 0;

	for (int pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < a->count; i++) {
			const struct answer *single = &a->lines[i].answers[FP32];
			const struct answer *half = &a->lines[i].answers[FP16];
			double ratio;

			if (!single->row || !half->row || single->card != half->card)
				continue;
			ratio = half->value->value / single->value->value;
			most = fmax(most, ratio);
			if (pass == 1)
				architecture_page_launches_add_bar(
					rows, a->lines[i].label, ratio / most,
					half->kind == MEASURED,
					xasprintf("%.3g×: %s, %s", ratio,
						  format_rounded(single->value->value,
								 single->row->quantity->unit)
							  .text,
						  format_rounded(half->value->value,
								 half->row->quantity->unit)
							  .text));
		}
	tree_flag(page, "has_halves", rows->count > 1);
}

/* The best value of a line for one quantity. */
static const struct reference_value *
architecture_page_best_value(const struct architectures *a, const struct architecture_line *line,
			     const char *quantity, enum provenance *kind)
{
	const struct reference_row *row = report_reference_row(a->r, quantity, "");
	const struct reference_value *best = NULL;
	enum provenance one;

	for (size_t i = 0; i < line->card_count; i++) {
		const struct reference_value *value =
			report_reference_best(row, line->cards[i], &one);

		if (value && (!best || value->value < best->value)) {
			best = value;
			*kind = one;
		}
	}
	return best;
}

static void architecture_page_add_launches(const struct architectures *a, struct tree *page)
{
	struct tree *rows = tree_list(page, "launches_by_card");
	double most = 0;

	for (int pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < a->count; i++) {
			enum provenance kind = PUBLISHED;
			const struct reference_value *value =
				architecture_page_best_value(a, &a->lines[i], QUANTITY_LAUNCH_TIME,
							     &kind);

			if (!value)
				continue;
			most = fmax(most, value->value);
			if (pass == 1)
				architecture_page_launches_add_bar(
					rows, a->lines[i].label, value->value / most,
					kind == MEASURED,
					xstrdup(format_rounded(value->value, "s").text));
		}
	tree_flag(page, "has_launches", rows->count > 1);
}

/* "5.4×"; with a digit more near 1, where it decides which card is faster: "1.03×". */
static struct formatted architecture_page_times(double ratio)
{
	return format_text(ratio < 2 ? "%.3g×" : "%.2g×", ratio);
}

/* "V100: memory 5.4×, FP32 GEMM 3.4×": the subject in multiples of the baseline. */
static void architecture_page_set_lead(const struct architectures *a, struct tree *page)
{
	const struct architecture_line *subject = &a->lines[a->subject];
	struct tree *ratios = tree_list(page, "ratios");
	struct text words = TEXT_EMPTY;
	char *base;

	for (size_t q = 0; a->baseline != a->subject && q < QUESTIONS; q++) {
		double ratio = architectures_ratio(a, a->subject, q);
		struct tree *item;

		if (!isfinite(ratio))
			continue;
		item = tree_item(ratios);
		tree_text(item, "before", words.length ? ", " : " ");
		tree_text(item, "title", questions[q].title);
		tree_text(item, "ratio", architecture_page_times(ratio).text);
		format_list(&words, "%s %s", questions[q].title,
			    architecture_page_times(ratio).text);
	}
	base = architecture_page_names(a, &a->lines[a->baseline]);
	view_text(page, "subject", subject->label);
	view_text(page, "base", base);
	tree_textf(page, "lead", words.length ? "%s against %s: %s." : "", subject->label, base,
		   words.data);
	free(base);
	text_release(&words);
}

/* Appends ": Memory 21×, Host link 7.3×": the most and the least of the ratios of two lines. */
static void architecture_page_add_extremes(const struct architecture_line *first,
					   const struct architecture_line *subject,
					   struct text *out)
{
	size_t most = QUESTIONS, least = QUESTIONS;
	double ratios[QUESTIONS];

	for (size_t q = 0; q < QUESTIONS; q++) {
		const struct answer *new = &subject->answers[q], *old = &first->answers[q];

		ratios[q] =
			new->row && old->row ? new->value->value / old->value->value : (double)NAN;
		if (!isfinite(ratios[q]))
			continue;
		most = most == QUESTIONS || ratios[q] > ratios[most] ? q : most;
		least = least == QUESTIONS || ratios[q] < ratios[least] ? q : least;
	}
	if (most < QUESTIONS)
		text_addf(out, ": %s %s", questions[most].title,
			  architecture_page_times(ratios[most]).text);
	if (most != least)
		text_addf(out, ", %s %s", questions[least].title,
			  architecture_page_times(ratios[least]).text);
}

/*
 * "From Kepler to Hopper in 10 years: Memory 21×, Host link 7.3×"; of two models that were both
 * measured "H200 against H100: Memory 1.4×, FP32 GEMM 0.99×". malloc'ed.
 */
char *architecture_page_title(const struct architectures *a)
{
	const struct architecture_line *first = a->lines, *subject, *base;
	struct text out = TEXT_EMPTY;
	bool same;

	if (!a->count)
		return xstrdup("No GPU to compare");
	subject = &a->lines[a->subject];
	base = &a->lines[a->baseline];
	same = strcmp(first->architecture, subject->architecture) == 0;
	if (base != subject && base->measured && subject->measured) {
		text_addf(&out, "%s against %s", subject->label, base->label);
		architecture_page_add_extremes(base, subject, &out);
	} else if (isfinite(first->year) && subject->year > first->year && *first->architecture &&
		   *subject->architecture) {
		text_addf(&out, "From %s to %s in %.0f years",
			  same ? first->label : first->architecture,
			  same ? subject->label : subject->architecture,
			  subject->year - first->year);
		architecture_page_add_extremes(first, subject, &out);
	} else {
		for (size_t i = 0; i < a->count && out.length < 100; i++)
			text_addf(&out, "%s%s", i ? " against " : "", a->lines[i].label);
	}
	return text_detach(&out);
}

/* The lowest of the devices' best values; the page shows the highest. NaN: none. */
static double architecture_page_lowest_device(const struct architectures *a,
					      const struct answer *answer, size_t *devices)
{
	const struct view *view = a->r->view;
	double lowest = NAN;

	*devices = 0;
	for (size_t s = 0; s < view->source_count; s++) {
		double best = report_reference_of_source(a->r, answer->row, answer->card, s);

		if (!isfinite(best))
			continue;
		(*devices)++;
		lowest = isfinite(lowest) ? fmin(lowest, best) : best;
	}
	return lowest;
}

/* "FP16 GEMM of H200: the best of 2 GPUs, from 667 TFLOP/s to 777 TFLOP/s" */
static void architecture_page_add_ranges(const struct architectures *a, struct tree *page)
{
	const struct architecture_line *line = &a->lines[a->subject];
	struct tree *notes = tree_list(page, "ranges");

	for (size_t q = 0; q < QUESTIONS; q++) {
		const struct answer *answer = &line->answers[q];
		char *words;
		size_t devices;
		double lowest;

		if (!answer->row || answer->kind == PUBLISHED)
			continue;
		lowest = architecture_page_lowest_device(a, answer, &devices);
		if (devices < 2 || lowest > 0.99 * answer->value->value)
			continue;
		words = xasprintf(
			"%s of %s: the best of %zu GPUs, which reach %s to %s.", questions[q].title,
			line->label, devices,
			format_rounded(lowest, answer->row->quantity->unit).text,
			format_rounded(answer->value->value, answer->row->quantity->unit).text);
		tree_item_text(notes, words);
		free(words);
	}
}

/* True if a card has `word` in its name. */
static bool architecture_page_have(const struct architectures *a, const char *word)
{
	for (size_t i = 0; i < a->count; i++)
		if (strstr(a->lines[i].label, word))
			return true;
	return false;
}

void architectures_page(const struct architectures *a, struct tree *page)
{
	bool mixed = false;

	if (!a->count)
		return;
	architecture_page_set_lead(a, page);
	architectures_growth(a, page);
	architecture_page_add_matrix(a, page);
	architecture_page_add_halves(a, page);
	architecture_page_add_launches(a, page);
	architecture_page_add_ranges(a, page);
	for (size_t i = 0; i < a->count; i++)
		mixed = mixed || architecture_page_mixes_cards(&a->lines[i]);
	tree_flag(page, "has_mixed_lines", mixed);
	tree_flag(page, "has_k80", architecture_page_have(a, "K80"));
	tree_flag(page, "has_geforce",
		  architecture_page_have(a, "GTX") || architecture_page_have(a, "RTX"));
}
