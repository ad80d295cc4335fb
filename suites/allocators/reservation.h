/*
 * One allocation of a source, made with the first request and handed out in pieces: from the bottom
 * the lowest free piece that is large enough, from the top the highest. Free neighbours join.
 * Several threads may use it; they wait for each other.
 */
#ifndef GPUPROOF_SUITES_ALLOCATORS_RESERVATION_H
#define GPUPROOF_SUITES_ALLOCATORS_RESERVATION_H

#include "suites/allocators/caching.h"

struct reservation;

/* The first piece has the source asked for `bytes`, rounded down to a multiple of 512. */
struct reservation *reservation_open(struct caching_source source, uint64_t bytes);
/* Gives the allocation back, whatever is handed out of it. NULL is allowed. */
void reservation_close(struct reservation *reservation);

/* Makes the allocation, if it is not there. */
enum status reservation_make(struct reservation *reservation, struct error *err);
enum status reservation_take(struct reservation *reservation, bool from_top, uint64_t bytes,
			     void **out, struct error *err);
/* `memory` that did not come from here is STATUS_INTERNAL. NULL is allowed. */
enum status reservation_give(struct reservation *reservation, void *memory, struct error *err);
/* Gives the allocation back if nothing is handed out; it is made again when it is needed. */
enum status reservation_trim(struct reservation *reservation, struct error *err);
/* Bytes that are taken from the source. */
uint64_t reservation_taken(struct reservation *reservation);
/* Free bytes in them, and the largest free piece. */
void reservation_free_bytes(struct reservation *reservation, uint64_t *all, uint64_t *largest);

#endif
