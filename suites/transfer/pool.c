#include "suites/transfer/pool.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "device/limits.h"
#include "device/host/placement.h"

struct pool_block {
	struct buffer buffer; /* at its full size */
	int node;
	bool lent;
};

struct pool {
	struct pool_block *blocks;
	size_t count, capacity;
};

struct pool *pool_open(void)
{
	return xcalloc(1, sizeof(struct pool));
}

/*
 * Share of device memory that may stay allocated between cases: the next one may need nearly all of
 * it.
 */
#define DEVICE_SHARE 16
/* Share of the host's available memory. */
#define HOST_SHARE 4

static void remove_block(struct pool *pool, size_t index)
{
	buffer_free(&pool->blocks[index].buffer);
	pool->blocks[index] = pool->blocks[--pool->count];
}

void pool_empty(struct pool *pool)
{
	for (size_t i = pool->count; i-- > 0;)
		if (!pool->blocks[i].lent)
			remove_block(pool, i);
}

void pool_close(struct pool *pool)
{
	pool_empty(pool);
	free(pool->blocks);
	free(pool);
}

/* Host devices have their own memory; GPUs share host memory on a near node. */
static bool pool_block_serves(const struct pool_block *b, const struct device *device,
			      enum allocator allocator, int node)
{
	const struct device *owner = b->buffer.device;

	if (b->lent || b->buffer.allocator != allocator || b->node != node)
		return false;
	if (allocator_on_device(allocator) ||
	    (device->info.capabilities & DEVICE_SHARES_HOST_MEMORY))
		return owner == device;
	return owner->backend == device->backend;
}

/* A large block is not used for a few bytes, because its own size will be requested next. */
#define SPENDTHRIFT 64
#define SMALL_BYTES (4u << 20)

static bool pool_block_fits(const struct pool_block *b, size_t bytes)
{
	size_t size = b->buffer.bytes;

	return size >= bytes && (size <= SMALL_BYTES || size / SPENDTHRIFT <= bytes);
}

/* The smallest idle block that fits. */
static struct pool_block *pool_find_block(const struct pool *pool, const struct device *device,
					  enum allocator allocator, size_t bytes, int node)
{
	struct pool_block *best = NULL;

	for (size_t i = 0; i < pool->count; i++) {
		struct pool_block *b = &pool->blocks[i];

		if (pool_block_serves(b, device, allocator, node) && pool_block_fits(b, bytes) &&
		    (!best || b->buffer.bytes < best->buffer.bytes))
			best = b;
	}
	return best;
}

static enum status pool_add_block(struct pool *pool, struct device *device,
				  enum allocator allocator, size_t bytes, int node,
				  struct error *err)
{
	struct error first = ERROR_NONE;
	struct buffer buffer;

	/*
	 * The pool may occupy the missing memory: it is emptied before the retry. A failed device
	 * is not asked again.
	 */
	if (buffer_alloc(&buffer, device, allocator, bytes, &first) != STATUS_OK) {
		if (pool->count == 0 || first.status != STATUS_NO_MEMORY)
			return error_set(err, first.status, "%s", first.message);
		pool_empty(pool);
		if (buffer_alloc(&buffer, device, allocator, bytes, err) != STATUS_OK)
			return err->status;
	}
	ARRAY_GROW(pool->blocks, pool->count, pool->capacity);
	pool->blocks[pool->count++] = (struct pool_block){ .buffer = buffer, .node = node };
	return STATUS_OK;
}

enum status pool_take(struct pool *pool, struct buffer *buffer, struct device *device,
		      enum allocator allocator, size_t bytes, int *node, struct error *err)
{
	bool on_host = !allocator_on_device(allocator);
	int near = on_host ? placement_begin(device) : -1;
	struct pool_block *block = pool_find_block(pool, device, allocator, bytes, near);
	enum status status = STATUS_OK;

	memset(buffer, 0, sizeof(*buffer));
	if (!block) {
		/*
		 * Frees blocks smaller than requested: a sweep grows, so they will not fit again.
		 */
		for (size_t i = pool->count; i-- > 0;)
			if (pool_block_serves(&pool->blocks[i], device, allocator, near) &&
			    pool->blocks[i].buffer.bytes < bytes &&
			    bytes / SPENDTHRIFT <= pool->blocks[i].buffer.bytes)
				remove_block(pool, i);
		status = pool_add_block(pool, device, allocator, bytes, near, err);
		block = status == STATUS_OK ? &pool->blocks[pool->count - 1] : NULL;
	}
	if (on_host)
		placement_end(near);
	if (!block)
		return status;
	block->lent = true;
	*buffer = block->buffer;
	buffer->device = device; /* its streams fill and check it */
	buffer->bytes = bytes;
	*node = near;
	return STATUS_OK;
}

/*
 * Bytes that the pool keeps in the same memory as `given`: on its device, or anywhere on the host.
 */
static uint64_t kept_with(const struct pool *pool, const struct pool_block *given)
{
	bool on_device = allocator_on_device(given->buffer.allocator);
	uint64_t bytes = 0;

	for (size_t i = 0; i < pool->count; i++) {
		const struct buffer *b = &pool->blocks[i].buffer;

		if (on_device
			    ? allocator_on_device(b->allocator) && b->device == given->buffer.device
			    : !allocator_on_device(b->allocator))
			bytes += b->bytes;
	}
	return bytes;
}

/* Keeping a block must not make memory scarce for the next case. */
static bool may_keep(const struct pool *pool, const struct pool_block *block)
{
	if (allocator_on_device(block->buffer.allocator))
		return kept_with(pool, block) <=
		       block->buffer.device->info.memory_bytes / DEVICE_SHARE;
	return kept_with(pool, block) <= limits_memory_available() / HOST_SHARE;
}

void pool_give(struct pool *pool, struct buffer *buffer)
{
	if (!buffer->memory)
		return;
	for (size_t i = 0; i < pool->count; i++) {
		if (pool->blocks[i].buffer.memory != buffer->memory)
			continue;
		pool->blocks[i].lent = false;
		if (!may_keep(pool, &pool->blocks[i]))
			remove_block(pool, i);
		break;
	}
	buffer->memory = NULL;
}
