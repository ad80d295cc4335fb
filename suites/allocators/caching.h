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

#include <stdbool.h>
#include <stddef.h>

#include "device/backend.h"

/*
 * Rules of frameworks' caching allocators: rounding, bins, when a block is split, and segment
 * sizes. caching.c implements the common mechanism.
 */
/*
 * CACHING_RULES(X): X(enum, name in INI files and reports)
 *
 * PYTORCH (its notes on CUDA semantics and its allocator's comments): sizes in steps of 512 B;
 * requests up to 1 MiB from segments of 2 MiB, up to 10 MiB from segments of 20 MiB, larger ones
 * from a segment of their own in steps of 2 MiB; a remainder of more than 1 MiB (in small segments:
 * of any size) becomes a block.
 *
 * BFC and BFC_GROWTH, best fit with coalescing (TensorFlow's and XLA's description): sizes in steps
 * of 256 B; 21 bins with doubling sizes; a block is split if it is at least twice as large as the
 * request, or 128 MiB larger. BFC takes its whole limit as one region. With growth (`allow_growth`)
 * regions start with 2 MiB and double, up to the limit. A refused region is requested again, a
 * tenth smaller each time, down to the request.
 */
#define CACHING_RULES(X) X(PYTORCH, caching) X(BFC, bfc) X(BFC_GROWTH, bfc_growth)

enum caching_rules {
#define X(symbol, name) CACHING_##symbol,
	CACHING_RULES(X)
#undef X
		CACHING_RULES_COUNT
};
extern const char *const caching_rules_names[]; /* in the order of the enum */

#define RULES_MOST_BINS 21

struct ruleset {
	size_t rounding;
	size_t first_region; /* with growth: the smallest region; 0: the whole limit */
	unsigned bins;
	/* Bin of a request, and of a free block; `pool`: bin that its segment was allocated for. */
	unsigned (*bin_of_request)(size_t bytes);
	unsigned (*bin_of_block)(size_t bytes, unsigned pool);
	bool larger_bins; /* a request also searches bins of larger blocks */
	/* True if a block that serves `bytes` is split. */
	bool (*cuts)(size_t block_bytes, size_t bytes, unsigned pool);
	/* Bytes to allocate for a request; NULL: doubling regions. */
	size_t (*segment)(size_t bytes);
};

extern const struct ruleset caching_rulesets[CACHING_RULES_COUNT];

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
