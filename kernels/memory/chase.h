/* Following pointers: the latency of a dependent load. */
#ifndef GPUPROOF_KERNELS_MEMORY_CHASE_H
#define GPUPROOF_KERNELS_MEMORY_CHASE_H

#include "kernels/kernel.h"

/*
 * "chase": one thread sets *cursor = *(void **)*cursor, `hops` times. The loads may go to memory of
 * the stream's device, of a device it has peer access to, or to page-locked memory of the host,
 * and pass by caches that only one multiprocessor has. `turn` picks the multiprocessor
 * (modulo their number), since not all are equally far from everything.
 */
struct chase_arguments {
	void **cursor; /* in memory of the stream's device; where the next launch continues */
	uint64_t hops;
	uint64_t turn;
};

#endif
