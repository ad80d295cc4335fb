#include "suites/alloc/blocks.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "kernels/generator.h"

#define HOLD_BYTES (UINT64_C(256) << 20)
#define HOLD_MOST 256

size_t blocks_held_most(uint64_t bytes)
{
	uint64_t count = HOLD_BYTES / bytes;

	return count < 1 ? 1 : count > HOLD_MOST ? HOLD_MOST : (size_t)count;
}

enum status blocks_open(struct blocks *b, const struct run *run, int kind, size_t bytes,
			uint64_t limit, struct error *err)
{
	struct device *device = run->devices[0];

	*b = (struct blocks){ .device = device, .bytes = bytes, .seed = run->seed };
	origin_open(&b->origin, device, kind, limit);
	b->held_most = blocks_held_most(bytes);
	b->held = xcalloc(b->held_most, sizeof(*b->held));
	if (backend_stream_create(device, false, &b->stream, err) != STATUS_OK)
		return err->status;
	return blocks_release(b, err);
}

static enum status free_block(struct blocks *b, void *block, struct error *err)
{
	return origin_give(&b->origin, block, b->bytes, b->stream, err);
}

void blocks_close(struct blocks *b)
{
	if (b->stream) {
		blocks_settle(b, NULL); /* nothing still uses the blocks to free */
		free_block(b, b->current, NULL);
		blocks_release(b, NULL);
	}
	origin_close(&b->origin);
	backend_stream_destroy(b->stream);
	free(b->held);
	memset(b, 0, sizeof(*b));
}

enum status blocks_get(struct blocks *b, struct error *err)
{
	return origin_get(&b->origin, b->bytes, b->stream, &b->current, err);
}

enum status blocks_give(struct blocks *b, struct error *err)
{
	void *block = b->current;

	b->current = NULL;
	return free_block(b, block, err);
}

enum status blocks_settle(struct blocks *b, struct error *err)
{
	return backend_stream_synchronize(b->stream, err);
}

static enum status blocks_write_and_read(struct blocks *b, char *at, struct error *err)
{
	b->exchange.sent = generator_bits(b->seed, b->token++);
	if (exchange_write(b->stream, origin_on_device(b->origin.kind), at, &b->exchange, err) !=
	    STATUS_OK)
		return err->status;
	return exchange_check(b->stream, origin_on_device(b->origin.kind), at, &b->exchange, err);
}

enum status blocks_use(struct blocks *b, struct error *err)
{
	if (blocks_write_and_read(b, b->current, err) != STATUS_OK)
		return err->status;
	return blocks_write_and_read(b, (char *)b->current + exchange_last(b->bytes), err);
}

void blocks_hold(struct blocks *b)
{
	b->held[b->held_count++] = b->current;
	b->current = NULL;
}

enum status blocks_release(struct blocks *b, struct error *err)
{
	enum status status = STATUS_OK;

	while (b->held_count > 0) {
		enum status freed = free_block(b, b->held[--b->held_count], err);

		status = status == STATUS_OK ? freed : status;
	}
	if (blocks_settle(b, err) != STATUS_OK || status != STATUS_OK)
		return err ? err->status : status;
	return origin_trim(&b->origin, err);
}
