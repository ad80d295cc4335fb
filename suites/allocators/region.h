/*
 * Pieces of one block of memory: handed out, taken back, neighbours joined again. It never touches
 * the memory, so that a plan can be made for more memory than exists.
 */
#ifndef GPUPROOF_ALLOCATORS_REGION_H
#define GPUPROOF_ALLOCATORS_REGION_H

#include <stdbool.h>
#include <stdint.h>

/* Every piece is a multiple of this and begins at one. */
#define REGION_ROUNDING 512

struct region_piece {
	uint64_t offset, bytes;
	bool used;
	struct region_piece *previous, *next;
};

struct region {
	uint64_t bytes;
	uint64_t used;               /* of all pieces handed out */
	struct region_piece *pieces; /* in order of their offsets; free neighbours never touch */
};

enum region_fit {
	REGION_FIRST, /* the lowest free piece that is large enough */
	REGION_LAST   /* the highest */
};

void region_init(struct region *region, uint64_t bytes);
void region_release(struct region *region);

/*
 * The free piece that `bytes` would come from; NULL: there is none. region_take() takes the front
 * of it.
 */
struct region_piece *region_find(const struct region *region, uint64_t bytes, enum region_fit fit);
void region_take(struct region *region, struct region_piece *piece, uint64_t bytes);
/* Takes the end of it, and returns that. */
struct region_piece *region_take_end(struct region *region, struct region_piece *piece,
				     uint64_t bytes);
/* The piece handed out at `offset`; NULL: there is none. */
struct region_piece *region_at(const struct region *region, uint64_t offset);
void region_give(struct region *region, struct region_piece *piece);

uint64_t region_round(uint64_t bytes);
uint64_t region_largest_free(const struct region *region);

#endif
