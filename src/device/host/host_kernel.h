/*
 * Interface of the host backend for kernels (kernels/<file>_host.c).
 *
 *	static void convert_slice(void *context, unsigned part, uint64_t begin, uint64_t end)
 *	{ ... }
 *
 *	static enum status convert_run(struct stream *stream, const void *arguments,
 *				     struct error *err)
 *	{
 *		struct convert_arguments a = *(const struct convert_arguments *)arguments;
 *
 *		host_stream_parallel(stream, a.count, 1 << 14, convert_slice, &a);
 *		return STATUS_OK;
 *	}
 *	HOST_KERNEL(convert)
 */
#ifndef GPUPROOF_DEVICE_HOST_HOST_KERNEL_H
#define GPUPROOF_DEVICE_HOST_HOST_KERNEL_H

#include "base/parallel.h"
#include "device/host/stream.h"
#include "kernels/kernel.h"

/* Number of threads for operations on this stream: the cores of the device's partition. */
unsigned host_stream_threads(struct stream *stream);

/* Maximum number of parts of host_stream_parallel(): the size of an array of partial results. */
#define HOST_PARALLEL_MAX 256

typedef void host_slice_fn(void *context, unsigned part, uint64_t begin, uint64_t end);

/*
 * Divides [0, count) into as many slices as there are threads, none smaller than `grain` (at least
 * one slice), and calls `slice` for each on its own thread. The slices depend only on count, grain
 * and device. Returns the number of parts.
 */
unsigned host_stream_parallel(struct stream *stream, uint64_t count, uint64_t grain,
			      host_slice_fn *slice, void *context);

/* Defines kernel_host_<op>: enqueues <op>_run with a copy of its arguments. */
#define HOST_KERNEL(op)                                                                          \
	_Static_assert(sizeof(struct op##_arguments) <= OPERATION_BYTES, "arguments too large"); \
	enum status kernel_host_##op(struct stream *stream, const void *arguments,               \
				     struct error *err)                                          \
	{                                                                                        \
		return host_stream_enqueue(stream, op##_run, arguments,                          \
					   sizeof(struct op##_arguments), err);                  \
	}

/* In kernels.def: kernels for this backend only, or not for it. */
#define KERNEL_HOST(op) KERNEL(op)
#define KERNEL_CUDA(op)

#define KERNEL(op) enum status kernel_host_##op(struct stream *, const void *, struct error *);
#include "kernels/kernels.def"
#undef KERNEL

#define HOST_VECTORISED VECTORISED

#endif
