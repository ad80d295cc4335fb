/* Copy kernel: what the device's cores, instead of its copy engines, can move over a link. */
#ifndef GPUPROOF_KERNELS_MEMORY_COPY_H
#define GPUPROOF_KERNELS_MEMORY_COPY_H

#include "kernels/kernel.h"

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
	void *back_to; /* NULL: one direction */
	const void *back_from;
};

#endif
