/*
 * Device memory of a training step without and with buffer aliasing (models/buffer_alias.h),
 * by mode and model, from the allocations of rank 0 without a device: bench_memory. Two columns
 * each: the first step, which tunes layouts, and those after it; then what aliasing saves of both.
 * Workspaces of libraries are not counted.
 */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "suites/training/models/network.h"
#include "suites/training/models/buffer_alias.h"
#include "suites/training/parallel/modes/modes.h"

struct memory {
	uint64_t now, peak;
};

struct model_row {
	const char *name, *precision;
	uint64_t widths[20];
	size_t layers;
	uint64_t batch;
};

static enum status take(void *state, enum memory_class tag, uint64_t bytes, void **out,
			struct error *err)
{
	static char addresses[4096];
	static size_t next;
	struct memory *m = state;

	(void)tag;
	(void)err;
	*out = &addresses[next++ % sizeof(addresses)];
	m->now += bytes;
	m->peak = m->now > m->peak ? m->now : m->peak;
	return STATUS_OK;
}

static void give(void *state, enum memory_class tag, void *memory, uint64_t bytes)
{
	struct memory *m = state;

	(void)tag;
	(void)memory;
	m->now -= bytes;
}

/* The tuning step's copies, which gemm_tuning_tune_wgrad_layout() allocates layer by layer. */
static void open_transposed(struct network *n, struct error *err)
{
	for (size_t l = n->partition.first; l < n->partition.last; l++) {
		size_t b = network_transposed_buffer(n, l);

		n->wgrad_layouts[l] = WGRAD_TRANSPOSED;
		if (!n->transposed[b])
			arena_alloc(n->arena, MEMORY_TRANSIENT,
				    network_transposed_columns(n, b) * n->step_rows *
					    precision_bytes(n->setup->precision),
				    &n->transposed[b], err);
	}
}

static struct memory memory_of(const struct setup *setup, bool transposed)
{
	struct memory m = { 0 }, found;
	struct arena_source source = { &m, take, give };
	struct error err = ERROR_NONE;
	struct network network;
	struct arena arena;
	struct pair_buffers pairs = { 0 };
	bool tensor = strcmp(setup->mode->name, "tensor") == 0;

	arena_init(&arena, NULL);
	arena.source = &source;
	network_open(&network, setup, NULL, &arena, 0, &err);
	if (tensor) {
		buffer_alias_pairs_open(&network, &pairs, &err);
	} else if (setup->mode->buffers) {
		m.now += setup->mode->buffers(setup, 0);
		m.peak = m.now;
	}
	if (transposed)
		open_transposed(&network, &err);
	buffer_alias_transposed(&network);
	if (tensor)
		buffer_alias_pairs_transposed(&network, &pairs);
	found = m;
	arena_release(&arena);
	return found;
}

static void print(const struct model_row *row, const char *mode, int ranks,
		  enum optimizer optimizer)
{
	struct setup s = { .mode = mode_find(mode),
			   .ranks = ranks,
			   .layers = row->layers,
			   .batch = row->batch,
			   .microbatches = 1,
			   .bucket_bytes = 25 << 20,
			   .optimizer = optimizer,
			   .beta1 = 0.9,
			   .beta2 = 0.999,
			   .loss_scale = 1 };

	memcpy(s.widths, row->widths, sizeof(row->widths));
	setup_set_training(&s, row->precision);
	setup_fit_mode(&s);
	for (int transposed = 0; transposed < 2; transposed++) {
		struct mode plain = *s.mode;
		struct setup without = s;
		struct memory with = memory_of(&s, transposed), other;

		plain.aliases_buffers = false;
		without.mode = &plain;
		other = memory_of(&without, transposed);
		printf("%-26s %-10s %-8s %-6s %d %-10s %8.1f %8.1f MiB  %8.1f %8.1f MiB  gain "
		       "%4.1f %% %4.1f %%\n",
		       row->name, row->precision, optimizer_names[optimizer], mode, ranks,
		       transposed ? "transposed" : "direct", other.peak / 1048576.,
		       other.now / 1048576., with.peak / 1048576., with.now / 1048576.,
		       100 * (1 - (double)with.peak / other.peak),
		       100 * (1 - (double)with.now / other.now));
	}
}

static struct model_row square(const char *name, const char *precision, uint64_t width,
			       size_t depth, uint64_t batch)
{
	struct model_row row = {
		.name = name, .precision = precision, .layers = depth, .batch = batch
	};

	for (size_t l = 0; l <= depth; l++)
		row.widths[l] = width;
	return row;
}

int main(void)
{
	static const char *const names[] = { "single", "ddp", "zero1", "zero2", "zero3", "tensor" };
	const struct model_row rows[] = {
		{ "1000-2000-1000-10 b1024", "fp32", { 1000, 2000, 1000, 10 }, 3, 1024 },
		square("8192x8 b8192", "tf32", 8192, 8, 8192),
		square("8192x8 b8192", "fp16_mixed", 8192, 8, 8192),
		square("2048x16 b8192", "tf32", 2048, 16, 8192),
		square("8192x8 b1024", "tf32", 8192, 8, 1024),
		square("2048x8 b1024", "tf32", 2048, 8, 1024),
		square("512x8 b16384", "tf32", 512, 8, 16384),
	};

	for (size_t r = 0; r < ARRAY_SIZE(rows); r++)
		for (size_t m = 0; m < ARRAY_SIZE(names); m++)
			for (int ranks = m ? 2 : 1; ranks <= (m ? 8 : 1); ranks += 6)
				print(&rows[r], names[m], ranks, OPTIMIZER_ADAM);
	return 0;
}
