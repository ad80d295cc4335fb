#ifndef GPUPROOF_MEASURE_HOST_MEMORY_H
#define GPUPROOF_MEASURE_HOST_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Bytes that this process can still get without swapping or being killed: what the kernel calls available, and not more
 * than is left of a cgroup's limit. False when it is not known.
 */
bool host_memory_available(uint64_t *bytes);

#endif
