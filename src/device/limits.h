/* Limits set by the container or batch system: cgroups, versions 1 and 2. */
#ifndef GPUPROOF_DEVICE_LIMITS_H
#define GPUPROOF_DEVICE_LIMITS_H

#include <stdint.h>

/*
 * Bytes of memory this process may use and bytes still free for it: the machine's or the cgroup's,
 * the smaller.
 */
uint64_t limits_memory_total(void);
uint64_t limits_memory_available(void);
/* Cores' worth of CPU time the cgroup's quota allows; INFINITY without a quota. */
double limits_cpu_quota(void);

/* Bytes of memory that this process has now, exactly (not the counters that lag). */
uint64_t limits_memory_resident(void);

#endif
