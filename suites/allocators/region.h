/*
 * Sub-allocator of one block of memory: hands out pieces, takes them back, merges free neighbours.
 * It never accesses the memory, so that a plan may exceed the existing memory.
 */
#ifndef GPUPROOF_ALLOCATORS_REGION_H
#define GPUPROOF_ALLOCATORS_REGION_H

#include <stdbool.h>
#include <stdint.h>

/* Sizes and offsets of all pieces are multiples of this. */
#define REGION_ROUNDING 512

struct region_piece {
	uint64_t offset, bytes;
	bool used;
	struct region_piece *previous, *next;
};

struct region {
	uint64_t bytes;
	uint64_t used;               /* bytes of all pieces in use */
	struct region_piece *pieces; /* sorted by offset; free neighbours are always merged */
};

enum region_fit {
	REGION_FIRST, /* first fit: the lowest free piece that is large enough */
	REGION_LAST   /* the highest */
};

void region_init(struct region *region, uint64_t bytes);
void region_release(struct region *region);

/* The free piece that would serve `bytes`; NULL: none. region_take() takes its start. */
struct region_piece *region_find(const struct region *region, uint64_t bytes, enum region_fit fit);
void region_take(struct region *region, struct region_piece *piece, uint64_t bytes);
/* Takes the end of the piece and returns it. */
struct region_piece *region_take_end(struct region *region, struct region_piece *piece,
				     uint64_t bytes);
/* The piece in use at `offset`; NULL: none. */
struct region_piece *region_at(const struct region *region, uint64_t offset);
void region_give(struct region *region, struct region_piece *piece);

uint64_t region_round(uint64_t bytes);
uint64_t region_largest_free(const struct region *region);

#endif
