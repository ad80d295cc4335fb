/* Copy kernel: what the device's cores, instead of its copy engines, can move over a link. */
#ifndef GPUPROOF_KERNELS_MEMORY_COPY_H
#define GPUPROOF_KERNELS_MEMORY_COPY_H

#include "kernels/kernel.h"

/* Distribution of the work over the blocks of a grid. The host has one method and ignores it. */
enum copy_method {
	COPY_AUTO,    /* the best known method */
	COPY_STRIDED, /* the whole grid copies one window of memory at a time */
	COPY_BLOCKED  /* each block copies neighbouring lines, blocks side by side */
};

/*
 * "copy": copies `bytes` from `from` to `to`, `count` times; they must not overlap. Both are
 * aligned to 16 bytes and may be memory of the stream's device, of a peer device, or page-locked
 * host memory. It leaves room for a second copy on the same device.
 *
 * With `back_to` it copies the same number of bytes from `back_from` to `back_to` at the same time,
 * both directions in step: two concurrent kernels would slow each other down.
 */
struct copy_arguments {
	void *to;
	const void *from;
	uint64_t bytes, count;
	enum copy_method method;
	void *back_to; /* NULL: one direction */
	const void *back_from;
};

#endif
