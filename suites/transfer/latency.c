/*
 * Latency of dependent loads: a kernel follows pointers that visit all of the memory once in random
 * order, so that neither a cache nor a prefetcher can predict the next one.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "kernels/generator.h"
#include "kernels/memory/chase.h"
#include "suites/transfer/lane.h"
#include "suites/transfer/transfer.h"

/* Each pointer has a separate cache line. */
#define LINE 128
/*
 * A longer chain takes longer to set up without a benefit: in larger memory its steps are longer.
 */
#define MOST_NODES (1u << 20)
/*
 * Steps per launch, which takes a few microseconds itself. A prime: a launch that does nothing
 * leaves the cursor unchanged, so the steps must not be a multiple of the number of nodes, which is
 * often a power of two.
 */
#define HOPS 2053
/* Each launch runs on another multiprocessor: the median should cover many of them. */
#define MIN_SAMPLES 33

struct chase {
	struct run *run;
	struct pool *pool;
	struct device *device; /* that loads */
	struct stream *stream, *at_memory;
	struct buffer memory, cursor;
	struct buffer staging; /* for memory that the CPU does not write */
	int node;
	uint32_t *order; /* node visited in step i */
	size_t count, spacing;
	uint64_t launches;
};

static size_t transfer_latency_chase_node_count(size_t bytes)
{
	size_t lines = bytes / LINE;

	return lines < 1 ? 1 : lines < MOST_NODES ? lines : MOST_NODES;
}

static size_t transfer_latency_spacing_of(size_t bytes)
{
	size_t spacing = bytes / transfer_latency_chase_node_count(bytes) / LINE * LINE;

	return spacing ? spacing : LINE;
}

uint64_t transfer_latency_chase_footprint(size_t bytes)
{
	return (uint64_t)transfer_latency_chase_node_count(bytes) *
	       transfer_latency_spacing_of(bytes);
}

static uintptr_t transfer_latency_chase_address(const struct chase *c, uint64_t step)
{
	return (uintptr_t)c->memory.memory + c->order[step % c->count] * c->spacing;
}

static enum status transfer_latency_chase_open_memory(struct chase *c, const struct transfer *t,
						      size_t bytes, struct error *err)
{
	struct device *home = t->run->devices[t->direction == LATENCY_P2P];
	size_t footprint = (size_t)transfer_latency_chase_footprint(bytes);
	int none;

	if (backend_stream_create(c->device, false, &c->stream, err) != STATUS_OK ||
	    backend_stream_create(home, false, &c->at_memory, err) != STATUS_OK ||
	    transfer_lane_pool_take(c->pool, &c->cursor, c->device, ALLOCATOR_DEVICE,
				    sizeof(void *), &none, err) != STATUS_OK)
		return err->status;
	if (t->info->host)
		return transfer_lane_pool_take(c->pool, &c->memory, home, t->memory, footprint,
					       &c->node, err);
	if (transfer_lane_pool_take(c->pool, &c->memory, home, ALLOCATOR_DEVICE, footprint, &none,
				    err) != STATUS_OK)
		return err->status;
	return transfer_lane_pool_take(c->pool, &c->staging, home, ALLOCATOR_PAGEABLE, footprint,
				       &none, err);
}

static enum status transfer_latency_chase_fill_memory(struct chase *c, struct error *err)
{
	char *memory = c->staging.memory ? c->staging.memory : c->memory.memory;
	uintptr_t first;

	/* A random order, and in `memory` the pointers that follow it and return to the start. */
	for (size_t i = 0; i < c->count; i++) {
		size_t j = (size_t)(generator_bits(c->run->seed, i) % (i + 1));

		c->order[i] = c->order[j];
		c->order[j] = (uint32_t)i;
	}
	for (size_t i = 0; i < c->count; i++) {
		uintptr_t next = transfer_latency_chase_address(c, i + 1);

		memcpy(memory + c->order[i] * c->spacing, &next, sizeof(next));
	}
	first = transfer_latency_chase_address(c, 0);
	if (c->staging.memory && (backend_copy(c->at_memory, c->memory.memory, c->staging.memory,
					       c->memory.bytes, err) != STATUS_OK ||
				  backend_stream_synchronize(c->at_memory, err) != STATUS_OK))
		return err->status;
	if (backend_copy(c->stream, c->cursor.memory, &first, sizeof(first), err) != STATUS_OK)
		return err->status;
	return backend_stream_synchronize(c->stream, err);
}

static enum status transfer_latency_launch_chase(void *state, unsigned batch, struct error *err)
{
	struct chase *c = state;
	enum status status = STATUS_OK;

	for (unsigned i = 0; i < batch && status == STATUS_OK; i++) {
		/* Multiprocessors in rotation; a prime step soon covers all parts of the chip. */
		struct chase_arguments a = { .cursor = c->cursor.memory,
					     .hops = HOPS,
					     .turn = 37 * c->launches++ };

		status = backend_launch(c->stream, "chase", &a, err);
	}
	return status;
}

/* Verifies every hop: the chain ends at the expected node unless one of them was wrong. */
enum status transfer_latency_chase_check(struct transfer *t, const char *when, struct error *err)
{
	struct chase *c = t->chase;
	uintptr_t expected = transfer_latency_chase_address(c, c->launches * HOPS), got = 0;

	if (backend_copy(c->stream, &got, c->cursor.memory, sizeof(got), err) != STATUS_OK ||
	    backend_stream_synchronize(c->stream, err) != STATUS_OK) {
		backend_stream_synchronize(c->stream, NULL); /* `got` is on the stack */
		return err->status;
	}
	if (got == expected)
		return STATUS_OK;
	return error_set(err, STATUS_MISMATCH,
			 "corrupt: %s timing: after %" PRIu64 " hops the path is at %#" PRIxPTR
			 " but should be at %#" PRIxPTR,
			 when, c->launches * HOPS, got, expected);
}

enum status transfer_latency_chase_open(struct transfer *t, struct error *err)
{
	struct transfer_state *state = t->run->suite_state;
	struct chase *c = t->chase = xcalloc(1, sizeof(*c));

	*c = (struct chase){ .run = t->run,
			     .pool = &state->pool,
			     .device = t->run->devices[0],
			     .count = transfer_latency_chase_node_count(t->bytes),
			     .spacing = transfer_latency_spacing_of(t->bytes),
			     .node = -1 };
	c->order = xcalloc(c->count, sizeof(*c->order));
	if (transfer_latency_chase_open_memory(c, t, t->bytes, err) != STATUS_OK ||
	    transfer_latency_chase_fill_memory(c, err) != STATUS_OK)
		return err->status;
	transfer_case_note_nodes(t->run, &c->node, 1);
	if (transfer_latency_launch_chase(c, 1, err) != STATUS_OK ||
	    transfer_latency_chase_check(t, "before", err) != STATUS_OK)
		return err->status;
	t->timings[t->timing_count++] = (struct timing){
		.name = "transfer.chase",
		.workload = { .state = c,
			      .launch = transfer_latency_launch_chase,
			      .clock = CLOCK_DEVICE,
			      .streams = &c->stream,
			      .stream_count = 1,
			      .min_samples = MIN_SAMPLES },
		.series = t->run->result->series_count,
	};
	return STATUS_OK;
}

void transfer_latency_chase_record(struct transfer *t)
{
	run_scaled(t->run, "transfer.latency", 1.0 / HOPS, transfer_case_series(t, 0));
}

void transfer_latency_chase_close(struct transfer *t)
{
	struct chase *c = t->chase;

	if (!c)
		return;
	if (c->stream)
		backend_stream_synchronize(c->stream, NULL);
	if (c->at_memory)
		backend_stream_synchronize(c->at_memory, NULL);
	transfer_lane_pool_give(c->pool, &c->staging);
	transfer_lane_pool_give(c->pool, &c->memory);
	transfer_lane_pool_give(c->pool, &c->cursor);
	backend_stream_destroy(c->at_memory);
	backend_stream_destroy(c->stream);
	free(c->order);
	free(c);
	t->chase = NULL;
}
