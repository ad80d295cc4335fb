/* Kernels for timing or preparation, without computation. */
#ifndef GPUPROOF_KERNELS_TIMING_H
#define GPUPROOF_KERNELS_TIMING_H

#include "kernels/kernel.h"

/* "spin": one thread is busy for `seconds` of the device's clock. */
struct spin_arguments {
	double seconds;
};

/* "empty": a kernel without arguments or instructions; with a counter, it counts launches. */
struct empty_arguments {
	uint64_t *counter; /* incremented by each launch; NULL: none */
};

#endif
