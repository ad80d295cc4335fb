/* Finding, opening and closing devices. */
#include "device/cuda/cuda_backend.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"

static int device_count;
static int current_index = -1;

/* Why there may be no driver, from the outside: the runtime only says that there is none. */
static void driver_hint(char *out, size_t size)
{
	static const char node[] = "/dev/nvidiactl";

	out[0] = '\0';
	if (access(node, F_OK) != 0)
		snprintf(out, size, " (there is no %s: the NVIDIA driver is not loaded here)",
			 node);
	else if (access(node, R_OK | W_OK) != 0)
		snprintf(out, size, " (%s: %s)", node, strerror(errno));
}

enum status cuda_devices_find(struct error *err)
{
	char hint[128];
	cudaError_t code = cudaGetDeviceCount(&device_count);

	if (code == cudaSuccess && device_count > 0)
		return STATUS_OK;
	device_count = 0;
	if (code == cudaSuccess)
		code = cudaErrorNoDevice;
	cudaGetLastError();
	driver_hint(hint, sizeof(hint));
	return error_set(err, STATUS_UNSUPPORTED, "cudaGetDeviceCount: %s: %s%s",
			 cudaGetErrorName(code), cudaGetErrorString(code), hint);
}

int cuda_device_count(void)
{
	return device_count;
}

enum status cuda_use(const struct device *device, struct error *err)
{
	enum status status;

	if (device->info.index == current_index)
		return STATUS_OK;
	status = cuda_check(cudaSetDevice(device->info.index), "cudaSetDevice", err);
	if (status == STATUS_OK)
		current_index = device->info.index;
	return status;
}

static enum status check_capability(const struct device_info *info, struct error *err)
{
	if (info->capability_major * 10 + info->capability_minor >= CUDA_MIN_CAPABILITY)
		return STATUS_OK;
	return error_set(err, STATUS_UNSUPPORTED,
			 "%s (%s) has compute capability %d.%d; module %s drives %d.%d and newer",
			 info->id, info->name, info->capability_major, info->capability_minor,
			 info->module, CUDA_MIN_CAPABILITY / 10, CUDA_MIN_CAPABILITY % 10);
}

/*
 * The context, and what streams may ask of it. cudaFree(0) is the documented way to make the
 * runtime create it.
 */
static enum status device_start(struct cuda_device *device, struct error *err)
{
	enum status status = cuda_use(&device->base, err);

	if (status == STATUS_OK)
		status = cuda_check(cudaFree(NULL), "cudaFree(0), which creates the context", err);
	if (status == STATUS_OK)
		status = cuda_check(cudaDeviceGetStreamPriorityRange(&device->priority_low,
								     &device->priority_high),
				    "cudaDeviceGetStreamPriorityRange", err);
	if (status == STATUS_OK && (device->base.info.capabilities & DEVICE_HAS_POOLS))
		status = cuda_pool_keep(&device->base, true, err);
	return status;
}

enum status cuda_device_open(int index, struct device **out, struct error *err)
{
	extern const struct backend gpuproof_backend;
	struct cuda_device *device = xcalloc(1, sizeof(*device));
	enum status status;

	device->base.backend = &gpuproof_backend;
	status = cuda_device_info(index, &device->base.info, err);
	if (status == STATUS_OK)
		status = check_capability(&device->base.info, err);
	if (status == STATUS_OK)
		status = device_start(device, err);
	if (status != STATUS_OK) {
		free(device);
		return status;
	}
	*out = &device->base;
	return STATUS_OK;
}

/*
 * The context stays until the process ends: a device may be opened twice, and a reset would pull
 * it from under both.
 */
void cuda_device_close(struct device *device)
{
	struct error ignored = ERROR_NONE;

	if (!device)
		return;
	cuda_device_synchronize(device, &ignored);
	if (device->info.capabilities & DEVICE_HAS_POOLS)
		cuda_pool_keep(device, false, &ignored);
	free(device);
}

enum status cuda_device_synchronize(struct device *device, struct error *err)
{
	enum status status = cuda_use(device, err);

	if (status == STATUS_OK)
		status = cuda_check(cudaDeviceSynchronize(), "cudaDeviceSynchronize", err);
	if (status == STATUS_OK)
		status = cuda_communicators_check((struct cuda_device *)device, err);
	return status;
}

enum status cuda_device_memory(struct device *device, uint64_t *free_bytes, uint64_t *total_bytes,
			       struct error *err)
{
	size_t available = 0, total = 0;
	enum status status = cuda_use(device, err);

	if (status == STATUS_OK)
		status = cuda_check(cudaMemGetInfo(&available, &total), "cudaMemGetInfo", err);
	*free_bytes = available;
	*total_bytes = total;
	return status;
}

enum status cuda_peer_access(struct device *device, struct device *peer, bool enable,
			     struct error *err)
{
	int index = peer->info.index;
	enum status status = cuda_use(device, err);
	cudaError_t code;

	if (status != STATUS_OK || index == device->info.index)
		return status;
	code = enable ? cudaDeviceEnablePeerAccess(index, 0) : cudaDeviceDisablePeerAccess(index);
	if (code == cudaErrorPeerAccessAlreadyEnabled || code == cudaErrorPeerAccessNotEnabled) {
		cudaGetLastError(); /* as wished already; must not stick to the next launch */
		return STATUS_OK;
	}
	return cuda_check(
		code, enable ? "cudaDeviceEnablePeerAccess" : "cudaDeviceDisablePeerAccess", err);
}
