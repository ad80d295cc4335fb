/* Reference GPUs as tables: data sheets, all published values, sources. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/units.h"
#include "report/page/view_sections.h"
#include "report/reference/reference.h"

static const struct {
	const char *key, *label;
	bool ratio;
} sheet_rows[] = {
	{ "year", "Year", false },
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

static void view_reference_show_sheet_cell(const struct report_reference *r, size_t row,
					   size_t card, struct tree *cells)
{
	const struct gpu *gpu = r->cards[card].gpu, *base = r->cards[r->baseline].gpu;
	const struct sheet_entry *found = gpu ? gpu_entry(gpu, sheet_rows[row].key) : NULL;
	/* A figure without a source does not count. */
	const struct sheet_entry *entry = found && found->status != SHEET_TO_VERIFY ? found : NULL;
	struct tree *cell = tree_item(cells);
	char size[32];
	double ratio = NAN;

	if (entry && !entry->unit)
		view_text(cell, "value", entry->text);
	else if (entry && strcmp(entry->unit, "B") == 0)
		tree_text(
			cell, "value",
			format_spaced(units_size((uint64_t)entry->value, size, sizeof(size))).text);
	else if (entry && strcmp(entry->unit, "1") == 0)
		tree_textf(cell, "value", "%.10g", entry->value);
	else
		tree_text(cell, "value",
			  entry ? format_stated(entry->value, entry->unit).text : "·");
	if (entry && base && card != r->baseline && sheet_rows[row].ratio)
		ratio = entry->value / gpu_figure(base, sheet_rows[row].key);
	tree_text(cell, "ratio", isfinite(ratio) ? format_ratio(ratio).text : "");
}

static bool view_reference_source_is_cited(const struct report_reference *r, const char *source)
{
	for (size_t i = 0; i < r->card_count; i++) {
		const struct gpu *gpu = r->cards[i].gpu;

		for (size_t k = 0; gpu && k < gpu->published_count; k++)
			if (strcmp(gpu->published[k].source, source) == 0)
				return true;
	}
	return false;
}

static void view_reference_show_published(const struct report_reference *r, struct tree *page)
{
	struct tree *rows = tree_list(page, "published");
	size_t total = 0;

	for (size_t i = 0; i < r->card_count; i++) {
		const struct gpu *gpu = r->cards[i].gpu;

		for (size_t k = 0; gpu && k < gpu->published_count; k++, total++) {
			const struct published *p = &gpu->published[k];
			struct tree *row = tree_item(rows);
			struct formatted low, high;

			tree_text(row, "label", gpu->label);
			tree_text(row, "quantity", p->quantity->title);
			low = format_stated(isfinite(p->low) ? p->low : p->value,
					    p->quantity->unit);
			high = format_stated(p->high, p->quantity->unit);
			tree_textf(row, "value", "%s%s%s", low.text,
				   isfinite(p->high) ? " to " : "",
				   isfinite(p->high) ? high.text : "");
			tree_textf(row, "devices", "%d", p->devices);
			view_text(row, "workload", p->workload);
			view_text(row, "conditions", p->conditions);
			view_text(row, "above_peak", p->above_peak);
			tree_text(row, "source", p->source);
		}
	}
	tree_textf(page, "published_count", "%zu", total);
}

static void view_reference_show_sources(const struct report_reference *r, struct tree *page)
{
	size_t count;
	const struct gpu_source *sources = gpus_sources(&count);
	struct tree *rows = tree_list(page, "sources");

	for (size_t i = 0; i < count; i++) {
		struct tree *row;

		if (!view_reference_source_is_cited(r, sources[i].id))
			continue;
		row = tree_item(rows);
		tree_text(row, "id", sources[i].id);
		tree_text(row, "source_title", sources[i].title);
		tree_text(row, "where", sources[i].where);
		tree_text(row, "kind", sources[i].kind);
	}
	tree_textf(page, "source_count", "%zu", rows->count);
}

void view_reference(const struct report_reference *r, struct tree *page)
{
	struct tree *rows;
	struct tree *columns = tree_list(page, "cards");

	for (size_t i = 0; i < r->card_count; i++) {
		struct tree *column = tree_item(columns);

		tree_text(column, "label", r->cards[i].label);
		tree_text(column, "architecture",
			  r->cards[i].gpu ? gpu_words(r->cards[i].gpu, "architecture") : "");
		tree_flag(column, "is_baseline", i == r->baseline);
	}
	tree_textf(page, "card_count", "%zu", r->card_count);
	rows = tree_list(page, "sheet_rows");
	for (size_t i = 0; i < ARRAY_SIZE(sheet_rows); i++) {
		struct tree *row = tree_item(rows), *cells;

		tree_text(row, "label", sheet_rows[i].label);
		cells = tree_list(row, "cells");
		for (size_t c = 0; c < r->card_count; c++)
			view_reference_show_sheet_cell(r, i, c, cells);
	}
	view_reference_show_published(r, page);
	view_reference_show_sources(r, page);
}
