/* A table of the fastest strategy of each model within a memory limit. */
#include "report/strategies/strategies_limit.h"

#include <math.h>
#include <stdio.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "base/units.h"
#include "reference/gpu.h"
#include "report/strategies/strategies.h"
#include "report/view/format.h"

static const struct sheet_entry *memory_of(const struct gpu *gpu)
{
	for (size_t i = 0; i < gpu->entry_count; i++)
		if (strcmp(gpu->entries[i].key, "memory") == 0)
			return &gpu->entries[i];
	return NULL;
}

static enum status parse_one(const char *word, struct memory_limit *limit, struct error *err)
{
	struct error no_size = ERROR_NONE;
	const struct gpu *gpus;
	uint64_t bytes;
	size_t count;
	char size[FORMAT_SIZE];

	if (units_parse_size(word, &bytes, &no_size) == STATUS_OK && bytes > 0) {
		limit->bytes = (double)bytes;
		snprintf(limit->name, sizeof(limit->name), "%s", word);
		return STATUS_OK;
	}
	gpus = gpus_all(&count);
	for (size_t i = 0; i < count; i++) {
		const struct sheet_entry *memory = memory_of(&gpus[i]);

		if (strcmp(gpus[i].id, word) != 0 || !memory)
			continue;
		limit->bytes = memory->value;
		snprintf(limit->name, sizeof(limit->name), "%s, %s", gpus[i].label,
			 format_quantity(memory->value, "B", size, sizeof(size)));
		return STATUS_OK;
	}
	return error_set(err, STATUS_USAGE,
			 "memory limit '%.40s': allowed are sizes such as 8GiB and ids of gpuproof "
			 "list gpus whose memory is known",
			 word);
}

enum status memory_limits_parse(const char *text, struct memory_limit limits[LIMITS_MOST],
				size_t *count, struct error *err)
{
	char *words = xstrdup(text), *rest = words, *word;

	*count = 0;
	while ((word = strsep(&rest, ",")) && err->status == STATUS_OK) {
		char *trimmed = text_trimmed(word, strlen(word));

		if (*trimmed && *count == LIMITS_MOST)
			error_set(err, STATUS_USAGE, "more than %d memory limits", LIMITS_MOST);
		else if (*trimmed && parse_one(trimmed, &limits[*count], err) == STATUS_OK)
			++*count;
		free(trimmed);
	}
	free(words);
	return err->status;
}

/* The fastest strategy of that model within `bytes`; NULL: none was measured. */
static const struct strategy *best_within(const struct strategies *strategies, const char *model,
					  double bytes)
{
	const struct strategy *best = NULL;

	for (size_t i = 0; i < strategies->count; i++) {
		const struct strategy *s = &strategies->items[i];

		if (strcmp(s->model, model) == 0 && s->memory <= bytes &&
		    (!best || s->seconds < best->seconds))
			best = s;
	}
	return best;
}

static void add_row(const struct strategies *strategies, const char *model,
		    const struct memory_limit *limit, struct tree *rows)
{
	const struct strategy *best = best_within(strategies, model, limit->bytes);
	struct tree *row = tree_item(rows), *cells = tree_list(row, "cells");
	char text[FORMAT_SIZE];

	tree_text(row, "name", model);
	tree_text(row, "where", limit->name);
	tree_text(row, "interval", "");
	tree_item_text(cells, best ? best->name : "none of those measured");
	tree_item_text(cells, format_quantity(best ? best->seconds : NAN, "s", text, sizeof(text)));
	tree_item_text(cells, format_quantity(best ? best->memory : NAN, "B", text, sizeof(text)));
}

void strategies_under_limits(const struct strategies *strategies, const struct memory_limit *limits,
			     size_t count, struct tree *tables)
{
	static const char *const head[] = { "Fastest split", "Step time", "Memory of a device" };
	struct tree *table, *columns, *rows;

	if (!count || !strategies->count)
		return;
	table = tree_item(tables);
	tree_text(table, "title",
		  "Best split under a memory limit of each device: tensors and workspaces of the "
		  "device that needs most; its context and the collectives' library come on top");
	tree_text(table, "note", "");
	tree_text(table, "first", "Model");
	tree_text(table, "second", "Limit");
	columns = tree_list(table, "head");
	for (size_t i = 0; i < ARRAY_SIZE(head); i++)
		tree_item_text(columns, head[i]);
	rows = tree_list(table, "rows");
	for (size_t i = 0; i < strategies->count; i++)
		for (size_t k = 0; k < count && strategies_is_first(strategies, i); k++)
			add_row(strategies, strategies->items[i].model, &limits[k], rows);
}
