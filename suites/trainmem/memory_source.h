/*
 * Memory accounting sources: the readings of struct memory_view, and a process' memory by one of
 * them since its start.
 */
#ifndef GPUPROOF_TRAINMEM_MEMORY_SOURCE_H
#define GPUPROOF_TRAINMEM_MEMORY_SOURCE_H

#include "device/backend.h"

/* Sources of a process' memory use, in order of preference. */
enum memory_source {
	MEMORY_SOURCE_PROCESS,
	MEMORY_SOURCE_DEVICE,
	MEMORY_SOURCE_RUNTIME,
	MEMORY_SOURCE_COUNT
};
/* "the process' own figure of the driver's monitor", ...; of `device`: the host's names differ. */
const char *memory_source_name(enum memory_source source, const struct device_info *device);

/* Returns the first source that works here. */
enum memory_source memory_source_choose(const struct memory_view *view);
/*
 * Bytes that this process has taken. `before` was read before it began; other users of the device
 * are counted with it, except by MEMORY_SOURCE_PROCESS.
 */
uint64_t memory_source_read(enum memory_source source, const struct memory_view *now,
			    const struct memory_view *before);

#endif
