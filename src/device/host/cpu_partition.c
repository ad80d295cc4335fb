#include "device/host/cpu_partition.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "device/limits.h"

static struct {
	hwloc_topology_t topology;
	int nodes;
	struct cpu_partitions all;
} machine;

static enum status cpu_partition_load_topology(struct error *err)
{
	hwloc_cpuset_t mask;

	/*
	 * Plugins search for I/O devices, which are not needed here: they load OpenCL and X11, and
	 * might touch a GPU before its backend does.
	 */
	setenv("HWLOC_PLUGINS_PATH", "", 0);
	if (hwloc_topology_init(&machine.topology) != 0)
		return error_set(err, STATUS_IO, "hwloc_topology_init failed");
	if (hwloc_topology_load(machine.topology) != 0) {
		hwloc_topology_destroy(machine.topology);
		machine.topology = NULL;
		return error_set(err, STATUS_IO, "hwloc_topology_load failed");
	}
	/*
	 * Applies the affinity mask (taskset, srun) in addition to the cgroup's cpuset, which hwloc
	 * reads itself.
	 */
	mask = hwloc_bitmap_alloc();
	if (hwloc_get_cpubind(machine.topology, mask, HWLOC_CPUBIND_PROCESS) == 0 &&
	    !hwloc_bitmap_iszero(mask))
		hwloc_topology_restrict(machine.topology, mask, 0);
	hwloc_bitmap_free(mask);
	return STATUS_OK;
}

static void cpu_partition_read_name(char *out, size_t size)
{
	FILE *f = fopen("/proc/cpuinfo", "re");
	char line[256];

	snprintf(out, size, "CPU");
	while (f && fgets(line, sizeof(line), f)) {
		char *value = strchr(line, ':');

		if (value && strncmp(line, "model name", 10) == 0) {
			value += strspn(value, ": \t");
			snprintf(out, size, "%.*s", (int)strcspn(value, "\n"), value);
			break;
		}
	}
	if (f)
		fclose(f);
}

/* Sum of the last-level caches of the cores; a single core can use each fully. */
static uint64_t cpu_partition_cache_bytes(hwloc_const_cpuset_t cpuset)
{
	static const hwloc_obj_type_t levels[] = { HWLOC_OBJ_L4CACHE, HWLOC_OBJ_L3CACHE,
						   HWLOC_OBJ_L2CACHE, HWLOC_OBJ_L1CACHE };

	for (size_t i = 0; i < ARRAY_SIZE(levels); i++) {
		hwloc_obj_t cache = NULL;
		uint64_t sum = 0;

		while ((cache = hwloc_get_next_obj_by_type(machine.topology, levels[i], cache)))
			if (hwloc_bitmap_intersects(cache->cpuset, cpuset))
				sum += cache->attr->cache.size;
		if (sum > 0)
			return sum;
	}
	return 0;
}

/* Partition `index` of `count`: cores [index*cores/count, (index+1)*cores/count), at least one. */
static void cpu_partition_cut(struct cpu_partition *partition, int index, int count)
{
	int first = (int)((int64_t)index * machine.all.cores / count);
	int end = (int)((int64_t)(index + 1) * machine.all.cores / count);
	hwloc_obj_t node = NULL;

	partition->cores = end > first ? end - first : 1;
	partition->cpuset = hwloc_bitmap_alloc();
	for (int i = first; i < first + partition->cores; i++) {
		hwloc_obj_t core =
			hwloc_get_obj_by_type(machine.topology, HWLOC_OBJ_CORE, (unsigned)i);

		if (!core)
			core = hwloc_get_obj_by_type(machine.topology, HWLOC_OBJ_PU, (unsigned)i);
		hwloc_bitmap_or(partition->cpuset, partition->cpuset, core->cpuset);
	}
	partition->first_cpu = hwloc_bitmap_first(partition->cpuset);
	partition->cache_bytes = cpu_partition_cache_bytes(partition->cpuset);
	partition->numa_node = -1;
	while ((node = hwloc_get_next_obj_by_type(machine.topology, HWLOC_OBJ_NUMANODE, node)))
		if (partition->numa_node < 0 &&
		    hwloc_bitmap_isincluded(partition->cpuset, node->cpuset))
			partition->numa_node = (int)node->os_index;
	partition->memory_bytes = device_limits_memory_total() / (uint64_t)count;
}

enum status cpu_partitions_open(int count, struct error *err)
{
	if (machine.topology)
		return error_set(err, STATUS_INTERNAL, "the host backend is already open");
	if (cpu_partition_load_topology(err) != STATUS_OK)
		return err ? err->status : STATUS_IO;
	/* Hyper-threads of one core count once, and a CPU quota reduces the number. */
	machine.all.cores = hwloc_get_nbobjs_by_type(machine.topology, HWLOC_OBJ_CORE);
	if (machine.all.cores <= 0)
		machine.all.cores = hwloc_get_nbobjs_by_type(machine.topology, HWLOC_OBJ_PU);
	machine.all.cores = (int)fmax(1, fmin(machine.all.cores, ceil(device_limits_cpu_quota())));
	machine.nodes = hwloc_get_nbobjs_by_type(machine.topology, HWLOC_OBJ_NUMANODE);
	machine.all.count = count > 0 ? count : 1;
	machine.all.items = xcalloc((size_t)machine.all.count, sizeof(*machine.all.items));
	cpu_partition_read_name(machine.all.cpu_name, sizeof(machine.all.cpu_name));
	for (int i = 0; i < machine.all.count; i++)
		cpu_partition_cut(&machine.all.items[i], i, machine.all.count);
	return STATUS_OK;
}

void cpu_partitions_close(void)
{
	if (!machine.topology)
		return;
	for (int i = 0; i < machine.all.count; i++)
		hwloc_bitmap_free(machine.all.items[i].cpuset);
	free(machine.all.items);
	hwloc_topology_destroy(machine.topology);
	memset(&machine, 0, sizeof(machine));
}

const struct cpu_partitions *cpu_partitions(void)
{
	return &machine.all;
}

double cpu_partition_clock_hz(const struct cpu_partition *partition)
{
	char line[64];
	double khz;

	return device_limits_read_line(line, sizeof(line),
				       "/sys/devices/system/cpu/cpu%d/cpufreq/cpuinfo_max_freq",
				       partition->first_cpu) &&
			       sscanf(line, "%lf", &khz) == 1
		       ? 1e3 * khz
		       : 0;
}

void cpu_partition_bind_thread(const struct cpu_partition *partition)
{
	hwloc_set_cpubind(machine.topology, partition->cpuset, HWLOC_CPUBIND_THREAD);
}

void cpu_partition_place_memory(const struct cpu_partition *partition, void *memory, size_t bytes)
{
	hwloc_bitmap_t node;

	if (machine.nodes < 2 || partition->numa_node < 0)
		return;
	node = hwloc_bitmap_alloc();
	hwloc_bitmap_set(node, (unsigned)partition->numa_node);
	hwloc_set_area_membind(machine.topology, memory, bytes, node, HWLOC_MEMBIND_BIND,
			       HWLOC_MEMBIND_BYNODESET);
	hwloc_bitmap_free(node);
}
