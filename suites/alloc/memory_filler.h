/*
 * Memory filler: device memory that is allocated so that a case finds the device as full as
 * requested.
 */
#ifndef GPUPROOF_SUITES_ALLOC_MEMORY_FILLER_H
#define GPUPROOF_SUITES_ALLOC_MEMORY_FILLER_H

#include "device/backend.h"

struct memory_filler {
	struct device *device;
	void **chunks;
	size_t *sizes;
	size_t count, capacity, size_capacity;
};

/*
 * Allocates device memory until at most `bytes` are free. `filler` owns it, even after a failure.
 */
enum status memory_filler_leave(struct memory_filler *filler, struct device *device, uint64_t bytes,
				struct error *err);
/* Frees it. Does nothing for a zeroed filler. */
void memory_filler_free(struct memory_filler *filler);

#endif
