/*
 * An arena: one allocation of a source, made with the first request and sub-allocated from the
 * bottom (lowest free piece that fits) or from the top (highest). Free neighbours merge.
 * Thread-safe.
 */
#ifndef GPUPROOF_SUITES_ALLOCATORS_RESERVATION_H
#define GPUPROOF_SUITES_ALLOCATORS_RESERVATION_H

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

#endif
