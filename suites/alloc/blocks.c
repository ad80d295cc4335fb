#include "suites/alloc/alloc.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "kernels/generator.h"

#define CHUNK_BYTES ((uint64_t)1 << 30)
/* Smallest amount that can be allocated separately. */
#define UNIT_BYTES ((uint64_t)2 << 20)

enum status alloc_blocks_free_bytes(struct device *device, uint64_t *out, struct error *err)
{
	uint64_t total;

	if (device->info.capabilities & DEVICE_SHARES_HOST_MEMORY)
		return error_set(err, STATUS_UNSUPPORTED,
				 "cannot fill the memory of %s: the operating system shares it "
				 "with other processes",
				 device->info.id);
	if (backend_device_synchronize(device, err) != STATUS_OK)
		return err->status;
	return backend_device_memory(device, out, &total, err);
}

enum status alloc_blocks_filler_take(struct memory_filler *filler, size_t bytes, struct error *err)
{
	void *memory;

	if (alloc_blocks_origin_get(&filler->origin, bytes, filler->stream, &memory, err) !=
	    STATUS_OK)
		return err->status;
	ARRAY_GROW(filler->chunks, filler->count, filler->capacity);
	filler->chunks[filler->count].memory = memory;
	filler->chunks[filler->count++].bytes = bytes;
	filler->bytes += bytes;
	return STATUS_OK;
}

enum status alloc_blocks_filler_leave(struct memory_filler *filler, struct device *device,
				      uint64_t bytes, struct error *err)
{
	uint64_t unused;

	alloc_blocks_origin_open(&filler->origin, device, ALLOCATOR_DEVICE, 0);
	if (alloc_blocks_free_bytes(device, &unused, err) != STATUS_OK)
		return err->status;
	while (unused >= bytes + UNIT_BYTES) {
		uint64_t rest = (unused - bytes) / UNIT_BYTES * UNIT_BYTES, before = unused;

		if (alloc_blocks_filler_take(filler, rest < CHUNK_BYTES ? rest : CHUNK_BYTES,
					     err) != STATUS_OK ||
		    alloc_blocks_free_bytes(device, &unused, err) != STATUS_OK)
			return err->status;
		if (unused >= before)
			break; /* other processes free as much as is allocated */
	}
	return STATUS_OK;
}

void alloc_blocks_filler_free(struct memory_filler *filler)
{
	if (filler->stream)
		backend_stream_synchronize(filler->stream, NULL);
	while (filler->count-- > 0)
		alloc_blocks_origin_give(&filler->origin, filler->chunks[filler->count].memory,
					 filler->chunks[filler->count].bytes, filler->stream, NULL);
	if (filler->stream)
		backend_stream_synchronize(filler->stream, NULL);
	free(filler->chunks);
	memset(filler, 0, sizeof(*filler));
}

int alloc_blocks_origin_from_name(const char *name)
{
	enum allocator allocator;

	if (allocator_from_name(name, &allocator))
		return (int)allocator;
	for (int rules = 0; rules < CACHING_RULES_COUNT; rules++)
		if (strcmp(name, caching_rules_names[rules]) == 0)
			return ORIGIN_CACHING + rules;
	return ORIGIN_ARENA;
}

const char *alloc_blocks_origin_name(int kind)
{
	if (kind == ORIGIN_ARENA)
		return "arena";
	return alloc_blocks_origin_is_own(kind) ? caching_rules_names[kind - ORIGIN_CACHING]
						: allocator_name((enum allocator)kind);
}

bool alloc_blocks_origin_on_device(int kind)
{
	return alloc_blocks_origin_is_own(kind) || allocator_on_device((enum allocator)kind);
}

bool alloc_blocks_origin_is_own(int kind)
{
	return kind >= ORIGIN_CACHING;
}

void alloc_blocks_origin_open(struct origin *origin, struct device *device, int kind,
			      uint64_t limit)
{
	*origin = (struct origin){ .device = device,
				   .kind = kind,
				   .on_device = alloc_blocks_origin_on_device(kind) };
	if (kind == ORIGIN_ARENA)
		origin->reservation = reservation_open(caching_source_device(device), limit);
	else if (alloc_blocks_origin_is_own(kind))
		origin->caching = caching_open(caching_source_device(device),
					       (enum caching_rules)(kind - ORIGIN_CACHING), limit);
}

void alloc_blocks_origin_close(struct origin *origin)
{
	caching_close(origin->caching);
	reservation_close(origin->reservation);
	memset(origin, 0, sizeof(*origin));
}

uint64_t alloc_blocks_origin_reserved(const struct origin *origin)
{
	return origin->caching ? caching_reserved(origin->caching)
			       : reservation_taken(origin->reservation);
}

uint64_t alloc_blocks_limit(const struct run *run, int kind)
{
	struct error ignored = ERROR_NONE;
	uint64_t unused, total;

	if (kind == ORIGIN_CACHING || !alloc_blocks_origin_is_own(kind) ||
	    backend_device_memory(run->devices[0], &unused, &total, &ignored) != STATUS_OK)
		return 0;
	return (uint64_t)(section_real(run->c->section, "memory_fraction") * (double)unused);
}

enum status alloc_blocks_origin_get(struct origin *origin, size_t bytes, struct stream *stream,
				    void **out, struct error *err)
{
	enum status status;

	if (origin->caching)
		status = caching_alloc(origin->caching, bytes, out, err);
	else if (origin->reservation)
		status = reservation_take(origin->reservation, false, bytes, out, err);
	else
		status = backend_memory_alloc(origin->device, (enum allocator)origin->kind, bytes,
					      stream, out, err);
	if (status != STATUS_OK)
		*out = NULL;
	return status;
}

enum status alloc_blocks_origin_give(struct origin *origin, void *memory, size_t bytes,
				     struct stream *stream, struct error *err)
{
	if (origin->caching)
		return caching_free(origin->caching, memory, err);
	if (origin->reservation)
		return reservation_give(origin->reservation, memory, err);
	return backend_memory_free(origin->device, (enum allocator)origin->kind, memory, bytes,
				   stream, err);
}

enum status alloc_blocks_origin_trim(struct origin *origin, struct error *err)
{
	struct error trimmed = ERROR_NONE;

	if (origin->caching)
		return caching_trim(origin->caching, err);
	if (origin->reservation)
		return reservation_trim(origin->reservation, err);
	/* An allocator without a cache has nothing to release. */
	if (backend_memory_trim(origin->device, err ? &trimmed : NULL) == STATUS_OK ||
	    trimmed.status == STATUS_UNSUPPORTED)
		return STATUS_OK;
	return error_set(err, trimmed.status, "%s", trimmed.message);
}

#define HOLD_BYTES (UINT64_C(256) << 20)
#define HOLD_MOST 256

size_t alloc_blocks_held_most(uint64_t bytes)
{
	uint64_t count = HOLD_BYTES / bytes;

	return count < 1 ? 1 : count > HOLD_MOST ? HOLD_MOST : (size_t)count;
}

enum status alloc_blocks_open(struct blocks *b, const struct run *run, int kind, size_t bytes,
			      uint64_t limit, struct error *err)
{
	struct device *device = run->devices[0];

	*b = (struct blocks){ .device = device, .bytes = bytes, .seed = run->seed };
	alloc_blocks_origin_open(&b->origin, device, kind, limit);
	b->held_most = alloc_blocks_held_most(bytes);
	b->held = xcalloc(b->held_most, sizeof(*b->held));
	if (backend_stream_create(device, false, &b->stream, err) != STATUS_OK)
		return err->status;
	return alloc_blocks_release(b, err);
}

void alloc_blocks_close(struct blocks *b)
{
	if (b->stream) {
		alloc_blocks_settle(b, NULL); /* nothing still uses the blocks to free */
		alloc_blocks_give(b, NULL);
		alloc_blocks_release(b, NULL);
	}
	alloc_blocks_origin_close(&b->origin);
	backend_stream_destroy(b->stream);
	free(b->held);
	memset(b, 0, sizeof(*b));
}

enum status alloc_blocks_get(struct blocks *b, struct error *err)
{
	return alloc_blocks_origin_get(&b->origin, b->bytes, b->stream, &b->current, err);
}

enum status alloc_blocks_give(struct blocks *b, struct error *err)
{
	void *block = b->current;

	b->current = NULL;
	return alloc_blocks_origin_give(&b->origin, block, b->bytes, b->stream, err);
}

enum status alloc_blocks_settle(struct blocks *b, struct error *err)
{
	return backend_stream_synchronize(b->stream, err);
}

enum status alloc_blocks_use(struct blocks *b, struct error *err)
{
	for (int end = 0; end < 2; end++) {
		char *at = (char *)b->current + (end ? checked_blocks_exchange_last(b->bytes) : 0);

		b->exchange.sent = generator_bits(b->seed, b->token++);
		if (checked_blocks_exchange_write(b->stream, b->origin.on_device, at, &b->exchange,
						  err) != STATUS_OK ||
		    checked_blocks_check_exchange(b->stream, b->origin.on_device, at, &b->exchange,
						  err) != STATUS_OK)
			return err->status;
	}
	return STATUS_OK;
}

void alloc_blocks_hold(struct blocks *b)
{
	b->held[b->held_count++] = b->current;
	b->current = NULL;
}

enum status alloc_blocks_release(struct blocks *b, struct error *err)
{
	enum status status = STATUS_OK;

	while (b->held_count > 0) {
		enum status freed = alloc_blocks_origin_give(&b->origin, b->held[--b->held_count],
							     b->bytes, b->stream, err);

		status = status == STATUS_OK ? freed : status;
	}
	if (alloc_blocks_settle(b, err) != STATUS_OK || status != STATUS_OK)
		return err ? err->status : status;
	return alloc_blocks_origin_trim(&b->origin, err);
}
