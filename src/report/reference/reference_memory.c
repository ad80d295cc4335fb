/*
 * Largest batches by card, also with no more memory than another card has. Such
 * a row names the GPU that it was measured on.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "base/units.h"
#include "report/reference/reference.h"
#include "report/view/format.h"
#include "report/view/presented.h"
#include "report/view/suite_page.h"

/* A driver reports at most this much less than a nominal 16 GiB, unless ECC takes a part of it. */
#define LOST_TO_DRIVER 0.04
/* How well what the driver shows is known where the data sheet says it. */
#define VISIBLE_TOLERANCE 0.005

/* A card, real or emulated: the rows of the table. */
struct holder {
	const struct device_info *on;
	const char *limit; /* "11441MiB"; "": none */
	double bytes;
};

struct batches {
	const struct report_reference *r;
	struct holder *holders;
	size_t holder_count, holder_capacity;
	char **columns; /* precisions, for people */
	size_t column_count, column_capacity;
};

/* NULL: the case found none. `limit`: the memory that it emulated; "": that of its device. */
static const struct metric_value *largest_batch_of(const struct case_result *c, const char **limit)
{
	struct suite_page page = suite_page_of(view_string(c->suite));

	*limit = "";
	return c->status == CASE_OK && page.largest_batch ? page.largest_batch(c, limit) : NULL;
}

static char *batches_column_of(const struct view *view, const struct case_result *c)
{
	const struct case_parameter *p = view_role_parameter(view, c, ROLE_PRECISION);
	char text[FORMAT_SIZE];

	return xstrdup(p ? view_parameter(view, c->suite, p, text, sizeof(text)) : "");
}

static const struct device_info *batches_batch_device(const struct batches *b, size_t run,
						      const struct case_result *c)
{
	return b->r->view->sources[view_source_of(b->r->view, run, c)].info;
}

static bool batches_is_of(const struct holder *h, const struct device_info *info, const char *limit)
{
	return strcmp(h->on->name, info->name) == 0 && strcmp(h->limit, limit) == 0;
}

static void add_holder(struct batches *b, const struct device_info *info, const char *limit)
{
	struct error ignored = ERROR_NONE;
	uint64_t bytes = info->memory_bytes;

	for (size_t i = 0; i < b->holder_count; i++)
		if (batches_is_of(&b->holders[i], info, limit))
			return;
	if (*limit)
		units_parse_size(limit, &bytes, &ignored);
	ARRAY_GROW(b->holders, b->holder_count, b->holder_capacity);
	b->holders[b->holder_count++] = (struct holder){ info, limit, (double)bytes };
}

static void batches_add_column(struct batches *b, char *label)
{
	for (size_t i = 0; i < b->column_count; i++) {
		if (strcmp(b->columns[i], label) == 0) {
			free(label);
			return;
		}
	}
	ARRAY_GROW(b->columns, b->column_count, b->column_capacity);
	b->columns[b->column_count++] = label;
}

static void batches_collect(struct batches *b)
{
	for (size_t r = 0; r < b->r->view->count; r++) {
		const struct result *result = &b->r->view->results[r];

		for (size_t i = 0; i < result->case_count; i++) {
			const struct case_result *c = &result->cases[i];
			const struct device_info *info = batches_batch_device(b, r, c);
			const char *limit;

			if (!info || device_is_host(info) || !largest_batch_of(c, &limit))
				continue;
			add_holder(b, info, limit);
			batches_add_column(b, batches_column_of(b->r->view, c));
		}
	}
}

static int holders_by_memory(const void *a, const void *b)
{
	const struct holder *p = a, *q = b;

	return (p->bytes > q->bytes) - (p->bytes < q->bytes);
}

/* True if a card of nominally `nominal` bytes shows that many. */
static bool card_shows_bytes(double nominal, double bytes)
{
	return bytes <= nominal && bytes >= nominal * (1 - LOST_TO_DRIVER);
}

/* By its data sheet; of "16 or 32 GiB" either counts. */
static bool has_memory(const struct gpu *gpu, double bytes)
{
	double visible = gpu_figure(gpu, "memory_visible");
	const char *sizes = gpu_words(gpu, "memory_sizes");

	if (isfinite(visible))
		return fabs(bytes / visible - 1) <= VISIBLE_TOLERANCE;
	if (card_shows_bytes(gpu_figure(gpu, "memory"), bytes))
		return true;
	for (const char *p = sizes; (p = strpbrk(p, "0123456789"));) {
		char *end;

		if (card_shows_bytes(0x1p30 * strtod(p, &end), bytes))
			return true;
		p = end;
	}
	return false;
}

/* The cards with that much memory: for a memory limit the cards that it represents. */
static void batches_show_cards(const struct batches *b, const struct holder *h, struct tree *row)
{
	bool emulated = *h->limit;
	struct text cards = TEXT_EMPTY;
	char name[64], text[FORMAT_SIZE];

	view_device_name(h->on->name, name, sizeof(name));
	for (size_t i = 0; emulated && i < b->r->card_count; i++)
		if (b->r->cards[i].gpu && has_memory(b->r->cards[i].gpu, h->bytes))
			text_addf(&cards, "%s%s", cards.length ? ", " : "", b->r->cards[i].label);
	if (!emulated)
		text_add(&cards, name);
	tree_text(row, "label", cards.length ? cards.data : "another card");
	tree_text(row, "memory", emulated ? format_spaced(h->limit, text, sizeof(text)) : "all");
	tree_text(row, "on", name);
	tree_flag(row, "emulated", emulated);
	text_release(&cards);
}

/* The most over whatever else was varied: optimizers, checkpoints, allocators. */
static double batches_most(const struct batches *b, const struct holder *h, const char *column)
{
	double value = NAN;

	for (size_t r = 0; r < b->r->view->count; r++) {
		const struct result *result = &b->r->view->results[r];

		for (size_t i = 0; i < result->case_count; i++) {
			const struct case_result *c = &result->cases[i];
			const struct device_info *info = batches_batch_device(b, r, c);
			const char *limit;
			const struct metric_value *m = largest_batch_of(c, &limit);
			char *own;

			if (!m || !info || !batches_is_of(h, info, limit))
				continue;
			own = batches_column_of(b->r->view, c);
			if (strcmp(own, column) == 0)
				value = fmax(value, m->value);
			free(own);
		}
	}
	return value;
}

static void batches_show_row(const struct batches *b, const struct holder *h, struct tree *row)
{
	char text[FORMAT_SIZE];
	struct tree *cells;

	batches_show_cards(b, h, row);
	cells = tree_list(row, "cells");
	for (size_t i = 0; i < b->column_count; i++) {
		double value = batches_most(b, h, b->columns[i]);

		if (isfinite(value))
			tree_text(tree_item(cells), "value",
				  format_count(value, text, sizeof(text)));
		else
			tree_text(tree_item(cells), "value", "not measured");
	}
}

void reference_memory(const struct report_reference *r, struct tree *page)
{
	struct tree *columns = tree_list(page, "memory_columns"),
		    *rows = tree_list(page, "memory_rows");
	struct batches b = { .r = r };

	batches_collect(&b);
	if (b.holder_count)
		qsort(b.holders, b.holder_count, sizeof(*b.holders), holders_by_memory);
	for (size_t i = 0; i < b.column_count; i++)
		tree_text(tree_item(columns), "label", b.columns[i]);
	for (size_t i = 0; i < b.holder_count; i++)
		batches_show_row(&b, &b.holders[i], tree_item(rows));
	tree_flag(page, "has_memory_rows", b.holder_count != 0);
	for (size_t i = 0; i < b.column_count; i++)
		free(b.columns[i]);
	free(b.columns);
	free(b.holders);
}
