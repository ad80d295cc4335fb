/*
 * Source of the blocks of a case: one of the backend's allocators, or our own caching one on top
 * of device memory.
 */
#ifndef GPUPROOF_SUITES_ALLOC_ORIGIN_H
#define GPUPROOF_SUITES_ALLOC_ORIGIN_H

#include "device/backend.h"
#include "suites/shared/caching.h"

/* Kinds are those of enum allocator, and this one. */
#define ORIGIN_CACHING ((int)ALLOCATOR_COUNT)

struct origin {
	struct device *device;
	int kind;
	struct caching *caching; /* NULL: the backend's */
};

/* The kind that an INI names; names are those of the backend's allocators and "caching". */
int origin_from_name(const char *name);
const char *origin_name(int kind);
bool origin_on_device(int kind);

/* `limit`: most bytes that a caching one takes from the device; 0: none. */
void origin_open(struct origin *origin, struct device *device, int kind, uint64_t limit);
/* Gives back what a caching one holds. Does nothing for a zeroed origin. */
void origin_close(struct origin *origin);

/* `stream` matters to the pools, which order by it. */
enum status origin_get(struct origin *origin, size_t bytes, struct stream *stream, void **out,
		       struct error *err);
/* NULL is allowed. */
enum status origin_give(struct origin *origin, void *memory, size_t bytes, struct stream *stream,
			struct error *err);
/* Has what is kept given back to the device. */
enum status origin_trim(struct origin *origin, struct error *err);

#endif
