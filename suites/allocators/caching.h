/*
 * A caching allocator like those of deep-learning frameworks: it takes segments from a source,
 * splits them into blocks, and keeps freed blocks, by the rules of rules.h. All use best fit,
 * lowest address first; free neighbours merge; if nothing fits and the source refuses, completely
 * free segments are returned first.
 *
 * It never accesses the memory, so a source may return fake addresses for a dry run. Thread-safe;
 * only one thread at a time calls the source.
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
 * Segments use at most `limit` bytes in total; 0: no limit. CACHING_BFC takes the whole limit with
 * the first request; without a limit it grows.
 */
struct caching *caching_open(struct caching_source source, enum caching_rules rules,
			     uint64_t limit);
/* Returns all segments, used or not. Accepts NULL. */
void caching_close(struct caching *caching);

enum status caching_alloc(struct caching *caching, size_t bytes, void **out, struct error *err);
/* STATUS_INTERNAL for `memory` that did not come from here. Accepts NULL. */
enum status caching_free(struct caching *caching, void *memory, struct error *err);
/* Returns segments without used blocks. */
enum status caching_trim(struct caching *caching, struct error *err);
/* Bytes of all segments. */
uint64_t caching_reserved(struct caching *caching);
/* Free bytes within them, and the largest free block. */
void caching_free_bytes(struct caching *caching, uint64_t *all, uint64_t *largest);

#endif
