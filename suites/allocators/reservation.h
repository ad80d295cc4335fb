/*
 * An arena: one allocation of a source, made with the first request and sub-allocated from the
 * bottom (lowest free piece that fits) or from the top (highest). Free neighbours merge.
 * Thread-safe.
 */
#ifndef GPUPROOF_SUITES_ALLOCATORS_RESERVATION_H
#define GPUPROOF_SUITES_ALLOCATORS_RESERVATION_H

#include <stdbool.h>
#include <stdint.h>

#include "suites/allocators/caching.h"

struct reservation;

/* The first request makes the source allocate `bytes`, rounded down to a multiple of 512. */
struct reservation *reservation_open(struct caching_source source, uint64_t bytes);
/* Returns the allocation, even if pieces are in use. Accepts NULL. */
void reservation_close(struct reservation *reservation);

/* Makes the allocation if it does not exist. */
enum status reservation_make(struct reservation *reservation, struct error *err);
enum status reservation_take(struct reservation *reservation, bool from_top, uint64_t bytes,
			     void **out, struct error *err);
/* STATUS_INTERNAL for `memory` that did not come from here. Accepts NULL. */
enum status reservation_give(struct reservation *reservation, void *memory, struct error *err);
/* Returns the allocation if no piece is in use; the next request makes it again. */
enum status reservation_trim(struct reservation *reservation, struct error *err);
/* Bytes taken from the source. */
uint64_t reservation_taken(struct reservation *reservation);
/* Free bytes in them, and the largest free piece. */
void reservation_free_bytes(struct reservation *reservation, uint64_t *all, uint64_t *largest);

/*
 * Sub-allocator of one block of memory: hands out pieces, takes them back, merges free neighbours.
 * It never accesses the memory, so that a plan may exceed the existing memory.
 */
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

void reservation_region_init(struct region *region, uint64_t bytes);
void reservation_region_release(struct region *region);

/*
 * The free piece that would serve `bytes`; NULL: none. reservation_region_take() takes its start.
 */
struct region_piece *reservation_region_find(const struct region *region, uint64_t bytes,
					     enum region_fit fit);
void reservation_region_take(struct region *region, struct region_piece *piece, uint64_t bytes);
/* Takes the end of the piece and returns it. */
struct region_piece *reservation_region_take_end(struct region *region, struct region_piece *piece,
						 uint64_t bytes);
/* The piece in use at `offset`; NULL: none. */
struct region_piece *reservation_region_at(const struct region *region, uint64_t offset);
void reservation_region_give(struct region *region, struct region_piece *piece);

uint64_t reservation_region_round(uint64_t bytes);
uint64_t reservation_region_largest_free(const struct region *region);

#endif
