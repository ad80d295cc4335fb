/*
 * An allocator of the kind that frameworks put on top of device memory: it takes segments from a
 * source, cuts blocks out of them, and keeps what is freed; by whose rules says rules.h. All take
 * the block that fits best, of equal ones the lowest; free neighbours merge; when nothing fits and
 * the source refuses, segments that are free as a whole are given back first.
 *
 * It never touches the memory: a source may give addresses of none, to find out what would be
 * taken. It may be used by several threads, which wait for each other; one of them at a time is in
 * the source.
 */
#ifndef GPUPROOF_SUITES_ALLOCATORS_CACHING_H
#define GPUPROOF_SUITES_ALLOCATORS_CACHING_H

#include "device/backend.h"
#include "suites/allocators/rules.h"

struct caching;

/* Source of segments. STATUS_NO_MEMORY means refused; any other error fails the request. */
struct caching_source {
	void *state;
	enum status (*take)(void *state, size_t bytes, void **out, struct error *err);
	enum status (*give)(void *state, void *memory, size_t bytes, struct error *err);
};

/* The device's own allocator. */
struct caching_source caching_source_device(struct device *device);

/*
 * Segments take `limit` bytes together at most; 0: as much as the source has. CACHING_BFC takes all
 * of it with the first request; without a limit it grows.
 */
struct caching *caching_open(struct caching_source source, enum caching_rules rules,
			     uint64_t limit);
/* Gives all segments back, used or not. NULL is allowed. */
void caching_close(struct caching *caching);

enum status caching_alloc(struct caching *caching, size_t bytes, void **out, struct error *err);
/* `memory` that did not come from here is STATUS_INTERNAL. NULL is allowed. */
enum status caching_free(struct caching *caching, void *memory, struct error *err);
/* Gives segments back in which nothing is used. */
enum status caching_trim(struct caching *caching, struct error *err);
/* Bytes of all segments. */
uint64_t caching_reserved(struct caching *caching);
/* Free bytes within them, and the largest free block. */
void caching_free_bytes(struct caching *caching, uint64_t *all, uint64_t *largest);

#endif
