/*
 * Rules of frameworks' caching allocators: rounding, bins, when a block is split, and segment
 * sizes. caching.c implements the common mechanism.
 */
#ifndef GPUPROOF_SUITES_ALLOCATORS_RULES_H
#define GPUPROOF_SUITES_ALLOCATORS_RULES_H

#include <stdbool.h>
#include <stddef.h>

/*
 * CACHING_RULES(X): X(enum, name in INI files and reports, description)
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
#define CACHING_RULES(X)                                                        \
	X(PYTORCH, caching, "keeps and splits blocks like PyTorch's allocator") \
	X(BFC, bfc, "best fit with coalescing in one region, like TensorFlow")  \
	X(BFC_GROWTH, bfc_growth,                                               \
	  "best fit with coalescing in regions that double, like TensorFlow with allow_growth")

enum caching_rules {
#define X(symbol, name, help) CACHING_##symbol,
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

size_t rules_round(const struct ruleset *rules, size_t bytes);

#endif
