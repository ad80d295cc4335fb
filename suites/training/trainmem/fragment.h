/*
 * Fragmentation: free memory that cannot serve the next request. The checkerboard fills a heap with
 * equal pieces, frees every other one, and then requests more than one piece.
 */
#ifndef GPUPROOF_TRAINMEM_FRAGMENT_H
#define GPUPROOF_TRAINMEM_FRAGMENT_H

#include "suites/training/trainmem/heap.h"

struct fragments {
	uint64_t live_peak, reserved_peak; /* for training; 0: for a checkerboard */
	/* free in the reserved memory, and beyond it up to the limit */
	uint64_t free_bytes;
	uint64_t largest_free; /* largest request that was granted, or would be */
};

#define FRAGMENT_PIECE_BYTES ((uint64_t)32 << 20)

/*
 * 64 pieces under a limit of 72; blocks must keep their content (else STATUS_MISMATCH). `device`
 * NULL: only addresses.
 */
enum status fragment_checkerboard(struct device *device, enum policy policy, uint64_t piece_bytes,
				  struct fragments *out, struct error *err);
/* Maximum bytes of fragment_checkerboard(). */
uint64_t fragment_bytes(uint64_t piece_bytes);

#endif
