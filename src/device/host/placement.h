/*
 * Places host memory near a device, on the NUMA node of the device's bus: memory that is allocated,
 * touched or page-locked between placement_begin() and placement_end().
 */
#ifndef GPUPROOF_DEVICE_HOST_PLACEMENT_H
#define GPUPROOF_DEVICE_HOST_PLACEMENT_H

#include "device/backend.h"

/*
 * Binds the calling thread and its memory to the node of `device`. Returns the OS number of the
 * node; -1 if there is only one or the nearest is unknown: then nothing changes.
 */
int placement_begin(const struct device *device);
/* Restores the binding; `node` is the return value of placement_begin(). */
void placement_end(int node);

#endif
