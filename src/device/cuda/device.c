/* Finds, opens and closes devices. */
#include "device/cuda/cuda_backend.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/units.h"
#include "device/cuda/nvml.h"
#include "device/cuda/ranks/nccl.h"
#include "device/images.h"

static enum status cuda_device_status_of_error(cudaError_t code)
{
	switch (code) {
	case cudaErrorMemoryAllocation:
		return STATUS_NO_MEMORY;
	case cudaErrorNoDevice:
	case cudaErrorInsufficientDriver:
	case cudaErrorStubLibrary:
	case cudaErrorSystemDriverMismatch:
	case cudaErrorCompatNotSupportedOnDevice:
	case cudaErrorNotSupported:
	case cudaErrorPeerAccessUnsupported:
	case cudaErrorTooManyPeers:
	case cudaErrorNoKernelImageForDevice:
	case cudaErrorUnsupportedPtxVersion:
	case cudaErrorStreamCaptureUnsupported:
		return STATUS_UNSUPPORTED;
	default:
		return STATUS_DEVICE;
	}
}

enum status cuda_device_check(cudaError_t code, const char *call, struct error *err)
{
	if (code == cudaSuccess)
		return STATUS_OK;
	cudaGetLastError();
	return error_set(err, cuda_device_status_of_error(code), "%s: %s: %s", call,
			 cudaGetErrorName(code), cudaGetErrorString(code));
}

enum status cuda_device_check_size(cudaError_t code, const char *function, size_t bytes,
				   struct error *err)
{
	char call[128], size[32];

	if (code == cudaSuccess)
		return STATUS_OK;
	snprintf(call, sizeof(call), "%s(%s)", function, units_size(bytes, size, sizeof(size)));
	return cuda_device_check(code, call, err);
}

enum status cuda_device_check_launch(const char *kernel, struct error *err)
{
	return cuda_device_check_path(kernel, "", err);
}

enum status cuda_device_check_path(const char *kernel, const char *path, struct error *err)
{
	char call[128];
	cudaError_t code = cudaGetLastError();

	if (code == cudaSuccess) {
		cuda_backend_path(kernel, path);
		return STATUS_OK;
	}
	snprintf(call, sizeof(call), "launch of kernel %s", kernel);
	return cuda_device_check(code, call, err);
}

static int device_count;
static int emulated;
/* The runtime's current device is a property of the calling thread. */
static _Thread_local int current_index = -1;

/*
 * Why no driver may be available, from other sources: the runtime only reports that there is none.
 */
static void cuda_device_driver_hint(cudaError_t code, char *out, size_t size)
{
	static const char node[] = "/dev/nvidiactl";
	char version[80] = "an older one";

	out[0] = '\0';
	if (access(node, F_OK) != 0) {
		snprintf(out, size, " (there is no %s: the NVIDIA driver is not loaded here)",
			 node);
	} else if (code == cudaErrorInsufficientDriver) {
		if (nvml_open(NULL) == STATUS_OK)
			nvml.nvmlSystemGetDriverVersion(version, sizeof(version));
		snprintf(out, size, " (module %s needs driver %d or newer; installed: %.60s)",
			 GPUPROOF_CUDA_MODULE, CUDA_MIN_DRIVER, version);
	} else if (access(node, R_OK | W_OK) != 0) {
		snprintf(out, size, " (%s: %s)", node, strerror(errno));
	}
}

enum status cuda_devices_find(int emulate, struct error *err)
{
	char hint[192];
	cudaError_t code = cudaGetDeviceCount(&device_count);

	emulated = emulate;
	if (code == cudaSuccess && device_count > 0)
		return STATUS_OK;
	device_count = 0;
	if (code == cudaSuccess)
		code = cudaErrorNoDevice;
	cudaGetLastError();
	cuda_device_driver_hint(code, hint, sizeof(hint));
	return error_set(err, STATUS_UNSUPPORTED, "cudaGetDeviceCount: %s: %s%s",
			 cudaGetErrorName(code), cudaGetErrorString(code), hint);
}

int cuda_device_count(void)
{
	return device_count;
}

int cuda_device_emulated_capability(void)
{
	return emulated;
}

/* Tests the real device, whatever is emulated on it. */
enum status cuda_drives(int index, char *how, size_t size, struct error *err)
{
	int major = 0, minor = 0, driver = 0;
	enum status status = CUDA_CALL(err, cudaDeviceGetAttribute, &major,
				       cudaDevAttrComputeCapabilityMajor, index);

	if (status == STATUS_OK)
		status = CUDA_CALL(err, cudaDeviceGetAttribute, &minor,
				   cudaDevAttrComputeCapabilityMinor, index);
	if (status == STATUS_OK)
		status = CUDA_CALL(err, cudaDriverGetVersion, &driver);
	if (status != STATUS_OK)
		return status;
	return device_images_for(GPUPROOF_CUDA_IMAGES, major * 10 + minor, driver >= CUDART_VERSION,
				 how, size, err);
}

enum status cuda_device_use(const struct device *device, struct error *err)
{
	enum status status;

	if (device->info.index == current_index)
		return STATUS_OK;
	status = CUDA_CALL(err, cudaSetDevice, device->info.index);
	if (status == STATUS_OK)
		current_index = device->info.index;
	return status;
}

enum status cuda_device_open(int index, struct device **out, struct error *err)
{
	extern const struct backend gpuproof_backend;
	struct cuda_device *device = xcalloc(1, sizeof(*device));
	const struct device_info *info = &device->base.info;
	char how[96];
	enum status status;

	device->base.backend = &gpuproof_backend;
	device->managed = cuda_memory_managed_open();
	status = cuda_device_info(index, &device->base.info, err);
	if (status == STATUS_OK && cuda_drives(index, how, sizeof(how), err) != STATUS_OK)
		status =
			error_prefix(err, "module %s, %s (%s)", info->module, info->id, info->name);
	if (status == STATUS_OK)
		status = cuda_device_use(&device->base, err);
	/* cudaFree(0) is the documented way to make the runtime create the context. */
	if (status == STATUS_OK)
		status = cuda_device_check(cudaFree(NULL), "cudaFree(0), which creates the context",
					   err);
	if (status == STATUS_OK)
		status = CUDA_CALL(err, cudaDeviceGetStreamPriorityRange, &device->priority_low,
				   &device->priority_high);
	if (status == STATUS_OK && (info->capabilities & DEVICE_HAS_POOLS))
		status = cuda_memory_pool_keep(&device->base, true, err);
	if (status != STATUS_OK) {
		free(device->managed);
		free(device);
		return status;
	}
	*out = &device->base;
	return STATUS_OK;
}

/*
 * The context lives until the process ends: a device may be opened twice, and a reset would
 * invalidate both.
 */
void cuda_device_close(struct device *device)
{
	struct error ignored = ERROR_NONE;

	if (!device)
		return;
	cuda_device_synchronize(device, &ignored);
	if (device->info.capabilities & DEVICE_HAS_POOLS)
		cuda_memory_pool_keep(device, false, &ignored);
	cuda_memory_pools_destroy(device);
	free(((struct cuda_device *)device)->managed);
	free(device);
}

enum status cuda_device_synchronize(struct device *device, struct error *err)
{
	enum status status = cuda_device_use(device, err);

	if (status == STATUS_OK)
		status = cuda_device_check(cudaDeviceSynchronize(), "cudaDeviceSynchronize", err);
	if (status == STATUS_OK)
		status = nccl_communicators_check((struct cuda_device *)device, err);
	return status;
}

enum status cuda_device_memory(struct device *device, uint64_t *free_bytes, uint64_t *total_bytes,
			       struct error *err)
{
	size_t available = 0, total = 0;
	enum status status = cuda_device_use(device, err);

	if (status == STATUS_OK)
		status = CUDA_CALL(err, cudaMemGetInfo, &available, &total);
	*free_bytes = available;
	*total_bytes = total;
	return status;
}

enum status cuda_peer_access(struct device *device, struct device *peer, bool enable,
			     struct error *err)
{
	int index = peer->info.index;
	enum status status = cuda_device_use(device, err);
	cudaError_t code;

	if (status != STATUS_OK || index == device->info.index)
		return status;
	code = enable ? cudaDeviceEnablePeerAccess(index, 0) : cudaDeviceDisablePeerAccess(index);
	if (code == cudaErrorPeerAccessAlreadyEnabled || code == cudaErrorPeerAccessNotEnabled) {
		/* already as desired; the error must not remain for the next launch */
		cudaGetLastError();
		return STATUS_OK;
	}
	return cuda_device_check(code,
				 enable ? "cudaDeviceEnablePeerAccess"
					: "cudaDeviceDisablePeerAccess",
				 err);
}
