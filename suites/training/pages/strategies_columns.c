/*
 * Columns of the table of strategies that are more than a metric: the parts of a step's time and
 * the utilisation of the devices; and the table of the fastest that fits into memory.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "plan/limits/spec_keys.h"
#include "reference/spec.h"
#include "report/chart/chart.h"
#include "report/view/format.h"
#include "report/view/memory_limit.h"
#include "suites/training/pages/strategies.h"

bool strategies_columns_time_parts(const struct strategy *s, double parts[TIME_PARTS])
{
	double compute = strategies_value(s, "parallel.compute_time"),
	       scheduled = strategies_value(s, "parallel.schedule_time");

	/* Older results have no schedule with measured times, only a formula's idle share. */
	if (!isfinite(scheduled))
		scheduled = compute / (1 - strategies_value(s, "parallel.bubble_model"));
	if (!isfinite(compute) || !isfinite(scheduled))
		return false;
	parts[0] = fmin(compute, s->seconds);
	parts[1] = fmax(fmin(scheduled, s->seconds) - parts[0], 0);
	parts[2] = s->seconds - fmin(scheduled, s->seconds);
	return true;
}

void strategies_columns_add_time_parts(const struct strategy *s, struct tree *cells)
{
	double parts[TIME_PARTS];
	bool known = strategies_columns_time_parts(s, parts);

	for (size_t i = 0; i < TIME_PARTS; i++) {
		/* "4.75 ms, 31 %" of the step. */
		if (!known)
			tree_item_text(cells, "\u2013");
		else if (parts[i] <= 0)
			tree_item_text(cells, "none");
		else
			tree_item_text(cells,
				       format_text("%s, %s", format_rounded(parts[i], "s").text,
						   format_percent(parts[i] / s->seconds).text)
					       .text);
	}
}

#define BAR_WIDTH 120.0 /* px of the longest step */

void strategies_columns_add_bar(const struct strategy *s, double longest, struct tree *row)
{
	/* As in the table's key (section_table.mustache); grey: not divided. */
	static const char *const colours[TIME_PARTS] = { "#0b5cad", "#d55e00", "#009e73" };
	struct tree *bars = tree_list(row, "bars");
	double parts[TIME_PARTS], at = 0;
	bool known = strategies_columns_time_parts(s, parts);

	for (size_t i = 0; longest > 0 && i < (known ? TIME_PARTS : 1u); i++) {
		double width = BAR_WIDTH * (known ? parts[i] : s->seconds) / longest;
		struct tree *bar;

		if (!(width > 0))
			continue;
		bar = tree_item(bars);
		chart_coordinate(bar, "x", at);
		chart_coordinate(bar, "width", width);
		tree_text(bar, "colour", known ? colours[i] : "#767676");
		at += width;
	}
}

/* The data-sheet key of the GEMM rate in this precision; NULL: there is none. */
static const char *strategies_columns_sheet_key(const struct strategy *strategy)
{
	static const char *const keys[][2] = {
		{ "tf32", "tf32_tensor" },
		{ "fp16_mixed", "fp16_tensor" },
		{ "fp16_storage", "fp16_tensor" },
		{ "bf16_mixed", "bf16_tensor" },
		{ "fp32", "fp32" },
		{ "fp64", "fp64_tensor" },
	};
	const struct case_parameter *p = case_parameter(strategy->c, "precision");

	for (size_t i = 0; p && i < ARRAY_SIZE(keys); i++)
		if (strcmp(view_string(p->text), keys[i][0]) == 0)
			return keys[i][1];
	return NULL;
}

/* Total FLOP/s of its devices by their data sheet; NaN: unknown. */
static double strategies_columns_sheet_peak(const struct strategy *strategy)
{
	const struct device_info *device =
		result_device(&strategy->view->results[strategy->run], strategy->c->device);
	const char *key = strategies_columns_sheet_key(strategy), *status;
	double value;

	if (!device || !key || !spec_lookup(device, key, &value, &status))
		return NAN;
	return value * (double)(strategy->c->device_count ? strategy->c->device_count : 1);
}

struct formatted strategies_columns_utilisation(const struct strategy *s)
{
	double mfu = strategies_value(s, "parallel.flops") / strategies_columns_sheet_peak(s);
	double more = strategies_value(s, "parallel.hfu") / strategies_value(s, "parallel.mfu");

	if (!isfinite(mfu))
		return format_text("\u2013");
	if (!isfinite(more) || more <= 1.0001)
		return format_text("%.1f\u00a0%%", 100 * mfu);
	return format_text("%.1f\u00a0%%, HFU %.1f\u00a0%%", 100 * mfu, 100 * mfu * more);
}

/* "494.7 TFLOP/s" for the first strategy's devices: a page rarely has several GPU models. */
char *strategies_columns_peak_words(const struct strategies *strategies)
{
	struct text out = TEXT_EMPTY;

	for (size_t i = 0; i < strategies->count; i++) {
		const struct strategy *s = &strategies->items[i];
		double peak = strategies_columns_sheet_peak(s) /
			      (double)(s->c->device_count ? s->c->device_count : 1);
		char *words;

		if (!isfinite(peak))
			continue;
		words = xasprintf("%s (%s)", format_stated(peak, "FLOP/s").text,
				  spec_key_find(strategies_columns_sheet_key(s))->help);
		if (!out.data || !strstr(out.data, words))
			text_addf(&out, "%s%s", out.length ? ", " : "", words);
		free(words);
	}
	return text_detach(&out);
}

/* A table of the fastest strategy of each model within a memory limit. */

static void strategies_columns_memory_limit_add_row(const struct strategies *strategies,
						    const char *model,
						    const struct memory_limit *limit,
						    struct tree *rows)
{
	struct tree *row = tree_item(rows), *cells = tree_list(row, "cells");
	const struct strategy *best = NULL;

	for (size_t i = 0; i < strategies->count; i++) {
		const struct strategy *s = &strategies->items[i];

		if (strcmp(s->model, model) == 0 && s->memory <= limit->bytes &&
		    (!best || s->seconds < best->seconds))
			best = s;
	}
	tree_text(row, "name", model);
	tree_text(row, "where", limit->name);
	tree_text(row, "interval", "");
	tree_item_text(cells, best ? best->name : "none of the measured strategies");
	tree_item_text(cells, format_quantity(best ? best->seconds : NAN, "s").text);
	tree_item_text(cells, format_quantity(best ? best->memory : NAN, "B").text);
}

void strategies_columns_under_limits(const struct strategies *strategies,
				     const struct memory_limit *limits, size_t count,
				     struct tree *tables)
{
	static const char *const head[] = { "Fastest strategy", "Step time", "Memory per device" };
	struct tree *table, *columns, *rows;

	if (!count || !strategies->count)
		return;
	table = tree_item(tables);
	tree_text(table, "title",
		  "Fastest strategy under a memory limit per device. The limit covers tensors and "
		  "workspaces, not context and collectives' library");
	tree_text(table, "note", "");
	tree_text(table, "first", "Model");
	tree_text(table, "second", "Limit");
	columns = tree_list(table, "head");
	for (size_t i = 0; i < ARRAY_SIZE(head); i++)
		tree_item_text(columns, head[i]);
	rows = tree_list(table, "rows");
	for (size_t i = 0; i < strategies->count; i++)
		for (size_t k = 0; k < count && strategies_is_first(strategies, i); k++)
			strategies_columns_memory_limit_add_row(strategies,
								strategies->items[i].model,
								&limits[k], rows);
}
