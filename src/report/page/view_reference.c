/*
 * The comparison with reference GPUs as tables: data sheets, quantities, FP16 against FP32, all
 * values, sources.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "base/units.h"
#include "report/reference/reference.h"
#include "report/view/format.h"

static const struct {
	const char *key, *label;
	bool ratio;
} sheet_rows[] = {
	{ "chip", "Chip", false },
	{ "capability", "Compute capability", false },
	{ "multiprocessors", "Multiprocessors", false },
	{ "boost_clock", "Boost clock", false },
	{ "memory", "Memory", true },
	{ "memory_type", "Memory type", false },
	{ "memory_bandwidth", "Memory bandwidth", true },
	{ "l2", "Second-level cache", false },
	{ "fp64", "FP64", true },
	{ "fp32", "FP32", true },
	{ "fp16", "FP16 without tensor cores", true },
	{ "fp16_tensor", "FP16 with tensor cores", true },
	{ "int8", "INT8 without tensor cores", true },
	{ "int8_tensor", "INT8 with tensor cores", true },
	{ "pcie_bandwidth", "PCIe, one direction", true },
	{ "nvlink_bandwidth", "NVLink, one direction", true },
	{ "power", "Power", true },
};

static void show_sheet_cell(const struct report_reference *r, size_t row, size_t card,
			    struct tree *cells)
{
	const struct gpu *gpu = r->cards[card].gpu, *base = r->cards[r->baseline].gpu;
	const struct sheet_entry *entry = gpu ? gpu_entry(gpu, sheet_rows[row].key) : NULL;
	struct tree *cell = tree_item(cells);
	char text[FORMAT_SIZE] = "", size[32];
	double ratio = NAN;

	if (entry && !entry->unit)
		view_text(cell, "value", entry->text);
	else if (entry && strcmp(entry->unit, "B") == 0)
		tree_text(cell, "value",
			  format_spaced(units_size((uint64_t)entry->value, size, sizeof(size)),
					text, sizeof(text)));
	else if (entry && strcmp(entry->unit, "1") == 0)
		tree_textf(cell, "value", "%.10g", entry->value);
	else
		tree_text(cell, "value",
			  entry ? format_stated(entry->value, entry->unit, text, sizeof(text))
				: "–");
	tree_flag(cell, "doubt", entry && entry->status == SHEET_TO_VERIFY);
	if (entry && base && card != r->baseline && sheet_rows[row].ratio)
		ratio = entry->value / gpu_figure(base, sheet_rows[row].key);
	tree_text(cell, "ratio", isfinite(ratio) ? format_ratio(ratio, text, sizeof(text)) : "");
}

static void show_sheets(const struct report_reference *r, struct tree *page)
{
	struct tree *rows = tree_list(page, "sheet_rows");

	for (size_t i = 0; i < ARRAY_SIZE(sheet_rows); i++) {
		struct tree *row = tree_item(rows), *cells;

		tree_text(row, "label", sheet_rows[i].label);
		cells = tree_list(row, "cells");
		for (size_t c = 0; c < r->card_count; c++)
			show_sheet_cell(r, i, c, cells);
	}
}

/* Measured values have the digits of a measurement; published ones those of their source. */
static char *value_words(const struct reference_row *row, const struct reference_value *value,
			 enum provenance kind, char *out, size_t size)
{
	return kind == MEASURED ? format_quantity(value->value, row->quantity->unit, out, size)
				: format_stated(value->value, row->quantity->unit, out, size);
}

/*
 * GeForce cards boost 7 % beyond their data sheet. What is far above was another card, or never
 * left a cache.
 */
#define MOST_OF_PEAK 1.25

static void show_value(const struct report_reference *r, const struct reference_row *row,
		       size_t card, enum provenance kind, struct tree *figures)
{
	const struct reference_value *value = &row->cells[card][kind];
	double peak = reference_peak(r, row, card);
	double ratio = card == reference_base(r, row) ? (double)NAN
						      : reference_ratio(r, row, value->value);
	struct tree *figure;
	char text[FORMAT_SIZE];

	if (!isfinite(value->value))
		return;
	figure = tree_item(figures);
	tree_text(figure, "mark", provenance_mark(kind));
	tree_text(figure, "kind", provenance_name(kind));
	tree_text(figure, "value", value_words(row, value, kind, text, sizeof(text)));
	tree_text(figure, "ratio", isfinite(ratio) ? format_ratio(ratio, text, sizeof(text)) : "");
	if (isfinite(peak))
		tree_textf(figure, "share", "%.0f %% of peak", 100 * value->value / peak);
	tree_flag(figure, "base", card == reference_base(r, row) && card != r->baseline);
	tree_flag(figure, "impossible",
		  row->quantity->better == BETTER_HIGHER && value->value > MOST_OF_PEAK * peak);
	if (!isfinite(peak))
		tree_text(figure, "share", "");
	tree_text(figure, "source", value->p ? value->p->source : "");
	if (row->devices > 1)
		tree_textf(figure, "together", "%d:", row->devices);
	else
		tree_text(figure, "together", "");
}

/* Rows of one quantity and workload, which differ in devices, are one column. */
static bool same_column(const struct reference_row *a, const struct reference_row *b)
{
	return a->quantity == b->quantity && strcmp(a->workload, b->workload) == 0;
}

static bool card_has(const struct reference_row *rows, size_t count, size_t card)
{
	enum provenance kind;

	for (size_t i = 0; i < count; i++)
		if (reference_best(&rows[i], card, &kind))
			return true;
	return false;
}

static void show_card(const struct report_reference *r, const struct reference_row *rows,
		      size_t count, size_t card, struct tree *list)
{
	struct tree *map = tree_item(list), *cells, *figures = NULL;

	tree_text(map, "label", r->cards[card].label);
	tree_text(map, "architecture",
		  r->cards[card].gpu ? gpu_words(r->cards[card].gpu, "architecture") : "");
	tree_flag(map, "is_baseline", card == r->baseline);
	cells = tree_list(map, "cells");
	for (size_t i = 0; i < count; i++) {
		if (!i || !same_column(&rows[i - 1], &rows[i]))
			figures = tree_list(tree_item(cells), "figures");
		for (size_t k = 0; k < PROVENANCES; k++)
			show_value(r, &rows[i], card, (enum provenance)k, figures);
	}
}

static void show_column(const struct reference_row *row, struct tree *columns)
{
	struct tree *map = tree_item(columns);

	tree_text(map, "label", row->quantity->title);
	tree_text(map, "workload", row->workload);
	tree_text(map, "arrow", row->quantity->better == BETTER_LOWER ? "↓" : "↑");
}

static void show_group(const struct report_reference *r, const struct reference_row *rows,
		       size_t count, struct tree *groups)
{
	struct tree *map = tree_item(groups), *columns, *cards;
	struct text unmeasured = TEXT_EMPTY;

	tree_text(map, "group", rows->quantity->group);
	columns = tree_list(map, "reference_columns");
	for (size_t i = 0; i < count; i++)
		if (!i || !same_column(&rows[i - 1], &rows[i]))
			show_column(&rows[i], columns);
	cards = tree_list(map, "reference_cards");
	for (size_t c = 0; c < r->card_count; c++) {
		if (card_has(rows, count, c))
			show_card(r, rows, count, c, cards);
		else
			text_addf(&unmeasured, "%s%s", unmeasured.length ? ", " : "",
				  r->cards[c].label);
	}
	tree_text(map, "unmeasured", unmeasured.data ? unmeasured.data : "");
	text_release(&unmeasured);
	reference_row_charts(r, rows, count, tree_list(map, "group_charts"));
}

static void show_groups(const struct report_reference *r, struct tree *page)
{
	struct tree *groups = tree_list(page, "reference_groups");
	size_t count;

	for (size_t i = 0; i < r->row_count; i += count) {
		for (count = 1;
		     i + count < r->row_count &&
		     strcmp(r->rows[i + count].quantity->group, r->rows[i].quantity->group) == 0;)
			count++;
		show_group(r, &r->rows[i], count, groups);
	}
}

/* One method of FP16 arithmetic: its value and the ratio to FP32. */
static void show_half(const struct report_reference *r, const char *quantity, size_t card,
		      double fp32, struct tree *cells)
{
	const struct reference_row *row = reference_row(r, quantity, "");
	struct tree *cell = tree_item(cells);
	const struct reference_value *value;
	enum provenance kind = PUBLISHED;
	char text[FORMAT_SIZE];
	double ratio;

	value = reference_best(row, card, &kind);
	ratio = value && fp32 > 0 ? value->value / fp32 : (double)NAN;
	tree_text(cell, "mark", value ? provenance_mark(kind) : "");
	tree_text(cell, "kind", value ? provenance_name(kind) : "");
	tree_text(cell, "value", value ? value_words(row, value, kind, text, sizeof(text)) : "–");
	tree_text(cell, "ratio", isfinite(ratio) ? format_ratio(ratio, text, sizeof(text)) : "");
}

static bool has_half(const struct report_reference *r, size_t card)
{
	static const char *const quantities_[] = { "gemm_fp32", "gemm_fp16_storage", "gemm_fp16",
						   "gemm_fp16_tensor" };
	enum provenance kind;

	for (size_t k = 0; k < ARRAY_SIZE(quantities_); k++)
		if (reference_best(reference_row(r, quantities_[k], ""), card, &kind))
			return true;
	return false;
}

static void show_halves(const struct report_reference *r, struct tree *page)
{
	static const char *const quantities_[] = { "gemm_fp16_storage", "gemm_fp16",
						   "gemm_fp16_tensor" };
	const struct reference_row *fp32_row = reference_row(r, "gemm_fp32", "");
	struct tree *rows = tree_list(page, "halves");
	struct text without = TEXT_EMPTY;

	for (size_t i = 0; i < r->card_count; i++) {
		enum provenance kind;
		const struct reference_value *fp32 = reference_best(fp32_row, i, &kind);
		struct tree *row, *cells;
		const struct gpu *gpu = r->cards[i].gpu;
		const char *words = gpu ? gpu_words(gpu, "fp16_arithmetic") : "";

		if (!has_half(r, i)) {
			text_addf(&without, "%s%s", without.length ? ", " : "", r->cards[i].label);
			continue;
		}
		row = tree_item(rows);
		if (!*words && gpu && gpu_figure(gpu, "fp16_tensor") > 0)
			words = "yes, tensor cores";
		tree_text(row, "label", r->cards[i].label);
		view_text(row, "words", *words ? words : "–");
		cells = tree_list(row, "cells");
		show_half(r, "gemm_fp32", i, NAN, cells);
		for (size_t k = 0; k < ARRAY_SIZE(quantities_); k++)
			show_half(r, quantities_[k], i, fp32 ? fp32->value : (double)NAN, cells);
	}
	tree_text_owned(page, "without_halves", text_detach(&without));
}

static bool cited(const struct report_reference *r, const char *source)
{
	for (size_t i = 0; i < r->card_count; i++) {
		const struct gpu *gpu = r->cards[i].gpu;

		for (size_t k = 0; gpu && k < gpu->published_count; k++)
			if (strcmp(gpu->published[k].source, source) == 0)
				return true;
	}
	return false;
}

static void show_published(const struct report_reference *r, struct tree *page)
{
	struct tree *rows = tree_list(page, "published");
	size_t total = 0;

	for (size_t i = 0; i < r->card_count; i++) {
		const struct gpu *gpu = r->cards[i].gpu;

		for (size_t k = 0; gpu && k < gpu->published_count; k++, total++) {
			const struct published *p = &gpu->published[k];
			struct tree *row = tree_item(rows);
			char low[FORMAT_SIZE], high[FORMAT_SIZE];

			tree_text(row, "label", gpu->label);
			tree_text(row, "quantity", p->quantity->title);
			format_stated(isfinite(p->low) ? p->low : p->value, p->quantity->unit, low,
				      sizeof(low));
			format_stated(p->high, p->quantity->unit, high, sizeof(high));
			tree_textf(row, "value", "%s%s%s", low, isfinite(p->high) ? " to " : "",
				   isfinite(p->high) ? high : "");
			tree_textf(row, "devices", "%d", p->devices);
			view_text(row, "workload", p->workload);
			view_text(row, "conditions", p->conditions);
			view_text(row, "above_peak", p->above_peak);
			tree_text(row, "source", p->source);
		}
	}
	tree_textf(page, "published_count", "%zu", total);
}

static void show_sources(const struct report_reference *r, struct tree *page)
{
	size_t count;
	const struct gpu_source *sources = gpus_sources(&count);
	struct tree *rows = tree_list(page, "sources");

	for (size_t i = 0; i < count; i++) {
		struct tree *row;

		if (!cited(r, sources[i].id))
			continue;
		row = tree_item(rows);
		tree_text(row, "id", sources[i].id);
		tree_text(row, "source_title", sources[i].title);
		tree_text(row, "where", sources[i].where);
		tree_text(row, "kind", sources[i].kind);
	}
}

static void show_columns(const struct report_reference *r, struct tree *page)
{
	struct tree *columns = tree_list(page, "cards");
	struct text measured = TEXT_EMPTY;

	for (size_t i = 0; i < r->card_count; i++) {
		struct tree *column = tree_item(columns);

		tree_text(column, "label", r->cards[i].label);
		tree_text(column, "architecture",
			  r->cards[i].gpu ? gpu_words(r->cards[i].gpu, "architecture") : "");
		tree_flag(column, "measured", r->cards[i].measured);
		tree_flag(column, "is_baseline", i == r->baseline);
		if (r->cards[i].measured)
			text_addf(&measured, "%s%s", measured.length ? ", " : "",
				  r->cards[i].label);
	}
	tree_text(page, "measured_cards", measured.data ? measured.data : "");
	tree_text(page, "reference_baseline", r->card_count ? r->cards[r->baseline].label : "");
	text_release(&measured);
}

void view_reference(const struct report_reference *r, struct tree *page)
{
	reference_lead(r, page);
	show_columns(r, page);
	show_sheets(r, page);
	show_groups(r, page);
	show_halves(r, page);
	reference_memory(r, page);
	reference_charts(r, tree_list(page, "reference_charts"));
	show_published(r, page);
	show_sources(r, page);
}
