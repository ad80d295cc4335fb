/* Copying by a kernel: what the device's cores, not its copy engines, can move over a link. */
#ifndef GPUPROOF_KERNELS_COPY_H
#define GPUPROOF_KERNELS_COPY_H

#include "kernels/kernel.h"

/* How the blocks of a grid share the work. The host has one way and ignores it. */
enum copy_method {
	COPY_AUTO,    /* the best one known for the device */
	COPY_STRIDED, /* the whole grid moves one window of memory at a time */
	COPY_BLOCKED, /* each block moves neighbouring lines, the blocks side by side */
	COPY_BULK     /* bulk asynchronous copies through shared memory (compute capability 9.0) */
};

/*
 * "copy": moves `bytes` from `from` to `to`, which do not overlap. Both are aligned to 16 bytes and
 * may be memory of the stream's device, of a device it has peer access to, or page-locked memory
 * of the host. It leaves room for a second one on the same device, so that two directions can be
 * busy at once.
 */
struct copy_arguments {
	void *to;
	const void *from;
	uint64_t bytes;
	enum copy_method method;
};

#endif
