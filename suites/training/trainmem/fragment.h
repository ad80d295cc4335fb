/*
 * Fragmentation: free memory that is no use for what is asked for next. The checkerboard fills a
 * heap with equal pieces, frees every other one, and then asks for more than one piece.
 */
#ifndef GPUPROOF_TRAINMEM_FRAGMENT_H
#define GPUPROOF_TRAINMEM_FRAGMENT_H

#include "suites/training/trainmem/heap.h"

struct fragments {
	uint64_t live_peak, reserved_peak; /* of a training; 0: of a checkerboard */
	uint64_t free_bytes;               /* in what is reserved, and beyond it up to the limit */
	uint64_t largest_free;             /* the largest request that was granted, or would be */
};

#define FRAGMENT_PIECE_BYTES ((uint64_t)32 << 20)

/*
 * 64 pieces under a limit of 72; blocks must keep what was written to them (else STATUS_MISMATCH).
 * `device` NULL: by addresses only.
 */
enum status fragment_checkerboard(struct device *device, enum policy policy, uint64_t piece_bytes,
				  struct fragments *out, struct error *err);
/* Bytes that fragment_checkerboard() takes at most. */
uint64_t fragment_bytes(uint64_t piece_bytes);

#endif
