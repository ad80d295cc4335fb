/*
 * A growing block, such as a buffer that follows its content. Methods:
 *   once    allocates the full size at the start
 *   copy    allocates a larger block at each step, copies the content, frees the old block
 *   double  the same, but the capacity doubles: fewer copies, more memory
 *   map     reserves addresses and maps memory at each step: nothing moves
 * A sample is the whole growth from nothing to the full size, up to the end of the last copy.
 */
#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/units.h"
#include "kernels/generator.h"
#include "suites/alloc/alloc.h"

struct grower {
	struct run *run;
	struct origin origin;
	struct stream *stream;
	enum alloc_growth method;
	size_t step, final; /* bytes */
	void *block;        /* the current block */
	size_t bytes;       /* its size */
	size_t other;       /* size of the block that the content moves to */
	struct memory_range *range;
	struct exchange *marks; /* patterns in the first bytes of each step; NULL: not now */
	/* while marks are written: peak of allocated memory, and its base */
	int64_t peak, base;
	bool seen; /* the device reports its free memory */
};

static char *growth_start_of(const struct grower *g)
{
	return g->range ? g->range->start : g->block;
}

/*
 * Reads the memory in use; for memory shared with other processes, the bytes requested by this
 * growth.
 */
static void growth_track_peak(struct grower *g)
{
	struct error ignored = ERROR_NONE;
	int64_t taken = (int64_t)(g->bytes + g->other + (g->range ? g->range->mapped : 0));
	uint64_t unused;

	if (!g->marks)
		return;
	if (g->seen && alloc_blocks_free_bytes(g->run->devices[0], &unused, &ignored) == STATUS_OK)
		taken = g->base - (int64_t)unused;
	if (taken > g->peak)
		g->peak = taken;
}

/* Marks the steps whose memory is new. */
static enum status growth_mark(struct grower *g, size_t from, size_t to, struct error *err)
{
	for (size_t at = from; g->marks && at < to; at += g->step) {
		struct exchange *x = &g->marks[at / g->step];

		x->sent = generator_bits(g->run->seed, at);
		if (checked_blocks_exchange_write(g->stream, g->origin.on_device,
						  growth_start_of(g) + at, x, err) != STATUS_OK)
			return err->status;
	}
	return STATUS_OK;
}

static enum status growth_move_to(struct grower *g, size_t bytes, struct error *err)
{
	void *larger;
	void *old = g->block;
	size_t before = g->bytes;

	if (alloc_blocks_origin_get(&g->origin, bytes, g->stream, &larger, err) != STATUS_OK)
		return err->status;
	g->other = bytes;
	growth_track_peak(g);
	g->other = 0;
	g->block = larger;
	g->bytes = bytes;
	if (!old)
		return STATUS_OK;
	if (backend_copy(g->stream, larger, old, before, err) != STATUS_OK) {
		backend_stream_synchronize(g->stream, NULL);
		alloc_blocks_origin_give(&g->origin, old, before, g->stream, NULL);
		return err->status;
	}
	/* A pool frees in stream order; with another allocator, freeing must wait for the copy. */
	if (g->origin.kind != ALLOCATOR_POOL && g->origin.kind != ALLOCATOR_POOL_RELEASE &&
	    backend_stream_synchronize(g->stream, err) != STATUS_OK)
		return err->status;
	return alloc_blocks_origin_give(&g->origin, old, before, g->stream, err);
}

static enum status grow_by_moving(struct grower *g, struct error *err)
{
	for (size_t bytes = g->step; bytes <= g->final; bytes += g->step) {
		size_t capacity = g->method == GROWTH_ONCE   ? g->final
				  : g->method == GROWTH_COPY ? bytes
							     : g->step;

		while (capacity < bytes) /* GROWTH_DOUBLE */
			capacity *= 2;
		if (capacity > g->bytes && growth_move_to(g, capacity, err) != STATUS_OK)
			return err->status;
		if (growth_mark(g, bytes - g->step, bytes, err) != STATUS_OK)
			return err->status;
	}
	return STATUS_OK;
}

static enum status grow_by_mapping(struct grower *g, struct error *err)
{
	if (backend_range_reserve(g->run->devices[0], g->final, &g->range, err) != STATUS_OK)
		return err->status;
	for (size_t bytes = 0; bytes < g->final; bytes += g->step) {
		if (backend_range_map(g->range, g->step, err) != STATUS_OK)
			return err->status;
		growth_track_peak(g);
		if (growth_mark(g, bytes, bytes + g->step, err) != STATUS_OK)
			return err->status;
	}
	return STATUS_OK;
}

static enum status growth_launch(void *state, unsigned batch, struct error *err)
{
	struct grower *g = state;

	(void)batch; /* max_batch is 1 */
	if ((g->method == GROWTH_MAP ? grow_by_mapping(g, err) : grow_by_moving(g, err)) !=
	    STATUS_OK)
		return err->status;
	return backend_stream_synchronize(g->stream, err);
}

/* Frees everything, so that each sample starts from the same state. */
static enum status growth_finish(void *state, struct error *err)
{
	struct grower *g = state;
	struct memory_range *range = g->range;
	void *block = g->block;
	size_t bytes = g->bytes;

	g->range = NULL;
	g->block = NULL;
	g->bytes = 0;
	if (backend_range_release(range, err) != STATUS_OK ||
	    alloc_blocks_origin_give(&g->origin, block, bytes, g->stream, err) != STATUS_OK ||
	    backend_stream_synchronize(g->stream, err) != STATUS_OK)
		return err ? err->status : STATUS_DEVICE;
	return alloc_blocks_origin_trim(&g->origin, err);
}

/* A growth with marks, which must all be intact at its end. */
static enum status growth_verify(struct grower *g, struct error *err)
{
	struct error ignored = ERROR_NONE, freed = ERROR_NONE;
	uint64_t unused = 0;
	enum status status;

	g->seen = alloc_blocks_free_bytes(g->run->devices[0], &unused, &ignored) == STATUS_OK;
	g->base = (int64_t)unused;
	g->marks = xcalloc(g->final / g->step, sizeof(*g->marks));
	status = growth_launch(g, 1, err);
	if (status == STATUS_OK)
		for (size_t at = 0; at < g->final && status == STATUS_OK; at += g->step)
			status = checked_blocks_check_exchange(g->stream, g->origin.on_device,
							       growth_start_of(g) + at,
							       &g->marks[at / g->step], err);
	backend_stream_synchronize(g->stream, NULL);
	if (growth_finish(g, &freed) != STATUS_OK && status == STATUS_OK)
		status = error_set(err, freed.status, "%s", freed.message);
	free(g->marks);
	g->marks = NULL;
	return status;
}

static enum status growth_check_steps(const struct grower *g, struct error *err)
{
	char final[32], shown[32];
	size_t unit = sizeof(uint64_t);

	if (g->method == GROWTH_MAP &&
	    backend_memory_granularity(g->run->devices[0], ALLOCATOR_VMM, &unit, err) != STATUS_OK)
		return err->status;
	if (g->step && g->step % unit == 0 && g->final % g->step == 0)
		return STATUS_OK;
	return error_set(err, STATUS_UNSUPPORTED,
			 "%s cannot be divided into steps that are multiples of %s",
			 units_size(g->final, final, sizeof(final)),
			 units_size(unit, shown, sizeof(shown)));
}

enum status alloc_grow(struct run *run, int kind, struct error *err)
{
	struct grower g = { .run = run,
			    .method = (enum alloc_growth)case_integer(run->c, "growths") };
	struct workload w = { .state = &g,
			      .launch = growth_launch,
			      .finish = growth_finish,
			      .clock = CLOCK_HOST,
			      .max_batch = 1,
			      .no_gate = true };
	const struct series *time;

	g.final = (size_t)case_integer(run->c, "sizes");
	g.step = g.final / (size_t)section_integer(run->c->section, "steps");
	alloc_blocks_origin_open(&g.origin, run->devices[0], kind, alloc_blocks_limit(run, kind));
	if (growth_check_steps(&g, err) == STATUS_OK &&
	    backend_stream_create(run->devices[0], false, &g.stream, err) == STATUS_OK &&
	    alloc_blocks_origin_trim(&g.origin, err) == STATUS_OK &&
	    growth_verify(&g, err) == STATUS_OK &&
	    run_sample(run, &w, "alloc.growth", &time, err) == STATUS_OK) {
		run_duration(run, "alloc.growth", time);
		run_value(run, "alloc.growth_memory", (double)g.peak);
		if (growth_verify(&g, err) == STATUS_OK)
			run_verified(run,
				     "a mark in the memory of each step, read back after the last "
				     "step",
				     NAN, NAN);
	}
	if (g.stream)
		backend_stream_synchronize(g.stream, NULL);
	alloc_blocks_origin_close(&g.origin);
	backend_stream_destroy(g.stream);
	return err->status;
}
