#include "suites/transfer/pool.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "device/limits.h"
#include "device/placement.h"

struct block {
	struct buffer buffer; /* at its full size */
	int node;
	bool lent;
};

static struct {
	struct block *blocks;
	size_t count, capacity;
	uint64_t bytes; /* of all blocks */
} pool;

static void remove_block(size_t index)
{
	pool.bytes -= pool.blocks[index].buffer.bytes;
	buffer_free(&pool.blocks[index].buffer);
	pool.blocks[index] = pool.blocks[--pool.count];
	if (pool.count == 0) {
		free(pool.blocks);
		pool.blocks = NULL;
		pool.capacity = 0;
	}
}

void pool_empty(void)
{
	for (size_t i = pool.count; i-- > 0;)
		if (!pool.blocks[i].lent)
			remove_block(i);
}

/* A device that is made of host memory has its own; GPUs share what is near. */
static bool serves(const struct block *b, const struct device *device, enum allocator allocator,
		   int node)
{
	const struct device *owner = b->buffer.device;

	if (b->lent || b->buffer.allocator != allocator || b->node != node)
		return false;
	if (device->info.capabilities & DEVICE_SHARES_HOST_MEMORY)
		return owner == device;
	return owner->backend == device->backend;
}

/* The smallest idle block that will do. */
static struct block *find(const struct device *device, enum allocator allocator, size_t bytes,
			  int node)
{
	struct block *best = NULL;

	for (size_t i = 0; i < pool.count; i++) {
		struct block *b = &pool.blocks[i];

		if (serves(b, device, allocator, node) && b->buffer.bytes >= bytes &&
		    (!best || b->buffer.bytes < best->buffer.bytes))
			best = b;
	}
	return best;
}

/* Sizes grow in a sweep: what was too small now will be so again. */
static void remove_outgrown(const struct device *device, enum allocator allocator, int node)
{
	for (size_t i = pool.count; i-- > 0;)
		if (serves(&pool.blocks[i], device, allocator, node))
			remove_block(i);
}

static enum status add(struct device *device, enum allocator allocator, size_t bytes, int node,
		       struct error *err)
{
	struct error first = ERROR_NONE;
	struct buffer buffer;

	/* What is kept may be just what is missing: then without it. */
	if (buffer_alloc(&buffer, device, allocator, bytes, &first) != STATUS_OK) {
		if (pool.count == 0)
			return error_set(err, first.status, "%s", first.message);
		pool_empty();
		if (buffer_alloc(&buffer, device, allocator, bytes, err) != STATUS_OK)
			return err->status;
	}
	ARRAY_GROW(pool.blocks, pool.count, pool.capacity);
	pool.blocks[pool.count++] = (struct block){ .buffer = buffer, .node = node };
	pool.bytes += bytes;
	return STATUS_OK;
}

enum status pool_take(struct buffer *buffer, struct device *device, enum allocator allocator,
		      size_t bytes, int *node, struct error *err)
{
	int near = placement_begin(device);
	struct block *block = find(device, allocator, bytes, near);
	enum status status = STATUS_OK;

	memset(buffer, 0, sizeof(*buffer));
	if (!block) {
		remove_outgrown(device, allocator, near);
		status = add(device, allocator, bytes, near, err);
		block = status == STATUS_OK ? &pool.blocks[pool.count - 1] : NULL;
	}
	placement_end(near);
	if (!block)
		return status;
	block->lent = true;
	*buffer = block->buffer;
	buffer->device = device; /* whose streams fill and check it, whoever allocated it */
	buffer->bytes = bytes;
	*node = near;
	return STATUS_OK;
}

/* Keeping must not make the next case's memory scarce. */
static bool may_keep(void)
{
	return pool.bytes <= limits_memory_available() / 4;
}

void pool_give(struct buffer *buffer)
{
	for (size_t i = 0; i < pool.count && buffer->memory; i++) {
		if (pool.blocks[i].buffer.memory != buffer->memory)
			continue;
		pool.blocks[i].lent = false;
		if (!may_keep())
			remove_block(i);
		break;
	}
	buffer->memory = NULL;
}
