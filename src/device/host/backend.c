/* Host backend: devices that are partitions of the CPU, and its table of operations. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/units.h"
#include "device/host/blas.h"
#include "device/host/host_device.h"
#include "device/host/host_kernel.h"
#include "device/host/ranks/communicator.h"
#include "device/host/stream.h"
#include "device/limits.h"
#include "device/ranks/relay.h"

/* Facts about the environment of the host backend. */
static void host_backend_hwloc_version(char *out, size_t size)
{
	unsigned version = hwloc_get_api_version();

	snprintf(out, size, "%u.%u.%u", version >> 16, version >> 8 & 0xff, version & 0xff);
}

void host_facts(fact_fn *add, void *context)
{
	const struct blas *blas = blas_open(NULL);
	char value[64];

	/*
	 * After affinity, cpusets and quotas; result/host/environment.c has the machine's own
	 * numbers.
	 */
	snprintf(value, sizeof(value), "%d", cpu_partitions()->cores);
	add(context, "usable cores", value);
	add(context, "usable memory",
	    units_si((double)device_limits_memory_total(), "B", value, sizeof(value)));
	if (blas) {
		add(context, "openblas", blas->openblas_get_config());
		add(context, "openblas kernels", blas->openblas_get_corename());
	}
	host_backend_hwloc_version(value, sizeof(value));
	add(context, "hwloc", value);
}

size_t host_components(struct component *out, size_t capacity)
{
	struct component parts[2] = { { .name = "OpenBLAS" },
				      { .name = "hwloc", .present = true } };
	struct error err = ERROR_NONE;
	const struct blas *blas = blas_open(&err);
	size_t count = capacity < 2 ? capacity : 2;

	parts[0].present = blas != NULL;
	if (blas) {
		/* "OpenBLAS 0.3.26 ...": its name, version and build options */
		const char *config = blas->openblas_get_config(), *version = strchr(config, ' ');

		version = version ? version + 1 : config;
		snprintf(parts[0].version, sizeof(parts[0].version), "%.*s",
			 (int)strcspn(version, " "), version);
		snprintf(parts[0].detail, sizeof(parts[0].detail), "%s",
			 blas->openblas_get_config());
	} else {
		snprintf(parts[0].detail, sizeof(parts[0].detail),
			 "%.160s; GEMMs on the CPU are skipped", err.message);
	}
	host_backend_hwloc_version(parts[1].version, sizeof(parts[1].version));
	snprintf(parts[1].detail, sizeof(parts[1].detail), "gpuproof uses %d cores",
		 cpu_partitions()->cores);
	memcpy(out, parts, count * sizeof(*out));
	return count;
}

/* The host backend's kernels by name. */
static const struct {
	const char *name;
	kernel_fn *launch;
} kernels[] = {
#define KERNEL(op) { #op, kernel_host_##op },
#include "kernels/kernels.def"
#undef KERNEL
};

kernel_fn *host_kernel(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(kernels); i++)
		if (strcmp(name, kernels[i].name) == 0)
			return kernels[i].launch;
	return NULL;
}

enum status host_open(const struct backend_options *options, struct error *err)
{
	return cpu_partitions_open(options ? options->host_devices : 0, err);
}

void host_close(void)
{
	cpu_partitions_close();
}

int host_device_count(void)
{
	return cpu_partitions()->count;
}

enum status host_device_info(int index, struct device_info *out, struct error *err)
{
	const struct cpu_partitions *all = cpu_partitions();
	const struct cpu_partition *partition;

	if (index < 0 || index >= all->count)
		return error_set(err, STATUS_USAGE,
				 "there is no device host:%d; the CPU is split into %d devices",
				 index, all->count);
	partition = &all->items[index];
	*out = (struct device_info){
		.backend = "host",
		.module = "built-in",
		.index = index,
		.multiprocessors = partition->cores,
		.memory_bytes = partition->memory_bytes,
		.memory_free_bytes = device_limits_memory_available() / (uint64_t)all->count,
		.l2_bytes = partition->cache_bytes,
		.clock_hz = cpu_partition_clock_hz(partition),
		.ecc = -1,
		.numa_node = partition->numa_node,
		.capabilities = DEVICE_HAS_FP64 | DEVICE_HAS_FP32 | DEVICE_HAS_FP16 |
				DEVICE_HAS_BF16 | DEVICE_HAS_COLLECTIVES |
				DEVICE_SHARES_HOST_MEMORY | DEVICE_IS_HOST,
	};
	for (int peer = 0; peer < all->count; peer++)
		device_bits_add(&out->peers, peer);
	snprintf(out->id, sizeof(out->id), "host:%d", index);
	snprintf(out->name, sizeof(out->name), "%s", all->cpu_name);
	return STATUS_OK;
}

enum status host_device_open(int index, struct device **out, struct error *err)
{
	struct host_device *device = xcalloc(1, sizeof(*device));
	enum status status = host_device_info(index, &device->base.info, err);

	if (status != STATUS_OK) {
		free(device);
		return status;
	}
	device->base.backend = &backend_host;
	device->partition = &cpu_partitions()->items[index];
	device->machine_bytes = device_limits_memory_total();
	*out = &device->base;
	return STATUS_OK;
}

void host_device_close(struct device *device)
{
	if (!device)
		return;
	while (host_device(device)->streams)
		host_stream_destroy(&host_device(device)->streams->base);
	free(device);
}

/* All devices share one memory: access to a peer's cannot be disabled. */
enum status host_peer_access(struct device *device, struct device *peer, bool enable,
			     struct error *err)
{
	(void)device;
	(void)peer;
	if (enable)
		return STATUS_OK;
	return error_set(err, STATUS_UNSUPPORTED,
			 "every CPU device can access all memory, so peer access is always on");
}

const struct backend backend_host = {
	.abi = BACKEND_ABI,
	.name = "host",
	.module = "built-in",
#define FUNCTION(result, name, parameters) .name = host_##name,
#define COLLECTIVE(name, parameters, arguments) .name = relay_##name,
#define CUDA_FUNCTION(result, name, parameters)
#define CUDA_OPERATION(device, name, parameters, arguments)
#include "device/backend.def"
};
