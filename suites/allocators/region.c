#include "suites/allocators/region.h"

#include <stdlib.h>

#include "base/memory.h"

void region_init(struct region *region, uint64_t bytes)
{
	*region = (struct region){ .bytes = bytes };
	region->pieces = xcalloc(1, sizeof(*region->pieces));
	region->pieces->bytes = bytes;
}

void region_release(struct region *region)
{
	while (region->pieces) {
		struct region_piece *next = region->pieces->next;

		free(region->pieces);
		region->pieces = next;
	}
	*region = (struct region){ 0 };
}

uint64_t region_round(uint64_t bytes)
{
	uint64_t whole = (bytes + REGION_ROUNDING - 1) / REGION_ROUNDING * REGION_ROUNDING;

	return whole ? whole : REGION_ROUNDING;
}

struct region_piece *region_find(const struct region *region, uint64_t bytes, enum region_fit fit)
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

static void region_split_piece(struct region_piece *piece, uint64_t bytes)
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

void region_take(struct region *region, struct region_piece *piece, uint64_t bytes)
{
	if (piece->bytes > bytes)
		region_split_piece(piece, bytes);
	piece->used = true;
	region->used += piece->bytes;
}

struct region_piece *region_at(const struct region *region, uint64_t offset)
{
	for (struct region_piece *p = region->pieces; p; p = p->next)
		if (p->used && p->offset == offset)
			return p;
	return NULL;
}

struct region_piece *region_take_end(struct region *region, struct region_piece *piece,
				     uint64_t bytes)
{
	if (piece->bytes > bytes) {
		region_split_piece(piece, piece->bytes - bytes);
		piece = piece->next;
	}
	region_take(region, piece, piece->bytes);
	return piece;
}

/* Merges `piece` with its successor. */
static void region_join_next(struct region_piece *piece)
{
	struct region_piece *next = piece->next;

	piece->bytes += next->bytes;
	piece->next = next->next;
	if (piece->next)
		piece->next->previous = piece;
	free(next);
}

void region_give(struct region *region, struct region_piece *piece)
{
	piece->used = false;
	region->used -= piece->bytes;
	if (piece->next && !piece->next->used)
		region_join_next(piece);
	if (piece->previous && !piece->previous->used)
		region_join_next(piece->previous);
}

uint64_t region_largest_free(const struct region *region)
{
	uint64_t largest = 0;

	for (const struct region_piece *p = region->pieces; p; p = p->next)
		if (!p->used && p->bytes > largest)
			largest = p->bytes;
	return largest;
}
