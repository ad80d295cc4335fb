#include "device/cuda/cuda_backend.h"

#include <stdio.h>

#include "base/units.h"

static enum status status_of_cuda_error(cudaError_t code)
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

enum status cuda_check(cudaError_t code, const char *call, struct error *err)
{
	if (code == cudaSuccess)
		return STATUS_OK;
	cudaGetLastError();
	return error_set(err, status_of_cuda_error(code), "%s: %s: %s", call,
			 cudaGetErrorName(code), cudaGetErrorString(code));
}

enum status cuda_check_size(cudaError_t code, const char *function, size_t bytes, struct error *err)
{
	char call[128], size[32];

	if (code == cudaSuccess)
		return STATUS_OK;
	snprintf(call, sizeof(call), "%s(%s)", function, units_size(bytes, size, sizeof(size)));
	return cuda_check(code, call, err);
}

enum status cuda_check_launch(const char *kernel, struct error *err)
{
	return cuda_check_path(kernel, "", err);
}

enum status cuda_check_path(const char *kernel, const char *path, struct error *err)
{
	char call[128];
	cudaError_t code = cudaGetLastError();

	if (code == cudaSuccess) {
		cuda_path(kernel, path);
		return STATUS_OK;
	}
	snprintf(call, sizeof(call), "launch of kernel %s", kernel);
	return cuda_check(code, call, err);
}
