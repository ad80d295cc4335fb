#include "suites/allocators/reservation.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/units.h"

void reservation_region_init(struct region *region, uint64_t bytes)
{
	*region = (struct region){ .bytes = bytes };
	region->pieces = xcalloc(1, sizeof(*region->pieces));
	region->pieces->bytes = bytes;
}

void reservation_region_release(struct region *region)
{
	while (region->pieces) {
		struct region_piece *next = region->pieces->next;

		free(region->pieces);
		region->pieces = next;
	}
	*region = (struct region){ 0 };
}

uint64_t reservation_region_round(uint64_t bytes)
{
	uint64_t whole = (bytes + REGION_ROUNDING - 1) / REGION_ROUNDING * REGION_ROUNDING;

	return whole ? whole : REGION_ROUNDING;
}

struct region_piece *reservation_region_find(const struct region *region, uint64_t bytes,
					     enum region_fit fit)
{
	struct region_piece *found = NULL;

	for (struct region_piece *p = region->pieces; p; p = p->next) {
		if (p->used || p->bytes < bytes)
			continue;
		found = p;
		if (fit == REGION_FIRST)
			break;
	}
	return found;
}

static void reservation_region_split_piece(struct region_piece *piece, uint64_t bytes)
{
	struct region_piece *rest = xcalloc(1, sizeof(*rest));

	rest->offset = piece->offset + bytes;
	rest->bytes = piece->bytes - bytes;
	rest->previous = piece;
	rest->next = piece->next;
	if (rest->next)
		rest->next->previous = rest;
	piece->next = rest;
	piece->bytes = bytes;
}

void reservation_region_take(struct region *region, struct region_piece *piece, uint64_t bytes)
{
	if (piece->bytes > bytes)
		reservation_region_split_piece(piece, bytes);
	piece->used = true;
	region->used += piece->bytes;
}

struct region_piece *reservation_region_at(const struct region *region, uint64_t offset)
{
	for (struct region_piece *p = region->pieces; p; p = p->next)
		if (p->used && p->offset == offset)
			return p;
	return NULL;
}

struct region_piece *reservation_region_take_end(struct region *region, struct region_piece *piece,
						 uint64_t bytes)
{
	if (piece->bytes > bytes) {
		reservation_region_split_piece(piece, piece->bytes - bytes);
		piece = piece->next;
	}
	reservation_region_take(region, piece, piece->bytes);
	return piece;
}

/* Merges `piece` with its successor. */
static void reservation_region_join_next(struct region_piece *piece)
{
	struct region_piece *next = piece->next;

	piece->bytes += next->bytes;
	piece->next = next->next;
	if (piece->next)
		piece->next->previous = piece;
	free(next);
}

void reservation_region_give(struct region *region, struct region_piece *piece)
{
	piece->used = false;
	region->used -= piece->bytes;
	if (piece->next && !piece->next->used)
		reservation_region_join_next(piece);
	if (piece->previous && !piece->previous->used)
		reservation_region_join_next(piece->previous);
}

uint64_t reservation_region_largest_free(const struct region *region)
{
	uint64_t largest = 0;

	for (const struct region_piece *p = region->pieces; p; p = p->next)
		if (!p->used && p->bytes > largest)
			largest = p->bytes;
	return largest;
}

struct reservation {
	struct caching_source source;
	uint64_t bytes;
	char *base; /* NULL: not allocated yet, or returned */
	struct region region;
	pthread_mutex_t lock;
};

struct reservation *reservation_open(struct caching_source source, uint64_t bytes)
{
	struct reservation *r = xcalloc(1, sizeof(*r));

	r->source = source;
	r->bytes = bytes / REGION_ROUNDING * REGION_ROUNDING;
	pthread_mutex_init(&r->lock, NULL);
	return r;
}

static enum status reservation_give_back(struct reservation *r, struct error *err)
{
	void *base = r->base;

	if (!base)
		return STATUS_OK;
	r->base = NULL;
	reservation_region_release(&r->region);
	return r->source.give(r->source.state, base, r->bytes, err);
}

void reservation_close(struct reservation *r)
{
	if (!r)
		return;
	reservation_give_back(r, NULL);
	pthread_mutex_destroy(&r->lock);
	free(r);
}

static enum status reservation_obtain(struct reservation *r, struct error *err)
{
	enum status status;
	void *base;

	if (r->base)
		return STATUS_OK;
	status = r->source.take(r->source.state, r->bytes, &base, err);
	if (status != STATUS_OK)
		return status;
	r->base = base;
	reservation_region_init(&r->region, r->bytes);
	return STATUS_OK;
}

enum status reservation_make(struct reservation *r, struct error *err)
{
	enum status status;

	pthread_mutex_lock(&r->lock);
	status = reservation_obtain(r, err);
	pthread_mutex_unlock(&r->lock);
	return status;
}

static enum status reservation_take_piece(struct reservation *r, bool from_top, uint64_t bytes,
					  void **out, struct error *err)
{
	struct region_piece *piece;
	enum status status = reservation_obtain(r, err);
	char largest[32];

	if (status != STATUS_OK)
		return status;
	bytes = reservation_region_round(bytes);
	piece = reservation_region_find(&r->region, bytes, from_top ? REGION_LAST : REGION_FIRST);
	if (!piece)
		return error_set(err, STATUS_NO_MEMORY,
				 "no block fits: the largest free block of the arena is %s",
				 units_format((double)reservation_region_largest_free(&r->region),
					      "B", largest, sizeof(largest)));
	if (from_top)
		piece = reservation_region_take_end(&r->region, piece, bytes);
	else
		reservation_region_take(&r->region, piece, bytes);
	*out = r->base + piece->offset;
	return STATUS_OK;
}

enum status reservation_take(struct reservation *r, bool from_top, uint64_t bytes, void **out,
			     struct error *err)
{
	enum status status;

	*out = NULL;
	pthread_mutex_lock(&r->lock);
	status = reservation_take_piece(r, from_top, bytes, out, err);
	pthread_mutex_unlock(&r->lock);
	return status;
}

enum status reservation_give(struct reservation *r, void *memory, struct error *err)
{
	struct region_piece *piece = NULL;

	if (!memory)
		return STATUS_OK;
	pthread_mutex_lock(&r->lock);
	if (r->base)
		piece = reservation_region_at(&r->region, (uintptr_t)memory - (uintptr_t)r->base);
	if (piece)
		reservation_region_give(&r->region, piece);
	pthread_mutex_unlock(&r->lock);
	return piece ? STATUS_OK
		     : error_set(err, STATUS_INTERNAL,
				 "a block was freed that the arena did not allocate");
}

enum status reservation_trim(struct reservation *r, struct error *err)
{
	enum status status = STATUS_OK;

	pthread_mutex_lock(&r->lock);
	if (r->base && r->region.used == 0)
		status = reservation_give_back(r, err);
	pthread_mutex_unlock(&r->lock);
	return status;
}

uint64_t reservation_taken(struct reservation *r)
{
	uint64_t bytes;

	pthread_mutex_lock(&r->lock);
	bytes = r->base ? r->bytes : 0;
	pthread_mutex_unlock(&r->lock);
	return bytes;
}

void reservation_free_bytes(struct reservation *r, uint64_t *all, uint64_t *largest)
{
	pthread_mutex_lock(&r->lock);
	*all = r->base ? r->region.bytes - r->region.used : 0;
	*largest = r->base ? reservation_region_largest_free(&r->region) : 0;
	pthread_mutex_unlock(&r->lock);
}
