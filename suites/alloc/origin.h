/*
 * Source of the blocks of a case: one of the backend's allocators, or one of our own on top of
 * device memory (suites/allocators).
 */
#ifndef GPUPROOF_SUITES_ALLOC_ORIGIN_H
#define GPUPROOF_SUITES_ALLOC_ORIGIN_H

#include "device/backend.h"
#include "suites/allocators/reservation.h"

/* Kinds are those of enum allocator, and from here on those of enum caching_rules, and an arena. */
#define ORIGIN_CACHING ((int)ALLOCATOR_COUNT)
#define ORIGIN_ARENA (ORIGIN_CACHING + (int)CACHING_RULES_COUNT)
#define ORIGIN_BFC (ORIGIN_CACHING + (int)CACHING_BFC)
#define ORIGIN_BFC_GROWTH (ORIGIN_CACHING + (int)CACHING_BFC_GROWTH)

struct origin {
	struct device *device;
	int kind;
	struct caching *caching;         /* NULL: not one of rules */
	struct reservation *reservation; /* NULL: no arena */
};

/*
 * The kind that an INI names; names are those of the backend's allocators, of the rules, and
 * "arena".
 */
int origin_from_name(const char *name);
const char *origin_name(int kind);
bool origin_on_device(int kind);
/* One of our own. */
bool origin_is_own(int kind);
/* Bytes that one of our own has taken from the device. */
uint64_t origin_reserved(const struct origin *origin);

/* `limit`: most bytes that one of our own takes from the device; 0: none. */
void origin_open(struct origin *origin, struct device *device, int kind, uint64_t limit);
/* Gives back what one of our own holds. Does nothing for a zeroed origin. */
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
