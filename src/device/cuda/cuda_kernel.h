/*
 * Interface of the CUDA backend for .cu files: the stream to launch on, and how to report a failed
 * launch.
 *
 *	extern "C" enum status kernel_cuda_convert(struct stream *stream, const void *arguments,
 *						 struct error *err)
 *	{
 *		...
 *		convert<<<blocks, THREADS, 0, cuda_stream_handle(stream)>>>(...);
 *		return cuda_device_check_launch("convert", err);
 *	}
 */
#ifndef GPUPROOF_DEVICE_CUDA_CUDA_KERNEL_H
#define GPUPROOF_DEVICE_CUDA_CUDA_KERNEL_H

#include <cuda_runtime_api.h>

#include "device/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The CUDA stream; makes its device current. */
cudaStream_t cuda_stream_handle(struct stream *stream);

/* Multiprocessors of the stream's device, for grids that fill the device. */
int cuda_stream_multiprocessors(const struct stream *stream);

/* Maximum shared memory per block on the stream's device (or on the emulated one), in bytes. */
int cuda_stream_block_memory(const struct stream *stream);

/*
 * Call before a launch with `bytes` of dynamic shared memory. The default limit is 48 KiB:
 * STATUS_OK, or an error if a block has no room for them.
 */
enum status cuda_stream_shared_memory(const struct stream *stream, const void *kernel, size_t bytes,
				      struct error *err);

/* cuTensorMapEncodeTiled; NULL if the driver lacks it (before CUDA 12.0). */
void *cuda_driver_tensor_map_encoder(void);

/* STATUS_OK, or the launch error of `kernel`. */
enum status cuda_device_check_launch(const char *kernel, struct error *err);

/*
 * As cuda_device_check_launch(), for a kernel with several code paths; `path` is the one launched
 * ("WMMA"). Pass string literals only.
 */
enum status cuda_device_check_path(const char *kernel, const char *path, struct error *err);
/* Only records a path, for code that is not a kernel. */
void cuda_backend_path(const char *kernel, const char *path);

#ifdef __cplusplus
}
#endif

#endif
