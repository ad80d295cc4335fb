/* What a setup takes of a device, by going through its allocations without a device. */
#ifndef GPUPROOF_PARALLEL_FOOTPRINT_H
#define GPUPROOF_PARALLEL_FOOTPRINT_H

#include "suites/mlp/setup.h"

/*
 * Bytes of the rank that needs most: the network, the mode's own buffers, and while routes are settled transposed
 * copies beside them, which the step itself may find room for (lodging.h). Messages between stages and workspaces of
 * libraries come on top; they are small beside it.
 */
uint64_t footprint(const struct setup *setup);

#endif
