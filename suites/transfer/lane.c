#include "suites/transfer/lane.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "device/host/placement.h"
#include "device/limits.h"

static enum status transfer_lane_switch_both(struct device *a, struct device *b, bool on,
					     struct error *err)
{
	if (backend_peer_access(a, b, on, err) != STATUS_OK)
		return err->status;
	if (backend_peer_access(b, a, on, err) == STATUS_OK)
		return STATUS_OK;
	if (on)
		backend_peer_access(a, b, false, NULL);
	return err->status;
}

/* Disables access of `a` and of `b` that earlier cases needed; false: there is none. */
static bool transfer_lane_access_release_unused(struct access *access, const struct device *a,
						const struct device *b)
{
	bool any = false;

	for (size_t i = access->count; i-- > 0;) {
		struct access_pair *p = &access->pairs[i];

		if (p->turn == access->turn || (p->a != a && p->a != b && p->b != a && p->b != b))
			continue;
		transfer_lane_switch_both(p->a, p->b, false, &(struct error)ERROR_NONE);
		*p = access->pairs[--access->count];
		any = true;
	}
	return any;
}

enum status transfer_lane_access_set(struct access *access, struct device *a, struct device *b,
				     bool on, struct error *err)
{
	struct access_pair *known = NULL;
	struct error refused = ERROR_NONE;
	enum status status;

	for (size_t i = 0; i < access->count && !known; i++) {
		struct access_pair *p = &access->pairs[i];

		if ((p->a == a && p->b == b) || (p->a == b && p->b == a))
			known = p;
	}
	if (known && on) {
		known->turn = access->turn;
		return STATUS_OK;
	}
	/*
	 * Disables access even if it was not enabled here: the backend may enable it from the
	 * start.
	 */
	status = transfer_lane_switch_both(a, b, on, &refused);
	if (on && status == STATUS_UNSUPPORTED &&
	    transfer_lane_access_release_unused(access, a, b)) {
		error_clear(&refused);
		status = transfer_lane_switch_both(a, b, on, &refused);
	}
	if (status != STATUS_OK)
		return error_set(err, status, "%s", refused.message);
	if (on) {
		ARRAY_GROW(access->pairs, access->count, access->capacity);
		access->pairs[access->count++] = (struct access_pair){ a, b, access->turn };
	} else if (known) {
		*known = access->pairs[--access->count];
	}
	return STATUS_OK;
}

void transfer_lane_access_close(struct access *access)
{
	for (size_t i = 0; i < access->count; i++) {
		backend_peer_access(access->pairs[i].a, access->pairs[i].b, false, NULL);
		backend_peer_access(access->pairs[i].b, access->pairs[i].a, false, NULL);
	}
	free(access->pairs);
}

/*
 * Share of device memory that may stay allocated between cases: the next one may need nearly all of
 * it.
 */
#define DEVICE_SHARE 16
/* Share of the host's available memory. */
#define HOST_SHARE 4

static void transfer_lane_remove_block(struct pool *pool, size_t index)
{
	buffer_free(&pool->blocks[index].buffer);
	pool->blocks[index] = pool->blocks[--pool->count];
}

void transfer_lane_pool_empty(struct pool *pool)
{
	for (size_t i = pool->count; i-- > 0;)
		if (!pool->blocks[i].lent)
			transfer_lane_remove_block(pool, i);
}

void transfer_lane_pool_close(struct pool *pool)
{
	transfer_lane_pool_empty(pool);
	free(pool->blocks);
}

/* Host devices have their own memory; GPUs share host memory on a near node. */
static bool transfer_lane_pool_block_serves(const struct pool_block *b, const struct device *device,
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

/* The smallest idle block that fits. */
static struct pool_block *transfer_lane_pool_find_block(const struct pool *pool,
							const struct device *device,
							enum allocator allocator, size_t bytes,
							int node)
{
	struct pool_block *best = NULL;

	for (size_t i = 0; i < pool->count; i++) {
		struct pool_block *b = &pool->blocks[i];
		size_t size = b->buffer.bytes;

		if (transfer_lane_pool_block_serves(b, device, allocator, node) && size >= bytes &&
		    (size <= SMALL_BYTES || size / SPENDTHRIFT <= bytes) &&
		    (!best || size < best->buffer.bytes))
			best = b;
	}
	return best;
}

static enum status transfer_lane_pool_add_block(struct pool *pool, struct device *device,
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
		transfer_lane_pool_empty(pool);
		if (buffer_alloc(&buffer, device, allocator, bytes, err) != STATUS_OK)
			return err->status;
	}
	ARRAY_GROW(pool->blocks, pool->count, pool->capacity);
	pool->blocks[pool->count++] = (struct pool_block){ .buffer = buffer, .node = node };
	return STATUS_OK;
}

enum status transfer_lane_pool_take(struct pool *pool, struct buffer *buffer, struct device *device,
				    enum allocator allocator, size_t bytes, int *node,
				    struct error *err)
{
	bool on_host = !allocator_on_device(allocator);
	int near = on_host ? placement_begin(device) : -1;
	struct pool_block *block =
		transfer_lane_pool_find_block(pool, device, allocator, bytes, near);
	enum status status = STATUS_OK;

	memset(buffer, 0, sizeof(*buffer));
	if (!block) {
		/*
		 * Frees blocks smaller than requested: a sweep grows, so they will not fit again.
		 */
		for (size_t i = pool->count; i-- > 0;)
			if (transfer_lane_pool_block_serves(&pool->blocks[i], device, allocator,
							    near) &&
			    pool->blocks[i].buffer.bytes < bytes &&
			    bytes / SPENDTHRIFT <= pool->blocks[i].buffer.bytes)
				transfer_lane_remove_block(pool, i);
		status = transfer_lane_pool_add_block(pool, device, allocator, bytes, near, err);
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

/* Keeping a block must not make memory scarce for the next case. */
static bool transfer_lane_may_keep(const struct pool *pool, const struct buffer *given)
{
	bool on_device = allocator_on_device(given->allocator);
	uint64_t kept = 0; /* in the same memory: on its device, or anywhere on the host */

	for (size_t i = 0; i < pool->count; i++) {
		const struct buffer *b = &pool->blocks[i].buffer;

		if (allocator_on_device(b->allocator) == on_device &&
		    (!on_device || b->device == given->device))
			kept += b->bytes;
	}
	return kept <= (on_device ? given->device->info.memory_bytes / DEVICE_SHARE
				  : device_limits_memory_available() / HOST_SHARE);
}

void transfer_lane_pool_give(struct pool *pool, struct buffer *buffer)
{
	for (size_t i = 0; buffer->memory && i < pool->count; i++) {
		if (pool->blocks[i].buffer.memory != buffer->memory)
			continue;
		pool->blocks[i].lent = false;
		if (!transfer_lane_may_keep(pool, &pool->blocks[i].buffer))
			transfer_lane_remove_block(pool, i);
		break;
	}
	buffer->memory = NULL;
}

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

static enum status lane_alloc_end(struct transfer_lane *lane, const struct lane_end *end,
				  struct buffer *buffer, struct error *err)
{
	uint64_t footprint = lane_footprint(lane->plan.bytes, lane->plan.slots);
	int none;

	return transfer_lane_pool_take(lane->plan.pool, buffer, end->device, end->allocator,
				       footprint,
				       allocator_on_device(end->allocator) ? &none : &lane->node,
				       err);
}

enum status lane_open(struct transfer_lane *lane, const struct lane_plan *plan, struct error *err)
{
	struct device *ends[2] = { plan->from.device, plan->to.device };
	struct stream **at[2] = { &lane->at_from, &lane->at_to };
	int none;

	*lane = (struct transfer_lane){ .plan = *plan,
					.node = -1,
					.stride = lane_stride(plan->bytes) };
	if (backend_stream_create(plan->issuer, false, &lane->stream, err) != STATUS_OK)
		return err->status;
	for (int i = 0; i < 2; i++) {
		*at[i] = lane->stream; /* one stream per participating device */
		if (ends[i] != plan->issuer &&
		    backend_stream_create(ends[i], false, at[i], err) != STATUS_OK)
			return err->status;
	}
	if (lane_alloc_end(lane, &plan->from, &lane->from, err) != STATUS_OK ||
	    lane_alloc_end(lane, &plan->to, &lane->to, err) != STATUS_OK ||
	    (buffer_check_needs_record(&lane->to) &&
	     transfer_lane_pool_take(plan->pool, &lane->record, lane->to.device, ALLOCATOR_DEVICE,
				     BUFFER_CHECK_BYTES, &none, err) != STATUS_OK) ||
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
	transfer_lane_pool_give(lane->plan.pool, &lane->record);
	transfer_lane_pool_give(lane->plan.pool, &lane->to);
	transfer_lane_pool_give(lane->plan.pool, &lane->from);
	for (int i = 2; i >= 0; i--)
		if (i == 0 || streams[i] != lane->stream)
			backend_stream_destroy(streams[i]);
	memset(lane, 0, sizeof(*lane));
}

static char *lane_block_at(const struct buffer *buffer, const struct transfer_lane *lane,
			   uint64_t slot)
{
	return (char *)buffer->memory + slot * lane->stride;
}

static enum status transfer_lane_launch_copies(struct transfer_lane *lane, uint64_t slot,
					       uint64_t count, struct error *err)
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
		return transfer_lane_launch_copies(lane, 0, count, err);
	for (uint64_t i = 0; i < count && status == STATUS_OK; i++) {
		uint64_t slot = (first + i) % plan->slots;
		void *to = lane_block_at(&lane->to, lane, slot);
		const void *from = lane_block_at(&lane->from, lane, slot);

		if (plan->by_kernel)
			status = transfer_lane_launch_copies(lane, slot, 1, err);
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
