#include "suites/alloc/blocks.h"

#include <inttypes.h>
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

enum status blocks_open(struct blocks *b, struct device *device, enum allocator allocator,
			size_t bytes, uint64_t seed, struct error *err)
{
	*b = (struct blocks){
		.device = device, .allocator = allocator, .bytes = bytes, .seed = seed
	};
	b->held_most = blocks_held_most(bytes);
	b->held = xcalloc(b->held_most, sizeof(*b->held));
	if (backend_stream_create(device, false, &b->stream, err) != STATUS_OK)
		return err->status;
	return blocks_release(b, err);
}

static enum status free_block(struct blocks *b, void *block, struct error *err)
{
	return backend_memory_free(b->device, b->allocator, block, b->bytes, b->stream, err);
}

void blocks_close(struct blocks *b)
{
	if (b->stream) {
		blocks_settle(b, NULL); /* nothing still uses what is freed now */
		free_block(b, b->current, NULL);
		blocks_release(b, NULL);
	}
	backend_stream_destroy(b->stream);
	free(b->held);
	memset(b, 0, sizeof(*b));
}

enum status blocks_get(struct blocks *b, struct error *err)
{
	enum status status = backend_memory_alloc(b->device, b->allocator, b->bytes, b->stream,
						  &b->current, err);

	if (status != STATUS_OK)
		b->current = NULL;
	return status;
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

static enum status exchange(struct blocks *b, char *at, struct error *err)
{
	if (!allocator_on_device(b->allocator)) {
		*(volatile uint64_t *)at = b->sent;
		b->received = *(volatile uint64_t *)at;
		return STATUS_OK;
	}
	if (backend_copy(b->stream, at, &b->sent, sizeof(b->sent), err) != STATUS_OK ||
	    backend_copy(b->stream, &b->received, at, sizeof(b->received), err) != STATUS_OK)
		return err->status;
	return blocks_settle(b, err);
}

static enum status write_and_read(struct blocks *b, char *at, struct error *err)
{
	b->sent = generator_bits(b->seed, b->token++);
	b->received = ~b->sent;
	if (exchange(b, at, err) != STATUS_OK)
		return err->status;
	if (b->received == b->sent)
		return STATUS_OK;
	return error_set(err, STATUS_MISMATCH,
			 "memory just allocated does not keep its data: wrote 0x%016" PRIx64
			 ", read 0x%016" PRIx64,
			 b->sent, b->received);
}

enum status blocks_use(struct blocks *b, struct error *err)
{
	size_t last = (b->bytes - sizeof(uint64_t)) & ~(sizeof(uint64_t) - 1);

	if (write_and_read(b, b->current, err) != STATUS_OK)
		return err->status;
	return write_and_read(b, (char *)b->current + last, err);
}

void blocks_hold(struct blocks *b)
{
	b->held[b->held_count++] = b->current;
	b->current = NULL;
}

enum status blocks_release(struct blocks *b, struct error *err)
{
	struct error trimmed = ERROR_NONE;
	enum status status = STATUS_OK;

	while (b->held_count > 0) {
		enum status freed = free_block(b, b->held[--b->held_count], err);

		status = status == STATUS_OK ? freed : status;
	}
	if (blocks_settle(b, err) != STATUS_OK)
		return err->status;
	/* What has no cache has nothing to give back. */
	if (backend_memory_trim(b->device, &trimmed) == STATUS_OK ||
	    trimmed.status == STATUS_UNSUPPORTED)
		return status;
	return error_set(err, trimmed.status, "%s", trimmed.message);
}
