/*
 * A host device is a partition of the CPU: some of the cores this process may use, and as much of
 * its memory. Partitions follow hwloc's order, so the cores of one partition are neighbours.
 * Affinity masks, cgroup cpusets and CPU quotas are honoured. With more devices than cores,
 * partitions overlap.
 */
#ifndef GPUPROOF_HOST_CPU_PARTITION_H
#define GPUPROOF_HOST_CPU_PARTITION_H

#include <hwloc.h>
#include <stdint.h>

#include "base/error.h"

struct cpu_partition {
	hwloc_cpuset_t cpuset;
	int cores;     /* and threads to use: one for each core */
	int first_cpu; /* the OS's number of one of them */
	int numa_node; /* -1: several, or unknown */
	uint64_t memory_bytes;
	uint64_t cache_bytes; /* of the last-level caches it touches */
};

/*
 * Reads the machine's topology and cuts it into `count` partitions. Once; cpu_partitions_close()
 * undoes it.
 */
enum status cpu_partitions_open(int count, struct error *err);
void cpu_partitions_close(void);

int cpu_partitions_count(void);
/* NULL when there is no such partition */
const struct cpu_partition *cpu_partitions_get(int index);
int cpu_partitions_cores(void); /* of all partitions together */

const char *cpu_partition_cpu_name(void);
double cpu_partition_clock_hz(const struct cpu_partition *partition); /* maximum; 0 unknown */
/*
 * Binds the calling thread, and threads it will create, to the partition. Failure is harmless:
 * unbound threads.
 */
void cpu_partition_bind_thread(const struct cpu_partition *partition);
/*
 * Asks for the memory to be on the partition's NUMA node; does nothing on a machine with one node.
 */
void cpu_partition_place_memory(const struct cpu_partition *partition, void *memory, size_t bytes);

#endif
