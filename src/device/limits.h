/* Resource limits set by the container or batch system: cgroups, versions 1 and 2. */
#ifndef GPUPROOF_DEVICE_LIMITS_H
#define GPUPROOF_DEVICE_LIMITS_H

#include <stdint.h>

/*
 * Bytes of memory that this process may use, and bytes still free for it: the smaller of the
 * machine's and the cgroup's.
 */
uint64_t limits_memory_total(void);
uint64_t limits_memory_available(void);
/* CPU time allowed by the cgroup's quota, in cores; INFINITY without a quota. */
double limits_cpu_quota(void);

/* Resident bytes of this process, exact (unlike the counters that lag). */
uint64_t limits_memory_resident(void);

#endif
