/*
 * Host memory near a device: on the NUMA node that the device's bus belongs to. Memory that is
 * allocated, touched or page-locked between placement_begin() and placement_end() goes there.
 */
#ifndef GPUPROOF_DEVICE_HOST_PLACEMENT_H
#define GPUPROOF_DEVICE_HOST_PLACEMENT_H

#include "device/backend.h"

/*
 * Moves the calling thread to the node of `device`, its CPU time as well as its memory. Returns the
 * operating system's number of the node; -1 when there is only one or the nearest is unknown: then
 * nothing changes.
 */
int placement_begin(const struct device *device);
/* Moves the thread back; `node` is what placement_begin() returned. */
void placement_end(int node);

#endif
