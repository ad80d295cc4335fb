/*
 * Source of the blocks of a case: an allocator of the backend, or a built-in one on top of device
 * memory (suites/allocators).
 */
#ifndef GPUPROOF_SUITES_ALLOC_ORIGIN_H
#define GPUPROOF_SUITES_ALLOC_ORIGIN_H

#include "device/backend.h"
#include "suites/allocators/reservation.h"

/* Kinds are those of enum allocator, followed by those of enum caching_rules, and an arena. */
#define ORIGIN_CACHING ((int)ALLOCATOR_COUNT)
#define ORIGIN_ARENA (ORIGIN_CACHING + (int)CACHING_RULES_COUNT)
#define ORIGIN_BFC (ORIGIN_CACHING + (int)CACHING_BFC)
#define ORIGIN_BFC_GROWTH (ORIGIN_CACHING + (int)CACHING_BFC_GROWTH)

struct origin {
	struct device *device;
	int kind;
	struct caching *caching;         /* NULL: not a caching allocator */
	struct reservation *reservation; /* NULL: not an arena */
};

/* Kind by its name in the INI: an allocator of the backend, caching rules, or "arena". */
int origin_from_name(const char *name);
const char *origin_name(int kind);
bool origin_on_device(int kind);
/* True for a built-in allocator. */
bool origin_is_own(int kind);
/* Bytes that a built-in allocator has taken from the device. */
uint64_t origin_reserved(const struct origin *origin);

/* `limit`: maximum bytes that a built-in allocator takes from the device; 0: none. */
void origin_open(struct origin *origin, struct device *device, int kind, uint64_t limit);
/* Returns all memory of a built-in allocator. Does nothing for a zeroed origin. */
void origin_close(struct origin *origin);

/* `stream` is used by pools, which allocate in stream order. */
enum status origin_get(struct origin *origin, size_t bytes, struct stream *stream, void **out,
		       struct error *err);
/* Accepts NULL. */
enum status origin_give(struct origin *origin, void *memory, size_t bytes, struct stream *stream,
			struct error *err);
/* Makes the allocator return its cache to the device. */
enum status origin_trim(struct origin *origin, struct error *err);

#endif
