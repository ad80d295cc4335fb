#include "device/cuda/ranks/semaphores.h"

#include <stdint.h>

#include "device/architecture.h"
#include "device/cuda/cuda_backend.h"
#include "device/cuda/driver.h"

/* The driver determines it, so it is equal for all devices of a machine. */
static enum { UNKNOWN, BY_MEMORY_OPERATIONS, BY_KERNELS } method;

static CUdeviceptr semaphore_address(const void *flag)
{
	return (CUdeviceptr)(uintptr_t)flag;
}

/* A recorded wait would use the value of its recording forever. */
static enum status refuse_recording(struct stream *stream, struct error *err)
{
	enum cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
	enum status status = cuda_check(cudaStreamIsCapturing(cuda_stream_handle(stream), &capture),
					"cudaStreamIsCapturing", err);

	if (status == STATUS_OK && capture != cudaStreamCaptureStatusNone)
		return error_set(err, STATUS_UNSUPPORTED,
				 "copies between ranks (peer_copy, host_copy) cannot be captured "
				 "in a graph");
	return status;
}

static enum status semaphores_memory_operation(CUresult code, const char *call, struct error *err)
{
	return driver_check(code, call, sizeof(unsigned), err);
}

enum status cuda_semaphore_wait(struct stream *stream, void *flag, unsigned value,
				struct error *err)
{
	enum status status = refuse_recording(stream, err);

	if (status != STATUS_OK)
		return status;
	if (method == BY_KERNELS)
		return cuda_semaphore_wait_launch(stream, flag, value, err);
	cuda_path("flag_wait", "stream memory operation");
	return semaphores_memory_operation(driver.cuStreamWaitValue32_v2(cuda_stream_handle(stream),
									 semaphore_address(flag),
									 value,
									 CU_STREAM_WAIT_VALUE_GEQ),
					   "cuStreamWaitValue32", err);
}

enum status cuda_semaphore_signal(struct stream *stream, void *flag, unsigned value,
				  struct error *err)
{
	enum status status = refuse_recording(stream, err);

	if (status != STATUS_OK)
		return status;
	if (method == BY_KERNELS)
		return cuda_semaphore_signal_launch(stream, flag, value, err);
	return semaphores_memory_operation(
		driver.cuStreamWriteValue32_v2(cuda_stream_handle(stream), semaphore_address(flag),
					       value, CU_STREAM_WRITE_VALUE_DEFAULT),
		"cuStreamWriteValue32", err);
}

/* Drivers may refuse on GPUs before Volta; when one is emulated, the alternative is tested. */
static bool semaphores_has_memory_operations(struct stream *stream, void *scratch)
{
	CUstream handle = cuda_stream_handle(stream);
	struct error ignored = ERROR_NONE;

	if (cuda_emulated_capability() && device_capability_number(&stream->device->info) < 70)
		return false;
	return driver_open(&ignored) == STATUS_OK && driver.cuStreamWaitValue32_v2 &&
	       driver.cuStreamWriteValue32_v2 &&
	       driver.cuStreamWriteValue32_v2(handle, semaphore_address(scratch), 1,
					      CU_STREAM_WRITE_VALUE_DEFAULT) == CUDA_SUCCESS &&
	       driver.cuStreamWaitValue32_v2(handle, semaphore_address(scratch), 1,
					     CU_STREAM_WAIT_VALUE_GEQ) == CUDA_SUCCESS;
}

/* An empty sum loads the kernel as well. */
static enum status semaphores_load_kernels(struct stream *stream, void *scratch, struct error *err)
{
	enum status status = cuda_semaphore_signal_launch(stream, scratch, 1, err);

	if (status == STATUS_OK)
		status = cuda_semaphore_wait_launch(stream, scratch, 1, err);
	for (int precision = 0; precision < PRECISION_COUNT && status == STATUS_OK; precision++) {
		struct relay_sum none = { .precision = (enum precision)precision };

		status = cuda_sum_launch(stream, NULL, &none, err);
	}
	return status;
}

enum status cuda_semaphores_prepare(struct stream *stream, void *scratch, struct error *err)
{
	enum status status = semaphores_load_kernels(stream, scratch, err);

	if (status == STATUS_OK && method == UNKNOWN)
		method = semaphores_has_memory_operations(stream, scratch) ? BY_MEMORY_OPERATIONS
									   : BY_KERNELS;
	return status == STATUS_OK ? cuda_stream_synchronize(stream, err) : status;
}
