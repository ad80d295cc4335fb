/* Copying by a kernel: what the device's cores, not its copy engines, can move over a link. */
#ifndef GPUPROOF_KERNELS_MEMORY_COPY_H
#define GPUPROOF_KERNELS_MEMORY_COPY_H

#include "kernels/kernel.h"

/* Partition of the work among the blocks of a grid. The host has one method and ignores it. */
enum copy_method {
	COPY_AUTO,    /* the best one known */
	COPY_STRIDED, /* the whole grid moves one window of memory at a time */
	COPY_BLOCKED  /* each block moves neighbouring lines, the blocks side by side */
};

/*
 * "copy": moves `bytes` from `from` to `to`, `count` times over, which do not overlap. Both are
 * aligned to 16 bytes and may be memory of the stream's device, of a device it has peer access to,
 * or page-locked memory of the host. It leaves room for a second one on the same device.
 *
 * With `back_to` it moves as many bytes from `back_from` to `back_to` at the same time, the two
 * directions in step: two concurrent kernels would slow each other.
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
