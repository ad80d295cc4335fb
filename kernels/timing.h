/* Kernels that exist to time or to prepare, not to compute. */
#ifndef GPUPROOF_KERNELS_TIMING_H
#define GPUPROOF_KERNELS_TIMING_H

#include "kernels/kernel.h"

/* "spin": one thread busy for `seconds` of the device's own clock. */
struct spin_arguments {
	double seconds;
};

/* "empty": a kernel without arguments or instructions; with a counter, one that counts launches. */
struct empty_arguments {
	uint64_t *counter; /* one more after each launch; NULL: none */
};

/*
 * "flush_cache": writes `bytes` of scratch memory, so that nothing else is left in the last-level
 * cache.
 */
struct flush_cache_arguments {
	void *scratch;
	uint64_t bytes;
};

#endif
