#include "suites/transfer/lane.h"

#include <inttypes.h>
#include <string.h>

/* What check_fill can start at, and what a kernel may store at once. */
#define ALIGNMENT 16

static size_t stride_of(size_t bytes)
{
	return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

uint64_t lane_footprint(size_t bytes, size_t slots)
{
	return (uint64_t)stride_of(bytes) * slots;
}

static enum status poison(struct lane *lane, struct error *err)
{
	lane->copies = 0;
	return buffer_poison(&lane->to, lane->to_stream, err);
}

enum status lane_open(struct lane *lane, struct lane_end from, struct lane_end to, size_t bytes,
		      size_t slots, uint64_t seed, struct error *err)
{
	uint64_t footprint = lane_footprint(bytes, slots);

	memset(lane, 0, sizeof(*lane));
	lane->bytes = bytes;
	lane->stride = stride_of(bytes);
	lane->slots = slots;
	lane->seed = seed;
	if (backend_stream_create(from.device, false, &lane->stream, err) != STATUS_OK ||
	    backend_stream_create(to.device, false, &lane->to_stream, err) != STATUS_OK ||
	    buffer_alloc(&lane->from, from.device, from.allocator, footprint, err) != STATUS_OK ||
	    buffer_alloc(&lane->to, to.device, to.allocator, footprint, err) != STATUS_OK ||
	    buffer_fill(&lane->from, lane->stream, seed, err) != STATUS_OK)
		return err->status;
	return poison(lane, err);
}

void lane_close(struct lane *lane)
{
	if (lane->stream)
		backend_stream_synchronize(lane->stream, NULL);
	if (lane->to_stream)
		backend_stream_synchronize(lane->to_stream, NULL);
	buffer_free(&lane->to);
	buffer_free(&lane->from);
	backend_stream_destroy(lane->to_stream);
	backend_stream_destroy(lane->stream);
	memset(lane, 0, sizeof(*lane));
}

static enum status copy_block(struct lane *lane, uint64_t slot, struct error *err)
{
	const char *from = (const char *)lane->from.memory + slot * lane->stride;
	char *to = (char *)lane->to.memory + slot * lane->stride;

	if (lane->from.device != lane->to.device)
		return backend_copy_peer(lane->stream, to, lane->to.device, from, lane->from.device,
					 lane->bytes, err);
	return backend_copy(lane->stream, to, from, lane->bytes, err);
}

enum status lane_copy(struct lane *lane, uint64_t count, struct error *err)
{
	enum status status = STATUS_OK;

	for (uint64_t i = 0; i < count && status == STATUS_OK; i++)
		status = copy_block(lane, lane->copies++ % lane->slots, err);
	return status;
}

enum status lane_check(struct lane *lane, struct error *err)
{
	uint64_t blocks = lane->copies < lane->slots ? lane->copies : lane->slots;
	enum status status = backend_stream_synchronize(lane->stream, err);

	if (lane->stride == lane->bytes)
		return status != STATUS_OK ? status
					   : buffer_check(&lane->to, lane->to_stream, 0,
							  blocks * lane->bytes, lane->seed, err);
	for (uint64_t i = 0; i < blocks && status == STATUS_OK; i++)
		status = buffer_check(&lane->to, lane->to_stream, i * lane->stride, lane->bytes,
				      lane->seed, err);
	return status;
}

enum status lane_verify(struct lane *lane, struct error *err)
{
	if (lane_copy(lane, lane->slots, err) != STATUS_OK || lane_check(lane, err) != STATUS_OK)
		return err->status;
	return poison(lane, err);
}
