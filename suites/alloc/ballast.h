/* Device memory that is taken so that a case finds the device as full as it asks for. */
#ifndef GPUPROOF_SUITES_ALLOC_BALLAST_H
#define GPUPROOF_SUITES_ALLOC_BALLAST_H

#include "device/backend.h"

struct ballast {
	struct device *device;
	void **chunks;
	size_t *sizes;
	size_t count, capacity, size_capacity;
};

/* Takes device memory until at most `bytes` are free; what was taken is `b`'s also after a failure. */
enum status ballast_leave(struct ballast *b, struct device *device, uint64_t bytes,
			  struct error *err);
/* Gives it back. Does nothing for zeroed ballast. */
void ballast_drop(struct ballast *b);

#endif
