/*
 * A host device is a partition of the CPU: some of the cores that this process may use, and an
 * equal part of its memory. Partitions follow hwloc's order, so the cores of a partition are
 * neighbours. Respects affinity masks, cgroup cpusets and CPU quotas. With more devices than cores,
 * partitions overlap.
 */
#ifndef GPUPROOF_HOST_CPU_PARTITION_H
#define GPUPROOF_HOST_CPU_PARTITION_H

#include <hwloc.h>
#include <stdint.h>

#include "base/error.h"

struct cpu_partition {
	hwloc_cpuset_t cpuset;
	int cores;     /* cores, and threads to use: one per core */
	int first_cpu; /* the OS's number of one of its CPUs */
	int numa_node; /* -1: several, or unknown */
	uint64_t memory_bytes;
	uint64_t cache_bytes; /* of its last-level caches */
};

/*
 * Reads the machine's topology and divides it into `count` partitions, once; cpu_partitions_close()
 * undoes it.
 */
enum status cpu_partitions_open(int count, struct error *err);
void cpu_partitions_close(void);

/* How the machine is divided into devices. */
struct cpu_partitions {
	struct cpu_partition *items;
	int count;
	int cores; /* sum over all partitions */
	char cpu_name[128];
};
const struct cpu_partitions *cpu_partitions(void);
/* maximum clock; 0: unknown */
double cpu_partition_clock_hz(const struct cpu_partition *partition);
/*
 * Binds the calling thread, and threads that it creates, to the partition. A failure leaves them
 * unbound, which is harmless.
 */
void cpu_partition_bind_thread(const struct cpu_partition *partition);
/* Requests the memory on the partition's NUMA node; does nothing on a single-node machine. */
void cpu_partition_place_memory(const struct cpu_partition *partition, void *memory, size_t bytes);

#endif
