#include "device/host/placement.h"

#include <hwloc.h>
#include <string.h>

#include "device/limits.h"

/* Loaded once, on first use on a machine with several nodes: scanning the bus takes a while. */
static struct {
	hwloc_topology_t topology;
	/* saved binding of the calling thread, from placement_begin() to placement_end() */
	hwloc_cpuset_t cpus;
	bool loaded;
} machine;

static bool host_placement_hwloc_load_topology(void)
{
	char nodes[64];

	if (machine.loaded)
		return machine.topology != NULL;
	machine.loaded = true;
	/* "0-1": several nodes */
	if (!device_limits_read_line(nodes, sizeof(nodes), "/sys/devices/system/node/online") ||
	    !strpbrk(nodes, "-,") || hwloc_topology_init(&machine.topology) != 0)
		return false;
	hwloc_topology_set_io_types_filter(machine.topology, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
	if (hwloc_topology_load(machine.topology) == 0) {
		machine.cpus = hwloc_bitmap_alloc();
		return true;
	}
	hwloc_topology_destroy(machine.topology);
	machine.topology = NULL;
	return false;
}

int placement_begin(const struct device *device)
{
	const struct device_info *info = &device->info;
	hwloc_obj_t bus, parent = NULL;
	int node;

	if (!info->pci[0] || !host_placement_hwloc_load_topology())
		return -1;
	/*
	 * The nearest object above the device that has memory. If hwloc does not see the bus, the
	 * node that the kernel reports.
	 */
	bus = hwloc_get_pcidev_by_busidstring(machine.topology, info->pci);
	if (bus)
		parent = hwloc_get_non_io_ancestor_obj(machine.topology, bus);
	else if (info->numa_node >= 0)
		parent = hwloc_get_numanode_obj_by_os_index(machine.topology,
							    (unsigned)info->numa_node);
	/* Several nodes: the bus is attached to the whole machine, as in a virtual one. */
	if (!parent || hwloc_bitmap_weight(parent->nodeset) != 1)
		return -1;
	node = hwloc_bitmap_first(parent->nodeset);
	if (hwloc_get_cpubind(machine.topology, machine.cpus, HWLOC_CPUBIND_THREAD) != 0)
		return -1; /* the binding could not be restored */
	if (hwloc_set_membind(machine.topology, parent->nodeset, HWLOC_MEMBIND_BIND,
			      HWLOC_MEMBIND_THREAD | HWLOC_MEMBIND_BYNODESET) != 0)
		return -1;
	/*
	 * A driver may allocate where its caller runs. If the node has no CPU, only memory is
	 * bound.
	 */
	if (!hwloc_bitmap_iszero(parent->cpuset))
		hwloc_set_cpubind(machine.topology, parent->cpuset, HWLOC_CPUBIND_THREAD);
	return node;
}

void placement_end(int node)
{
	if (node < 0)
		return;
	hwloc_set_cpubind(machine.topology, machine.cpus, HWLOC_CPUBIND_THREAD);
	hwloc_set_membind(machine.topology, hwloc_topology_get_topology_nodeset(machine.topology),
			  HWLOC_MEMBIND_DEFAULT, HWLOC_MEMBIND_THREAD | HWLOC_MEMBIND_BYNODESET);
}
