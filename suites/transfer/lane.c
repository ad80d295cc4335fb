#include "suites/transfer/lane.h"

#include <inttypes.h>
#include <string.h>

#include "suites/transfer/pool.h"

/* Alignment for check_fill and for a kernel's widest store. */
#define ALIGNMENT 16

static size_t lane_stride(size_t bytes)
{
	return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

uint64_t lane_footprint(size_t bytes, size_t slots)
{
	return (uint64_t)lane_stride(bytes) * slots;
}

static enum status lane_poison(struct transfer_lane *lane, struct error *err)
{
	lane->copies = 0;
	return buffer_poison(&lane->to, lane->at_to, err);
}

/* One stream per participating device. */
static enum status lane_open_streams(struct transfer_lane *lane, struct error *err)
{
	struct device *issuer = lane->plan.issuer;
	struct device *ends[2] = { lane->plan.from.device, lane->plan.to.device };
	struct stream **at[2] = { &lane->at_from, &lane->at_to };

	if (backend_stream_create(issuer, false, &lane->stream, err) != STATUS_OK)
		return err->status;
	for (int i = 0; i < 2; i++) {
		if (ends[i] == issuer)
			*at[i] = lane->stream;
		else if (backend_stream_create(ends[i], false, at[i], err) != STATUS_OK)
			return err->status;
	}
	return STATUS_OK;
}

static enum status lane_alloc_end(struct transfer_lane *lane, const struct lane_end *end,
				  struct buffer *buffer, struct error *err)
{
	uint64_t footprint = lane_footprint(lane->plan.bytes, lane->plan.slots);
	int none;

	return pool_take(lane->plan.pool, buffer, end->device, end->allocator, footprint,
			 allocator_on_device(end->allocator) ? &none : &lane->node, err);
}

static enum status lane_alloc_record(struct transfer_lane *lane, struct error *err)
{
	int none;

	if (!buffer_check_needs_record(&lane->to))
		return STATUS_OK;
	return pool_take(lane->plan.pool, &lane->record, lane->to.device, ALLOCATOR_DEVICE,
			 BUFFER_CHECK_BYTES, &none, err);
}

enum status lane_open(struct transfer_lane *lane, const struct lane_plan *plan, struct error *err)
{
	memset(lane, 0, sizeof(*lane));
	lane->plan = *plan;
	lane->node = -1;
	lane->stride = lane_stride(plan->bytes);
	if (lane_open_streams(lane, err) != STATUS_OK ||
	    lane_alloc_end(lane, &plan->from, &lane->from, err) != STATUS_OK ||
	    lane_alloc_end(lane, &plan->to, &lane->to, err) != STATUS_OK ||
	    lane_alloc_record(lane, err) != STATUS_OK ||
	    buffer_fill(&lane->from, lane->at_from, plan->seed, err) != STATUS_OK)
		return err->status;
	return lane_poison(lane, err);
}

void lane_close(struct transfer_lane *lane)
{
	struct stream *streams[3] = { lane->stream, lane->at_from, lane->at_to };

	for (int i = 0; i < 3; i++)
		if (streams[i])
			backend_stream_synchronize(streams[i], NULL);
	pool_give(lane->plan.pool, &lane->record);
	pool_give(lane->plan.pool, &lane->to);
	pool_give(lane->plan.pool, &lane->from);
	for (int i = 2; i >= 0; i--)
		if (i == 0 || streams[i] != lane->stream)
			backend_stream_destroy(streams[i]);
	memset(lane, 0, sizeof(*lane));
}

void lane_join(struct transfer_lane *lane, struct transfer_lane *reverse)
{
	lane->reverse = reverse;
	reverse->led = true;
}

static char *lane_block_at(const struct buffer *buffer, const struct transfer_lane *lane,
			   uint64_t slot)
{
	return (char *)buffer->memory + slot * lane->stride;
}

static enum status launch_copies(struct transfer_lane *lane, uint64_t slot, uint64_t count,
				 struct error *err)
{
	struct transfer_lane *reverse = lane->reverse;
	struct copy_arguments a = { .to = lane_block_at(&lane->to, lane, slot),
				    .from = lane_block_at(&lane->from, lane, slot),
				    .bytes = lane->plan.bytes,
				    .count = count };

	if (reverse) {
		a.back_to = lane_block_at(&reverse->to, reverse, slot);
		a.back_from = lane_block_at(&reverse->from, reverse, slot);
	}
	return backend_launch(lane->stream, "copy", &a, err);
}

enum status lane_copy(struct transfer_lane *lane, uint64_t count, struct error *err)
{
	const struct lane_plan *plan = &lane->plan;
	enum status status = STATUS_OK;
	uint64_t first = lane->copies;

	if (lane->led)
		return STATUS_OK;
	lane->copies += count;
	if (lane->reverse)
		lane->reverse->copies += count;
	/* Copies of one block follow each other within one launch. */
	if (plan->by_kernel && plan->slots == 1)
		return launch_copies(lane, 0, count, err);
	for (uint64_t i = 0; i < count && status == STATUS_OK; i++) {
		uint64_t slot = (first + i) % plan->slots;
		void *to = lane_block_at(&lane->to, lane, slot);
		const void *from = lane_block_at(&lane->from, lane, slot);

		if (plan->by_kernel)
			status = launch_copies(lane, slot, 1, err);
		else if (lane->from.device != lane->to.device)
			status = backend_copy_peer(lane->stream, to, lane->to.device, from,
						   lane->from.device, plan->bytes, err);
		else
			status = backend_copy(lane->stream, to, from, plan->bytes, err);
	}
	return status;
}

enum status lane_check(struct transfer_lane *lane, struct error *err)
{
	uint64_t slots = lane->plan.slots, seed = lane->plan.seed;
	uint64_t blocks = lane->copies < slots ? lane->copies : slots;
	enum status status = backend_stream_synchronize(lane->stream, err);

	if (lane->stride == lane->plan.bytes)
		return status != STATUS_OK ? status
					   : buffer_check_by(&lane->to, &lane->record, lane->at_to,
							     0, blocks * lane->stride, seed, err);
	for (uint64_t i = 0; i < blocks && status == STATUS_OK; i++)
		status = buffer_check_by(&lane->to, &lane->record, lane->at_to, i * lane->stride,
					 lane->plan.bytes, seed, err);
	return status;
}

enum status lane_verify(struct transfer_lane *lane, struct error *err)
{
	if (lane_copy(lane, lane->plan.slots, err) != STATUS_OK ||
	    lane_check(lane, err) != STATUS_OK)
		return err->status;
	return lane_poison(lane, err);
}
