#include "suites/shared/checked_blocks.h"

#include <inttypes.h>

#include "kernels/generator.h"

enum status checked_blocks_exchange_write(struct stream *stream, bool on_device, void *at,
					  struct exchange *x, struct error *err)
{
	if (on_device)
		return backend_copy(stream, at, &x->sent, sizeof(x->sent), err);
	*(volatile uint64_t *)at = x->sent;
	return STATUS_OK;
}

static enum status checked_blocks_exchange_read(struct stream *stream, bool on_device,
						const void *at, struct exchange *x,
						struct error *err)
{
	x->received = ~x->sent;
	if (on_device)
		return backend_copy(stream, &x->received, at, sizeof(x->received), err);
	x->received = *(const volatile uint64_t *)at;
	return STATUS_OK;
}

static enum status checked_blocks_exchange_compare(const struct exchange *x, struct error *err)
{
	if (x->received == x->sent)
		return STATUS_OK;
	return error_set(err, STATUS_MISMATCH,
			 "newly allocated memory does not keep its data: wrote 0x%016" PRIx64
			 ", read 0x%016" PRIx64,
			 x->sent, x->received);
}

enum status checked_blocks_check_exchange(struct stream *stream, bool on_device, const void *at,
					  struct exchange *x, struct error *err)
{
	if (checked_blocks_exchange_read(stream, on_device, at, x, err) != STATUS_OK ||
	    (on_device && backend_stream_synchronize(stream, err) != STATUS_OK))
		return err->status;
	return checked_blocks_exchange_compare(x, err);
}

static char *checked_block_end(const struct checked_block *block, int end)
{
	return (char *)block->memory + (end ? checked_blocks_exchange_last(block->bytes) : 0);
}

enum status checked_blocks_take(struct checked_blocks *b, struct checked_block *block, size_t bytes,
				struct error *err)
{
	*block = (struct checked_block){ .bytes = bytes };
	if (b->take(b->state, bytes, &block->memory, err) != STATUS_OK) {
		block->memory = NULL;
		return err->status;
	}
	b->used += bytes;
	for (int end = 0; end < 2 && b->stream; end++) {
		block->ends[end].sent = generator_bits(b->seed, b->token++);
		if (checked_blocks_exchange_write(b->stream, b->on_device,
						  checked_block_end(block, end), &block->ends[end],
						  err) != STATUS_OK)
			return err->status;
	}
	return b->stream ? backend_stream_synchronize(b->stream, err) : STATUS_OK;
}

enum status checked_blocks_give(struct checked_blocks *b, struct checked_block *block,
				struct error *err)
{
	void *memory = block->memory;

	if (!memory)
		return STATUS_OK;
	for (int end = 0; end < 2 && b->stream; end++)
		if (checked_blocks_exchange_read(b->stream, b->on_device,
						 checked_block_end(block, end), &block->ends[end],
						 err) != STATUS_OK)
			return err->status;
	if (b->stream && (backend_stream_synchronize(b->stream, err) != STATUS_OK ||
			  checked_blocks_exchange_compare(&block->ends[0], err) != STATUS_OK ||
			  checked_blocks_exchange_compare(&block->ends[1], err) != STATUS_OK))
		return err->status;
	block->memory = NULL;
	b->used -= block->bytes;
	if (b->give(b->state, memory, block->bytes, err) != STATUS_OK)
		return err->status;
	return b->stream ? backend_stream_synchronize(b->stream, err) : STATUS_OK;
}

enum status checked_blocks_fits(struct checked_blocks *b, size_t bytes, bool *out,
				struct error *err)
{
	struct error refused = ERROR_NONE;
	struct checked_block probe;
	enum status status = checked_blocks_take(b, &probe, bytes, &refused);

	*out = status == STATUS_OK;
	if (status == STATUS_OK)
		return checked_blocks_give(b, &probe, err);
	return status == STATUS_NO_MEMORY ? STATUS_OK
					  : error_set(err, status, "%s", refused.message);
}

enum status checked_blocks_largest(struct checked_blocks *b, uint64_t step, uint64_t most,
				   uint64_t *out, struct error *err)
{
	/* largest known to fit; smallest known not to fit */
	uint64_t low = 0, high = most / step + 1;

	while (high - low > 1) {
		uint64_t middle = (low + high) / 2;
		bool fit;

		if (checked_blocks_fits(b, (size_t)(middle * step), &fit, err) != STATUS_OK)
			return err->status;
		*(fit ? &low : &high) = middle;
	}
	*out = low * step;
	return STATUS_OK;
}

enum status checked_blocks_checkerboard_make(struct checked_blocks *b, uint64_t span,
					     struct checked_block blocks[CHECKERBOARD_BLOCKS],
					     struct error *err)
{
	struct checked_block whole;

	if (checked_blocks_take(b, &whole, span, err) != STATUS_OK ||
	    checked_blocks_give(b, &whole, err) != STATUS_OK)
		return err->status;
	for (int i = 0; i < CHECKERBOARD_BLOCKS; i++)
		if (checked_blocks_take(b, &blocks[i], span / CHECKERBOARD_BLOCKS, err) !=
		    STATUS_OK)
			return err->status;
	for (int i = 0; i < CHECKERBOARD_BLOCKS; i += 2)
		if (checked_blocks_give(b, &blocks[i], err) != STATUS_OK)
			return err->status;
	return STATUS_OK;
}
