/*
 * The same memory by several rulers (struct memory_view), and what one of them sees of a process
 * since it began.
 */
#ifndef GPUPROOF_TRAINMEM_RULERS_H
#define GPUPROOF_TRAINMEM_RULERS_H

#include "device/backend.h"

/* Which ruler says what a process uses; in order of preference. */
enum ruler { RULER_PROCESS, RULER_DEVICE, RULER_RUNTIME, RULER_COUNT };
/* "the process' own figure of the driver's monitor", ...; of `device`: the host's names differ. */
const char *ruler_name(enum ruler ruler, const struct device_info *device);

/* The first ruler that works here. */
enum ruler ruler_choose(const struct memory_view *view);
/*
 * Bytes that this process has taken. `before` was read before it began; whoever else uses the device
 * meanwhile is counted with it, except by RULER_PROCESS.
 */
uint64_t ruler_read(enum ruler ruler, const struct memory_view *now,
		    const struct memory_view *before);

#endif
