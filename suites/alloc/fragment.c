/*
 * Requests that still fit into fragmented free memory. The device keeps `span` and an eighth of it
 * free (by a memory filler; a caching allocator by its own limit; memory of the operating system
 * without a limit). Scenarios:
 *   checkerboard  64 blocks that fill the span, every other one freed
 *   alternating   steps of a training run whose batches differ in size, with a small tensor kept now and
 *                 then from between the large ones (a 128th of the span)
 * Then requests: of a block, of two, and of a quarter of the span; and by bisection the largest that
 * fits. external_frag is 1 - largest / all that is free.
 */
#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "kernels/generator.h"
#include "suites/alloc/alloc.h"
#include "suites/alloc/blocks.h"
#include "suites/alloc/memory_filler.h"

#define BLOCKS 64 /* in the span */
/* The step of the bisection: 1024 of them make the span. */
#define RESOLUTION 1024
#define LAYERS 12
#define STEPS 16
#define KEEP_EVERY 3 /* steps between two tensors that stay */
#define LIVE_MOST (BLOCKS + STEPS + LAYERS)

struct live {
	void *memory; /* NULL: none */
	size_t bytes;
	struct exchange ends[2];
};

struct heap {
	struct run *run;
	struct origin origin;
	struct stream *stream;
	struct memory_filler filler;
	uint64_t span, limit;
	struct live live[LIVE_MOST];
	size_t count;  /* of live[] in use, freed ones included */
	uint64_t used; /* bytes of live blocks, as asked for */
	uint64_t token;
};

static enum status write_ends(struct heap *h, struct live *l, struct error *err)
{
	for (int end = 0; end < 2; end++) {
		l->ends[end].sent = generator_bits(h->run->seed, h->token++);
		if (exchange_write(h->stream, h->origin.kind,
				   (char *)l->memory + (end ? exchange_last(l->bytes) : 0),
				   &l->ends[end], err) != STATUS_OK)
			return err->status;
	}
	return backend_stream_synchronize(h->stream, err);
}

static enum status check_ends(struct heap *h, struct live *l, struct error *err)
{
	for (int end = 0; end < 2; end++)
		if (exchange_read(h->stream, h->origin.kind,
				  (char *)l->memory + (end ? exchange_last(l->bytes) : 0),
				  &l->ends[end], err) != STATUS_OK)
			return err->status;
	if (backend_stream_synchronize(h->stream, err) != STATUS_OK ||
	    exchange_compare(&l->ends[0], err) != STATUS_OK)
		return err->status;
	return exchange_compare(&l->ends[1], err);
}

static enum status get(struct heap *h, struct live *l, size_t bytes, struct error *err)
{
	*l = (struct live){ .bytes = bytes };
	if (origin_get(&h->origin, bytes, h->stream, &l->memory, err) != STATUS_OK)
		return err->status;
	h->used += bytes;
	return write_ends(h, l, err);
}

/* With its data intact to the last. */
static enum status give(struct heap *h, struct live *l, struct error *err)
{
	void *memory = l->memory;

	if (!memory || check_ends(h, l, err) != STATUS_OK)
		return memory ? err->status : STATUS_OK;
	l->memory = NULL;
	h->used -= l->bytes;
	if (origin_give(&h->origin, memory, l->bytes, h->stream, err) != STATUS_OK)
		return err->status;
	return backend_stream_synchronize(h->stream, err);
}

/* One large block first, so that an allocator that cuts segments has one to cut; for less than 10 MiB it takes 20. */
static enum status cut_span(struct heap *h, struct error *err)
{
	struct error refused = ERROR_NONE;
	struct live whole;
	enum status status = get(h, &whole, h->span, &refused);

	if (status == STATUS_OK)
		return give(h, &whole, err);
	if (status == STATUS_NO_MEMORY && h->origin.caching)
		return error_set(err, STATUS_UNSUPPORTED,
				 "the span is too small for an allocator of segments: %s",
				 refused.message);
	return error_set(err, status, "%s", refused.message);
}

static enum status checkerboard(struct heap *h, struct error *err)
{
	if (cut_span(h, err) != STATUS_OK)
		return err->status;
	for (h->count = 0; h->count < BLOCKS;)
		if (get(h, &h->live[h->count++], h->span / BLOCKS, err) != STATUS_OK)
			return err->status;
	for (size_t i = 0; i < BLOCKS; i += 2)
		if (give(h, &h->live[i], err) != STATUS_OK)
			return err->status;
	return STATUS_OK;
}

/*
 * Sizes of the layers' activations in 1/1000 of the span at the largest batch (720 together), and the
 * batches in 1/100 of that: full ones, ragged ones, and a larger one late.
 */
static const unsigned layers[LAYERS] = { 20, 80, 120, 60, 30, 90, 110, 40, 70, 50, 35, 15 };
static const unsigned batches[] = { 80, 33, 80, 57, 80, 71, 80, 12, 100, 46 };

static size_t activation(const struct heap *h, size_t step, size_t layer)
{
	unsigned batch = batches[step % ARRAY_SIZE(batches)];

	return (size_t)(h->span / 100000 * layers[layer] * batch) / 512 * 512 + 512;
}

static enum status train_step(struct heap *h, size_t step, struct error *err)
{
	struct live activations[LAYERS] = { 0 };
	size_t done = 0;
	enum status status = STATUS_OK;

	for (; done < LAYERS && status == STATUS_OK; done++) {
		status = get(h, &activations[done], activation(h, step, done), err);
		if (status == STATUS_OK && done == LAYERS / 2 && step % KEEP_EVERY == 0)
			status = get(h, &h->live[h->count++], h->span / 128, err);
	}
	/* Backwards, as gradients are computed; all of them also after a failure. */
	while (done > 0) {
		struct error own = ERROR_NONE;

		if (give(h, &activations[--done], &own) != STATUS_OK && status == STATUS_OK)
			status = error_set(err, own.status, "%s", own.message);
	}
	return status;
}

static enum status alternating(struct heap *h, struct error *err)
{
	for (size_t step = 0; step < STEPS; step++)
		if (train_step(h, step, err) != STATUS_OK)
			return err->status;
	return STATUS_OK;
}

/* Sets *out if a block of that size can be allocated now; uses and frees it. */
static enum status fits(struct heap *h, size_t bytes, bool *out, struct error *err)
{
	struct error refused = ERROR_NONE;
	struct live probe;
	enum status status = get(h, &probe, bytes, &refused);

	*out = status == STATUS_OK;
	if (status == STATUS_OK)
		return give(h, &probe, err);
	return status == STATUS_NO_MEMORY ? STATUS_OK
					  : error_set(err, status, "%s", refused.message);
}

static enum status ask(struct heap *h, struct error *err)
{
	static const struct {
		const char *name;
		unsigned share; /* divisor of the span */
	} requests[] = { { "alloc.fits_block", BLOCKS },
			 { "alloc.fits_double", BLOCKS / 2 },
			 { "alloc.fits_quarter", 4 } };

	for (size_t i = 0; i < ARRAY_SIZE(requests); i++) {
		bool fit;

		if (fits(h, h->span / requests[i].share, &fit, err) != STATUS_OK)
			return err->status;
		run_value(h->run, requests[i].name, fit);
	}
	return STATUS_OK;
}

/* In steps of the resolution; 0 when not even one of them fits. */
static enum status find_largest(struct heap *h, uint64_t *out, struct error *err)
{
	uint64_t step = h->span / RESOLUTION;
	uint64_t low = 0, high = (h->limit - h->used) / step + 1; /* fits; does not */

	while (high - low > 1) {
		uint64_t middle = (low + high) / 2;
		bool fit;

		if (fits(h, (size_t)(middle * step), &fit, err) != STATUS_OK)
			return err->status;
		*(fit ? &low : &high) = middle;
	}
	*out = low * step;
	return STATUS_OK;
}

static enum status give_all(struct heap *h, struct error *err)
{
	for (size_t i = 0; i < h->count; i++)
		if (give(h, &h->live[i], err) != STATUS_OK)
			return err->status;
	return STATUS_OK;
}

/* Memory that the allocator keeps when everything is freed. */
static enum status measure_kept(struct heap *h, struct error *err)
{
	uint64_t before, after;
	struct error ignored = ERROR_NONE;

	if (h->origin.caching) {
		run_value(h->run, "alloc.kept", (double)caching_reserved(h->origin.caching));
		return STATUS_OK;
	}
	if (alloc_free_bytes(h->run->devices[0], &before, &ignored) != STATUS_OK)
		return STATUS_OK;
	if (origin_trim(&h->origin, err) != STATUS_OK ||
	    alloc_free_bytes(h->run->devices[0], &after, err) != STATUS_OK)
		return err->status;
	run_value(h->run, "alloc.kept", after > before ? (double)(after - before) : 0);
	return STATUS_OK;
}

static enum status measure(struct heap *h, struct error *err)
{
	uint64_t largest = 0, all;

	if (ask(h, err) != STATUS_OK || find_largest(h, &largest, err) != STATUS_OK)
		return err->status;
	all = (h->limit - h->used) / (h->span / RESOLUTION) * (h->span / RESOLUTION);
	run_value(h->run, "alloc.external_frag", 1 - (double)largest / (double)all);
	run_value(h->run, "alloc.largest_free", (double)largest);
	run_value(h->run, "alloc.total_free", (double)all);
	if (give_all(h, err) != STATUS_OK)
		return err->status;
	return measure_kept(h, err);
}

static enum status open_heap(struct heap *h, int kind, struct error *err)
{
	struct device *device = h->run->devices[0];
	bool shared = device->info.capabilities & DEVICE_SHARES_HOST_MEMORY;

	if (backend_stream_create(device, false, &h->stream, err) != STATUS_OK)
		return err->status;
	origin_open(&h->origin, device, kind, h->limit);
	if (origin_trim(&h->origin, err) != STATUS_OK)
		return err->status;
	if (shared && !h->origin.caching)
		run_note(h->run, "Without a limit: the memory is the operating system's.");
	return shared || h->origin.caching ? STATUS_OK
					   : memory_filler_leave(&h->filler, device, h->limit, err);
}

static void close_heap(struct heap *h)
{
	if (h->stream)
		backend_stream_synchronize(h->stream, NULL);
	for (size_t i = 0; i < h->count; i++)
		if (h->live[i].memory)
			origin_give(&h->origin, h->live[i].memory, h->live[i].bytes, h->stream,
				    NULL);
	if (h->stream)
		backend_stream_synchronize(h->stream, NULL);
	if (h->origin.device)
		origin_trim(&h->origin, NULL);
	origin_close(&h->origin);
	memory_filler_free(&h->filler);
	backend_stream_destroy(h->stream);
}

enum status alloc_fragment(struct run *run, int kind, struct error *err)
{
	struct heap *h = xcalloc(1, sizeof(*h));
	enum alloc_scenario scenario = (enum alloc_scenario)case_integer(run->c, "scenarios");

	h->run = run;
	h->span = (uint64_t)section_setting(run->c->section, "span")->values[0].integer;
	h->limit = h->span + h->span / 8;
	if (open_heap(h, kind, err) == STATUS_OK &&
	    (scenario == SCENARIO_CHECKERBOARD ? checkerboard(h, err) : alternating(h, err)) ==
		    STATUS_OK &&
	    measure(h, err) == STATUS_OK)
		run_verified(run, "both ends of every block keep their data until it is freed", NAN,
			     NAN);
	close_heap(h);
	free(h);
	return err->status;
}
