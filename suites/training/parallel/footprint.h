/* Device memory of a setup, computed by a dry run of its allocations without a device. */
#ifndef GPUPROOF_PARALLEL_FOOTPRINT_H
#define GPUPROOF_PARALLEL_FOOTPRINT_H

#include "suites/training/models/setup.h"

/*
 * Bytes of the rank that needs the most: the network, the mode's own buffers, and the transposed
 * copies during tuning of wgrad layouts, which may later alias other buffers (buffer_alias.h).
 * Excludes messages between stages and workspaces of libraries, which are small in comparison.
 */
uint64_t footprint(const struct setup *setup);

#endif
