/* Memory in use by accounting source. */
#include <unistd.h>

#include "base/memory.h"
#include "device/cuda/cuda_backend.h"
#include "device/cuda/nvml.h"

/* Maximum number of processes read per GPU. */
#define PROCESSES_AT_MOST 64

/*
 * NVML uses process ids outside of any container. If these differ from ours, this process is not
 * found and the value is unknown: assuming that the only listed process is this one would be a
 * guess.
 */
static uint64_t cuda_memory_view_process_bytes(nvmlDevice_t device)
{
	struct nvml_process processes[PROCESSES_AT_MOST];
	unsigned count = PROCESSES_AT_MOST, self = (unsigned)getpid();

	if (!NVML_OK(nvmlDeviceGetComputeRunningProcesses_v3, device, &count, processes))
		return 0;
	for (unsigned i = 0; i < count; i++)
		if (processes[i].pid == self && processes[i].used_bytes != UINT64_MAX)
			return processes[i].used_bytes;
	return 0;
}

static void ask_monitor(const struct device *device, struct memory_view *out)
{
	nvmlDevice_t handle = nvml_device(device->info.pci);
	struct nvml_memory memory = { 0 };

	if (!handle)
		return;
	if (NVML_OK(nvmlDeviceGetMemoryInfo, handle, &memory))
		out->device_used = memory.used;
	out->process_used = cuda_memory_view_process_bytes(handle);
}

static enum status cuda_memory_view_ask_pool(struct device *device, struct memory_view *out,
					     struct error *err)
{
	const struct {
		enum cudaMemPoolAttr attribute;
		uint64_t *value;
	} attributes[] = {
		{ cudaMemPoolAttrReservedMemCurrent, &out->pool_reserved },
		{ cudaMemPoolAttrUsedMemCurrent, &out->pool_used },
		{ cudaMemPoolAttrReservedMemHigh, &out->pool_reserved_high },
		{ cudaMemPoolAttrUsedMemHigh, &out->pool_used_high },
	};
	enum status status;
	cudaMemPool_t pool;

	status = cuda_check(cudaDeviceGetDefaultMemPool(&pool, device->info.index),
			    "cudaDeviceGetDefaultMemPool", err);
	for (size_t i = 0; i < ARRAY_SIZE(attributes) && status == STATUS_OK; i++)
		status = cuda_check(cudaMemPoolGetAttribute(pool, attributes[i].attribute,
							    attributes[i].value),
				    "cudaMemPoolGetAttribute", err);
	return status;
}

enum status cuda_memory_view(struct device *device, struct memory_view *out, struct error *err)
{
	size_t free_bytes = 0, total = 0;
	enum status status = cuda_use(device, err);

	*out = (struct memory_view){ 0 };
	if (status == STATUS_OK)
		status = cuda_check(cudaMemGetInfo(&free_bytes, &total), "cudaMemGetInfo", err);
	if (status != STATUS_OK)
		return status;
	out->runtime_used = total - free_bytes;
	ask_monitor(device, out);
	return device->info.capabilities & DEVICE_HAS_POOLS
		       ? cuda_memory_view_ask_pool(device, out, err)
		       : STATUS_OK;
}
