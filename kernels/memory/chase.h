/* Pointer chase: latency of dependent loads. */
#ifndef GPUPROOF_KERNELS_MEMORY_CHASE_H
#define GPUPROOF_KERNELS_MEMORY_CHASE_H

#include "kernels/kernel.h"

/*
 * "chase": one thread sets *cursor = *(void **)*cursor, `hops` times. The loads may access memory
 * of the stream's device, of a peer device, or page-locked host memory, and bypass the L1 cache.
 * `turn` selects the multiprocessor (modulo their number), because their distances differ.
 */
struct chase_arguments {
	void **cursor; /* device memory; the next launch continues from there */
	uint64_t hops;
	uint64_t turn;
};

#endif
