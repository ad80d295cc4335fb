/*
 * Real size of a block: allocates many blocks of one size, and divides the decrease of the device's
 * free memory, or the increase of this process's resident memory, by their number. Larger
 * allocation units are shared by all blocks that they serve.
 */
#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/units.h"
#include "device/limits.h"
#include "suites/alloc/alloc.h"

#define LOOKED_AT_BYTES ((uint64_t)128 << 20)
#define MOST_BLOCKS 4096
#define LEAST_BLOCKS 4
/* Virtual memory has units of 2 MiB: the usual number of blocks would fill a GPU. */
#define UNIT_BYTES ((uint64_t)2 << 20)

size_t cost_blocks(int kind, uint64_t bytes)
{
	uint64_t each = kind == ALLOCATOR_VMM && bytes < UNIT_BYTES ? UNIT_BYTES : bytes;
	uint64_t count = LOOKED_AT_BYTES / each;

	return count < LEAST_BLOCKS  ? LEAST_BLOCKS
	       : count > MOST_BLOCKS ? MOST_BLOCKS
				     : (size_t)count;
}

struct cost {
	struct run *run;
	struct device *device;
	struct origin origin;
	struct stream *stream;
	size_t bytes, count, held;
	void **blocks;
	struct exchange *ends;
};

/* Bytes allocated at present, up to a constant. */
static enum status cost_read_memory(struct cost *c, int64_t *taken, struct error *err)
{
	bool shared = c->device->info.capabilities & DEVICE_SHARES_HOST_MEMORY;
	uint64_t unused;

	if (shared || !c->origin.on_device) {
		*taken = (int64_t)device_limits_memory_resident();
		return STATUS_OK;
	}
	if (alloc_blocks_free_bytes(c->device, &unused, err) != STATUS_OK)
		return err->status;
	*taken = -(int64_t)unused;
	return STATUS_OK;
}

static enum status cost_take_block(struct cost *c, struct error *err)
{
	struct exchange *x = &c->ends[c->held];
	void *block;

	if (alloc_blocks_origin_get(&c->origin, c->bytes, c->stream, &block, err) != STATUS_OK)
		return err->status;
	c->blocks[c->held++] = block;
	if (c->origin.on_device &&
	    backend_memory_set(c->stream, block, 0x5A, c->bytes, err) != STATUS_OK)
		return err->status;
	for (size_t at = 0; !c->origin.on_device && at < c->bytes; at += 4096)
		((volatile char *)block)[at] = 0x5A;
	x->sent = c->run->seed ^ (uintptr_t)block;
	return checked_blocks_exchange_write(c->stream, c->origin.on_device,
					     (char *)block + checked_blocks_exchange_last(c->bytes),
					     x, err);
}

static enum status cost_check_all(struct cost *c, struct error *err)
{
	for (size_t i = 0; i < c->held; i++)
		if (checked_blocks_check_exchange(c->stream, c->origin.on_device,
						  (char *)c->blocks[i] +
							  checked_blocks_exchange_last(c->bytes),
						  &c->ends[i], err) != STATUS_OK)
			return err->status;
	return STATUS_OK;
}

static void cost_record(struct cost *c, int64_t taken)
{
	double each = (double)taken / (double)c->count;
	struct error ignored = ERROR_NONE;
	size_t unit;
	uintptr_t all;

	run_value(c->run, "alloc.cost", each);
	run_value(c->run, "alloc.cost_ratio", each / (double)c->bytes);
	/* The largest power of two that divides every address. */
	all = 0;
	for (size_t i = 0; i < c->held; i++)
		all |= (uintptr_t)c->blocks[i];
	run_value(c->run, "alloc.alignment", (double)(all & -all));
	if (!alloc_blocks_origin_is_own(c->origin.kind) &&
	    backend_memory_granularity(c->device, (enum allocator)c->origin.kind, &unit,
				       &ignored) == STATUS_OK)
		run_value(c->run, "alloc.granularity", (double)unit);
	run_note(c->run, "Mean over %zu blocks.", c->count);
}

static enum status cost_measure(struct cost *c, struct error *err)
{
	double all = (double)c->bytes * (double)c->count;
	char text[2][32];
	int64_t before, after;

	/* The first use of an allocator takes memory that is not part of a block. */
	if (cost_take_block(c, err) != STATUS_OK || cost_check_all(c, err) != STATUS_OK)
		return err->status;
	c->held = 0;
	if (alloc_blocks_origin_give(&c->origin, c->blocks[0], c->bytes, c->stream, err) !=
		    STATUS_OK ||
	    backend_stream_synchronize(c->stream, err) != STATUS_OK ||
	    alloc_blocks_origin_trim(&c->origin, err) != STATUS_OK ||
	    cost_read_memory(c, &before, err) != STATUS_OK)
		return err->status;
	while (c->held < c->count)
		if (cost_take_block(c, err) != STATUS_OK)
			return err->status;
	if (backend_stream_synchronize(c->stream, err) != STATUS_OK ||
	    cost_read_memory(c, &after, err) != STATUS_OK || cost_check_all(c, err) != STATUS_OK)
		return err->status;
	if (after < before || 10 * (double)(after - before) < 9 * all)
		return error_set(err, STATUS_UNSUPPORTED,
				 "cannot measure the cost of %s memory: the device reports %s for "
				 "blocks of %s in total",
				 alloc_blocks_origin_name(c->origin.kind),
				 units_format((double)(after - before), "B", text[0],
					      sizeof(text[0])),
				 units_format(all, "B", text[1], sizeof(text[1])));
	cost_record(c, after - before);
	return STATUS_OK;
}

enum status alloc_cost(struct run *run, int kind, struct error *err)
{
	struct cost c = { .run = run, .device = run->devices[0] };

	c.bytes = (size_t)case_integer(run->c, "sizes");
	c.count = cost_blocks(kind, c.bytes);
	c.blocks = xcalloc(c.count, sizeof(*c.blocks));
	c.ends = xcalloc(c.count, sizeof(*c.ends));
	alloc_blocks_origin_open(&c.origin, c.device, kind, alloc_blocks_limit(run, kind));
	if (backend_stream_create(c.device, false, &c.stream, err) == STATUS_OK &&
	    cost_measure(&c, err) == STATUS_OK)
		run_verified(run,
			     "both ends of every block, read back while all blocks are allocated",
			     NAN, NAN);
	if (c.stream)
		backend_stream_synchronize(c.stream, NULL);
	for (size_t i = 0; i < c.held; i++)
		alloc_blocks_origin_give(&c.origin, c.blocks[i], c.bytes, c.stream, NULL);
	if (c.stream)
		backend_stream_synchronize(c.stream, NULL);
	alloc_blocks_origin_trim(&c.origin, NULL);
	alloc_blocks_origin_close(&c.origin);
	backend_stream_destroy(c.stream);
	free(c.blocks);
	free(c.ends);
	return err->status;
}
