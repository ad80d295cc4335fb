/*
 * Requests that fit into fragmented free memory. The device keeps `span` plus an eighth of it free
 * (with a memory filler; a caching allocator by its own limit; memory of the operating system
 * without a limit). Scenarios:
 *   checkerboard  64 blocks that fill the span, every other one freed
 *   alternating   training steps with batches of different sizes; now and then a small tensor
 *                 (a 128th of the span), allocated between the large ones, is kept
 * Then requests: of one block, of two, and of a quarter of the span; and by bisection the largest
 * that fits. external_frag is 1 - largest / all free bytes.
 *
 * With two logical devices, each has an allocator with its own limit: they run the scenario
 * alternately, and a request beyond the first one's limit must not affect the memory of the second.
 */
#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "suites/alloc/alloc.h"
#include "suites/shared/checked_blocks.h"

/* Bisection step: 1024 steps are the span. */
#define RESOLUTION 1024
#define LAYERS 12
#define STEPS 16
#define KEEP_EVERY 3 /* steps between two tensors that are kept */
#define DEVICES_MOST 2
#define LIVE_MOST (CHECKERBOARD_BLOCKS + STEPS + LAYERS)

struct alloc_heap {
	struct run *run;
	struct origin origin;
	struct checked_blocks blocks;
	struct memory_filler filler;
	uint64_t span, limit;
	struct checked_block live[LIVE_MOST];
	size_t count; /* entries of live[] in use, including freed ones */
};

static enum status alloc_fragment_heap_take(void *state, size_t bytes, void **out,
					    struct error *err)
{
	struct alloc_heap *h = state;

	return alloc_blocks_origin_get(&h->origin, bytes, h->blocks.stream, out, err);
}

static enum status alloc_fragment_heap_give(void *state, void *memory, size_t bytes,
					    struct error *err)
{
	struct alloc_heap *h = state;

	return alloc_blocks_origin_give(&h->origin, memory, bytes, h->blocks.stream, err);
}

/*
 * Sizes of the layers' activations in 1/1000 of the span at the largest batch (720 in total), and
 * the batches in 1/100 of that: full ones, ragged ones, and a larger one late.
 */
static const unsigned layers[LAYERS] = { 20, 80, 120, 60, 30, 90, 110, 40, 70, 50, 35, 15 };
static const unsigned batches[] = { 80, 33, 80, 57, 80, 71, 80, 12, 100, 46 };

static size_t fragment_activation_bytes(const struct alloc_heap *h, size_t step, size_t layer)
{
	unsigned batch = batches[step % ARRAY_SIZE(batches)];

	return (size_t)(h->span / 100000 * layers[layer] * batch) / 512 * 512 + 512;
}

static enum status alloc_fragment_train_step(struct alloc_heap *h, size_t step, struct error *err)
{
	struct checked_block activations[LAYERS] = { 0 };
	size_t done = 0;
	enum status status = STATUS_OK;

	for (; done < LAYERS && status == STATUS_OK; done++) {
		status = checked_blocks_take(&h->blocks, &activations[done],
					     fragment_activation_bytes(h, step, done), err);
		if (status == STATUS_OK && done == LAYERS / 2 && step % KEEP_EVERY == 0)
			status = checked_blocks_take(&h->blocks, &h->live[h->count++],
						     h->span / 128, err);
	}
	/* Backwards, as gradients are computed; frees all of them even after a failure. */
	while (done > 0) {
		struct error own = ERROR_NONE;

		if (checked_blocks_give(&h->blocks, &activations[--done], &own) != STATUS_OK &&
		    status == STATUS_OK)
			status = error_set(err, own.status, "%s", own.message);
	}
	return status;
}

/* One or two logical devices. */
struct fragment {
	struct run *run;
	struct alloc_heap heaps[DEVICES_MOST];
	size_t count;
};

/* Below 10 MiB an allocator of segments takes 20. */
static enum status fragment_checkerboards(struct fragment *f, struct error *err)
{
	for (size_t d = 0; d < f->count && err->status == STATUS_OK; d++) {
		struct alloc_heap *h = &f->heaps[d];

		h->count = CHECKERBOARD_BLOCKS;
		if (checked_blocks_checkerboard_make(&h->blocks, h->span, h->live, err) ==
			    STATUS_NO_MEMORY &&
		    h->origin.caching && h->blocks.used == 0) {
			err->status = STATUS_UNSUPPORTED;
			error_prefix(err, "`span` is smaller than one segment of the allocator");
		}
	}
	return err->status;
}

/* Requests of consecutive steps, alternately on each of the logical devices. */
struct replay {
	struct alloc_heap *heaps;
	size_t *steps; /* of each */
	size_t count;
};

/* Does not access the memory. */
static enum status fragment_replay_step(struct alloc_heap *h, size_t step, struct error *err)
{
	struct stream *stream = h->blocks.stream;
	void *blocks[LAYERS];
	size_t done = 0;

	while (done < LAYERS &&
	       alloc_blocks_origin_get(&h->origin, fragment_activation_bytes(h, step, done), stream,
				       &blocks[done], err) == STATUS_OK)
		done++;
	for (size_t l = done; l-- > 0;)
		alloc_blocks_origin_give(&h->origin, blocks[l],
					 fragment_activation_bytes(h, step, l), stream,
					 done == LAYERS ? err : NULL);
	return err->status;
}

static enum status fragment_launch_steps(void *state, unsigned batch, struct error *err)
{
	struct replay *r = state;

	for (unsigned i = 0; i < batch; i++)
		for (size_t d = 0; d < r->count; d++)
			if (fragment_replay_step(&r->heaps[d], r->steps[d]++, err) != STATUS_OK)
				return err->status;
	return STATUS_OK;
}

static enum status fragment_finish_steps(void *state, struct error *err)
{
	const struct replay *r = state;

	for (size_t d = 0; d < r->count; d++)
		if (backend_stream_synchronize(r->heaps[d].blocks.stream, err) != STATUS_OK)
			return err->status;
	return STATUS_OK;
}

static uint64_t fragment_reserved_by_all(const struct fragment *f)
{
	uint64_t bytes = 0;

	for (size_t d = 0; d < f->count; d++)
		bytes += alloc_blocks_origin_reserved(&f->heaps[d].origin);
	return bytes;
}

/* Time of a step's requests in memory fragmented by earlier steps. */
static enum status fragment_time_steps(struct fragment *f, struct error *err)
{
	size_t steps[DEVICES_MOST] = { 0 };
	struct replay first = { f->heaps, steps, 1 }, all = { f->heaps, steps, f->count };
	struct workload w = { .state = &first,
			      .launch = fragment_launch_steps,
			      .finish = fragment_finish_steps,
			      .clock = CLOCK_HOST,
			      .max_batch = ARRAY_SIZE(batches),
			      .no_gate = true };
	const struct series *time;

	if (alloc_blocks_origin_is_own(f->heaps[0].origin.kind))
		run_value(f->run, "alloc.reserved", (double)fragment_reserved_by_all(f));
	if (f->count > 1) {
		static const char *const names[] = { "alloc.step", "alloc.step_alone",
						     "alloc.step_slowdown" };
		struct workload workloads[] = { w, w };
		const struct series *series[3];

		workloads[0].state = &all;
		if (run_sample_interleaved(f->run, workloads, names, series, err) != STATUS_OK)
			return err->status;
		run_scaled(f->run, names[0], 1.0 / DEVICES_MOST, series[0]);
		run_duration(f->run, names[1], series[1]);
		run_scaled(f->run, names[2], 1.0 / DEVICES_MOST, series[2]);
		return STATUS_OK;
	}
	if (run_sample(f->run, &w, "alloc.step", &time, err) != STATUS_OK)
		return err->status;
	run_duration(f->run, "alloc.step", time);
	return STATUS_OK;
}

/* Memory that the allocator keeps after everything is freed. */
static enum status fragment_measure_kept(struct fragment *f, struct error *err)
{
	struct origin *origin = &f->heaps[0].origin;
	uint64_t before, after;
	struct error ignored = ERROR_NONE;

	if (alloc_blocks_origin_is_own(origin->kind)) {
		run_value(f->run, "alloc.kept", (double)fragment_reserved_by_all(f));
		return STATUS_OK;
	}
	if (alloc_blocks_free_bytes(f->run->devices[0], &before, &ignored) != STATUS_OK)
		return STATUS_OK;
	if (alloc_blocks_origin_trim(origin, err) != STATUS_OK ||
	    alloc_blocks_free_bytes(f->run->devices[0], &after, err) != STATUS_OK)
		return err->status;
	run_value(f->run, "alloc.kept", after > before ? (double)(after - before) : 0);
	return STATUS_OK;
}

/* Metrics of the second logical device have separate names. */
static enum status fragment_measure_pieces(struct alloc_heap *h, bool second, struct error *err)
{
	uint64_t step = h->span / RESOLUTION, largest = 0, all = h->limit - h->blocks.used;

	if (checked_blocks_largest(&h->blocks, step, all, &largest, err) != STATUS_OK)
		return err->status;
	all = all / step * step;
	run_value(h->run, second ? "alloc.external_frag_second" : "alloc.external_frag",
		  1 - (double)largest / (double)all);
	run_value(h->run, second ? "alloc.largest_free_second" : "alloc.largest_free",
		  (double)largest);
	if (!second)
		run_value(h->run, "alloc.total_free", (double)all);
	return STATUS_OK;
}

static enum status fragment_measure(struct fragment *f, struct error *err)
{
	static const struct {
		const char *name;
		unsigned share; /* divisor of the span */
	} requests[] = { { "alloc.fits_block", CHECKERBOARD_BLOCKS },
			 { "alloc.fits_double", CHECKERBOARD_BLOCKS / 2 },
			 { "alloc.fits_quarter", 4 } };

	for (size_t i = 0; i < ARRAY_SIZE(requests); i++) {
		bool fit;

		if (checked_blocks_fits(&f->heaps[0].blocks, f->heaps[0].span / requests[i].share,
					&fit, err) != STATUS_OK)
			return err->status;
		run_value(f->heaps[0].run, requests[i].name, fit);
	}
	for (size_t d = 0; d < f->count; d++)
		if (fragment_measure_pieces(&f->heaps[d], d > 0, err) != STATUS_OK)
			return err->status;
	if (f->count > 1) {
		struct alloc_heap *first = &f->heaps[0], *second = &f->heaps[1];
		bool beyond, granted;

		if (checked_blocks_fits(&first->blocks, first->limit, &beyond, err) != STATUS_OK ||
		    checked_blocks_fits(&second->blocks, second->span / CHECKERBOARD_BLOCKS,
					&granted, err) != STATUS_OK)
			return err->status;
		run_value(f->run, "alloc.isolated", !beyond && granted);
	}
	for (size_t d = 0; d < f->count; d++)
		for (size_t i = 0; i < f->heaps[d].count; i++)
			if (checked_blocks_give(&f->heaps[d].blocks, &f->heaps[d].live[i], err) !=
			    STATUS_OK)
				return err->status;
	return fragment_measure_kept(f, err);
}

static enum status alloc_fragment_open_heap(struct alloc_heap *h, int kind, struct error *err)
{
	struct device *device = h->run->devices[0];
	bool shared = device->info.capabilities & DEVICE_SHARES_HOST_MEMORY;

	h->blocks = (struct checked_blocks){ .state = h,
					     .take = alloc_fragment_heap_take,
					     .give = alloc_fragment_heap_give,
					     .on_device = alloc_blocks_origin_on_device(kind),
					     .seed = h->run->seed };
	if (backend_stream_create(device, false, &h->blocks.stream, err) != STATUS_OK)
		return err->status;
	alloc_blocks_origin_open(&h->origin, device, kind, h->limit);
	if (alloc_blocks_origin_trim(&h->origin, err) != STATUS_OK)
		return err->status;
	if (shared && !alloc_blocks_origin_is_own(kind))
		run_note(h->run, "The allocator has no limit, because the operating system manages "
				 "this memory.");
	return shared || alloc_blocks_origin_is_own(kind)
		       ? STATUS_OK
		       : alloc_blocks_filler_leave(&h->filler, device, h->limit, err);
}

static void alloc_fragment_close_heap(struct alloc_heap *h)
{
	if (h->blocks.stream)
		backend_stream_synchronize(h->blocks.stream, NULL);
	for (size_t i = 0; i < h->count; i++)
		if (h->live[i].memory)
			alloc_blocks_origin_give(&h->origin, h->live[i].memory, h->live[i].bytes,
						 h->blocks.stream, NULL);
	if (h->blocks.stream)
		backend_stream_synchronize(h->blocks.stream, NULL);
	if (h->origin.device)
		alloc_blocks_origin_trim(&h->origin, NULL);
	alloc_blocks_origin_close(&h->origin);
	alloc_blocks_filler_free(&h->filler);
	backend_stream_destroy(h->blocks.stream);
}

enum status alloc_fragment(struct run *run, int kind, struct error *err)
{
	struct fragment *f = xcalloc(1, sizeof(*f));
	enum alloc_scenario scenario = (enum alloc_scenario)case_integer(run->c, "scenarios");
	bool checkered = scenario == SCENARIO_CHECKERBOARD;
	uint64_t span;

	f->run = run;
	f->count = (size_t)case_integer(run->c, "logical_devices");
	span = (uint64_t)section_integer(run->c->section, "span");
	for (size_t d = 0; d < f->count; d++) {
		f->heaps[d].run = f->run;
		f->heaps[d].span = span;
		f->heaps[d].limit = span + span / 8;
		if (alloc_fragment_open_heap(&f->heaps[d], kind, err) != STATUS_OK)
			break;
	}
	if (checkered && err->status == STATUS_OK)
		fragment_checkerboards(f, err);
	for (size_t i = 0; !checkered && i < STEPS * f->count && err->status == STATUS_OK; i++)
		alloc_fragment_train_step(&f->heaps[i % f->count], i / f->count, err);
	if (err->status == STATUS_OK && (checkered || fragment_time_steps(f, err) == STATUS_OK) &&
	    fragment_measure(f, err) == STATUS_OK)
		run_verified(run, "both ends of every block, read back before it is freed", NAN,
			     NAN);
	for (size_t d = 0; d < f->count; d++)
		alloc_fragment_close_heap(&f->heaps[d]);
	free(f);
	return err->status;
}
