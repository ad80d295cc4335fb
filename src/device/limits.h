/* Resource limits set by the container or batch system: cgroups, versions 1 and 2. */
#ifndef GPUPROOF_DEVICE_LIMITS_H
#define GPUPROOF_DEVICE_LIMITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Bytes of memory that this process may use, and bytes still free for it: the smaller of the
 * machine's and the cgroup's.
 */
uint64_t device_limits_memory_total(void);
uint64_t device_limits_memory_available(void);
/* CPU time allowed by the cgroup's quota, in cores; INFINITY without a quota. */
double device_limits_cpu_quota(void);

/*
 * First line, without its end, of the file whose path `format` makes, as the kernel's files in
 * /proc and /sys; false, and an empty line, if there is none.
 */
bool device_limits_read_line(char *line, size_t size, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Resident bytes of this process, exact (unlike the counters that lag). */
uint64_t device_limits_memory_resident(void);

#endif
