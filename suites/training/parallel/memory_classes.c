#include "suites/training/parallel/memory_classes.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "plan/suite.h"
#include "suites/training/models/network.h"
#include "suites/training/models/mode.h"

/* Returns addresses without memory. */
static enum status memory_classes_footprint_count(void *state, enum memory_class tag,
						  uint64_t bytes, void **out, struct error *err)
{
	uint64_t *all = state;

	(void)tag;
	*out = (char *)state + 1;
	*all += bytes;
	return err->status;
}

static void memory_classes_footprint_forget(void *state, enum memory_class tag, void *memory,
					    uint64_t bytes)
{
	(void)state;
	(void)tag;
	(void)memory;
	(void)bytes;
}

static uint64_t memory_classes_footprint_of_rank(const struct setup *setup, int rank)
{
	struct error none = ERROR_NONE;
	struct arena_source source = { .take = memory_classes_footprint_count,
				       .give = memory_classes_footprint_forget };
	struct network network;
	struct arena arena;
	uint64_t bytes = 0, columns = 0;

	source.state = &bytes;
	arena_init(&arena, NULL);
	arena.source = &source;
	network_open(&network, setup, NULL, &arena, rank, &none);
	arena_release(&arena);
	/* The transposed output rows: see struct network. */
	for (size_t i = 0; i < SETUP_MAX_LAYERS && setup->weight_gradient != WGRAD_DIRECT; i++)
		columns += network_transposed_columns(&network, i);
	return bytes + columns * network.step_rows * precision_bytes(setup->precision) +
	       (setup->mode->buffers ? setup->mode->buffers(setup, rank) : 0);
}

uint64_t memory_classes_footprint(const struct setup *setup)
{
	uint64_t most = 0;

	for (int rank = 0; rank < setup->ranks; rank++) {
		uint64_t bytes = memory_classes_footprint_of_rank(setup, rank);

		most = bytes > most ? bytes : most;
	}
	return most;
}

/* Per token and hidden value: values in the precision, and one-byte masks. */
static double memory_classes_block_formula_bytes(const struct network *n)
{
	double e = (double)precision_bytes(n->setup->precision), t = n->partition.parts,
	       norms = n->setup->pointwise ? 2 : 4, inner = n->setup->pointwise ? 8 : 12;

	return ((norms * e + 2) * (n->partition.sequence ? 1 : t) + inner * e) / t;
}

/* Per token and head: the softmax of the scores, the result of dropout, and a mask. */
static double memory_classes_block_scores_bytes(const struct network *n)
{
	double e = (double)precision_bytes(n->setup->precision), t = n->partition.parts;

	return (2 * e + 1) * (double)n->setup->transformer.heads *
	       (double)n->setup->transformer.sequence / t;
}

struct block_memory memory_classes_block_memory_of(const struct network *n)
{
	double h = (double)n->setup->transformer.hidden, kept = (double)n->partition.kept,
	       step = (double)n->step_rows, t = n->partition.parts, blocks = 0, inputs,
	       bytes = (double)precision_bytes(n->setup->precision);
	struct block_memory m = { .kept = (double)n->blocks.kept_bytes };

	for (size_t l = n->partition.first; l < n->partition.last; l++)
		if (n->local.layer[l].kind == LAYER_BLOCK) {
			blocks++;
			m.kept += (double)n->kept[l] / (double)network_row_shares(n, l) * h * bytes;
		}
	m.published = blocks * kept * h * memory_classes_block_formula_bytes(n);
	if (n->setup->pointwise)
		m.published +=
			step * h * bytes * (1.0 / (double)network_row_shares(n, 1) + 4.0 / t);
	m.unfused = m.published + blocks * kept * memory_classes_block_scores_bytes(n);
	if (blocks == 0 || !setup_recomputes_blocks(n->setup))
		return m;
	inputs = h * bytes / (double)network_row_shares(n, 1);
	m.published = blocks * kept * inputs +
		      step * (h * memory_classes_block_formula_bytes(n) - inputs);
	m.unfused = m.published + step * memory_classes_block_scores_bytes(n);
	return m;
}

uint64_t memory_classes_total(const uint64_t *bytes)
{
	uint64_t total = 0;

	for (int c = 0; c < MEMORY_STEP_CLASSES; c++)
		total += bytes[c];
	return total - bytes[MEMORY_SHARED];
}

void memory_classes_record(struct run *run, const uint64_t *bytes)
{
	char name[64];

	snprintf(name, sizeof(name), "%s.memory", run->c->suite->name);
	run_value(run, name, (double)memory_classes_total(bytes));
	for (int c = 0; c < MEMORY_STEP_CLASSES; c++) {
		snprintf(name, sizeof(name), "%s.memory_%s", run->c->suite->name,
			 memory_class_names[c]);
		run_value(run, name, (double)bytes[c]);
	}
	if (bytes[MEMORY_SHARED] == 0)
		return;
	snprintf(name, sizeof(name), "%s.memory_shared", run->c->suite->name);
	run_value(run, name, (double)bytes[MEMORY_SHARED]);
}

void memory_classes_describe(struct text *out, const uint64_t *bytes)
{
	const char *between = "";
	char size[32];

	for (int c = 0; c < MEMORY_STEP_CLASSES; c++) {
		if (!bytes[c])
			continue;
		text_addf(out, "%s%s %s", between, memory_class_names[c],
			  units_format((double)bytes[c], "B", size, sizeof(size)));
		between = ", ";
	}
	if (!*between)
		text_add(out, "nothing");
}

/*
 * "16 MB", or "8 MB, 12 MB, nothing" if ranks differ in the displayed digits; `stride`: from rank
 * to rank.
 */
static void memory_classes_describe_each(struct text *out, const uint64_t *bytes, size_t stride,
					 int ranks)
{
	char size[32];

	for (int rank = 0; rank < ranks; rank++) {
		uint64_t own = bytes[(size_t)rank * stride];

		text_addf(out, "%s%s", rank ? ", " : "",
			  own ? units_format((double)own, "B", size, sizeof(size)) : "nothing");
	}
}

/* True if the displayed digits are equal: small alignment differences do not count. */
static bool memory_classes_shown_alike(const uint64_t *bytes, size_t stride, int ranks)
{
	char first[32], other[32];

	units_format((double)bytes[0], "B", first, sizeof(first));
	for (int rank = 1; rank < ranks; rank++)
		if (strcmp(first, units_format((double)bytes[(size_t)rank * stride], "B", other,
					       sizeof(other))) != 0)
			return false;
	return true;
}

void memory_classes_describe_ranks(struct text *out, const uint64_t (*bytes)[MEMORY_CLASS_COUNT],
				   const uint64_t *connections, int ranks)
{
	uint64_t common[MEMORY_CLASS_COUNT] = { 0 };
	int differ = 0;
	bool same;

	for (int c = 0; c < MEMORY_STEP_CLASSES; c++)
		if (memory_classes_shown_alike(&bytes[0][c], MEMORY_CLASS_COUNT, ranks))
			common[c] = bytes[0][c];
		else
			differ++;
	if (memory_classes_total(common) || !differ)
		memory_classes_describe(out, common);
	for (int c = 0; c < MEMORY_STEP_CLASSES; c++) {
		if (memory_classes_shown_alike(&bytes[0][c], MEMORY_CLASS_COUNT, ranks))
			continue;
		text_addf(out, "%s%s of ranks 0 to %d: ", out->length ? "; " : "",
			  memory_class_names[c], ranks - 1);
		memory_classes_describe_each(out, &bytes[0][c], MEMORY_CLASS_COUNT, ranks);
	}
	/* The classes add up to more than the memory by the shared bytes. */
	same = memory_classes_shown_alike(&bytes[0][MEMORY_SHARED], MEMORY_CLASS_COUNT, ranks);
	if (!same || bytes[0][MEMORY_SHARED]) {
		text_add(out, "; of this, two classes share ");
		memory_classes_describe_each(out, &bytes[0][MEMORY_SHARED], MEMORY_CLASS_COUNT,
					     same ? 1 : ranks);
	}
	same = memory_classes_shown_alike(connections, 1, ranks);
	if (same && !connections[0])
		return;
	text_add(out, "; connections between ranks need in addition ");
	memory_classes_describe_each(out, connections, 1, same ? 1 : ranks);
}
