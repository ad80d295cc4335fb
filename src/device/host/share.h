/*
 * A host device is a share of the machine: some of the cores this process may use, and as much of
 * its memory. Shares follow hwloc's order, so the cores of one share are neighbours. Affinity
 * masks, cgroup cpusets and CPU quotas are honoured. With more devices than cores, shares overlap.
 */
#ifndef GPUPROOF_HOST_SHARE_H
#define GPUPROOF_HOST_SHARE_H

#include <hwloc.h>
#include <stdint.h>

#include "base/error.h"

struct share {
	hwloc_cpuset_t cpuset;
	int cores;     /* and threads to use: one for each core */
	int first_cpu; /* the OS's number of one of them */
	int numa_node; /* -1: several, or unknown */
	uint64_t memory_bytes;
	uint64_t cache_bytes; /* of the last-level caches it touches */
};

/* Reads the machine's topology and cuts it into `count` shares. Once; shares_close() undoes it. */
enum status shares_open(int count, struct error *err);
void shares_close(void);

int shares_count(void);
const struct share *shares_get(int index); /* NULL when there is no such share */
int shares_cores(void);                    /* of all shares together */

const char *share_cpu_name(void);
double share_clock_hz(const struct share *share); /* maximum; 0 unknown */
/*
 * Binds the calling thread, and threads it will create, to the share. Failure is harmless: unbound
 * threads.
 */
void share_bind_thread(const struct share *share);
/* Asks for the memory to be on the share's NUMA node; does nothing on a machine with one node. */
void share_place_memory(const struct share *share, void *memory, size_t bytes);

#endif
