/*
 * CPU counterpart of peak.cu: eight vectors of chains at a time, each operation a fused
 * multiply-add.
 */
#include "kernels/peak/peak.h"

#include <string.h>

#include "device/host/host_kernel.h"

/* Lanes side by side: eight vectors of 64 bytes. */
#define LANES_FP32 (128 / PEAK_CHAINS)
#define LANES_FP64 (64 / PEAK_CHAINS)

#define CHAINS(type, lanes, fused)                                                        \
	HOST_VECTORISED                                                                   \
	static void chains_##type(uint64_t first, uint64_t steps, uint64_t *out)          \
	{                                                                                 \
		type x[lanes * PEAK_CHAINS];                                              \
                                                                                          \
		for (int i = 0; i < lanes * PEAK_CHAINS; i++)                             \
			x[i] = kernel_peak_start(first + (uint64_t)i / PEAK_CHAINS,       \
						 (uint64_t)i % PEAK_CHAINS, PEAK_CHAINS); \
		for (uint64_t step = 0; step < steps; step++)                             \
			for (int i = 0; i < lanes * PEAK_CHAINS; i++)                     \
				x[i] = fused(x[i], x[i], (type)PEAK_SHIFT);               \
		for (int i = 0; i < lanes; i++) {                                         \
			out[i] = 0;                                                       \
			for (int c = 0; c < PEAK_CHAINS; c++) {                           \
				uint64_t bits = 0;                                        \
                                                                                          \
				memcpy(&bits, &x[i * PEAK_CHAINS + c], sizeof(type));     \
				out[i] ^= bits;                                           \
			}                                                                 \
		}                                                                         \
	}
CHAINS(float, LANES_FP32, __builtin_fmaf)
CHAINS(double, LANES_FP64, __builtin_fma)

static void peak_host_fma_slice(void *context, unsigned part, uint64_t begin, uint64_t end)
{
	const struct peak_fma_arguments *a = context;

	(void)part;
	/* In blocks of LANES_FP32 lanes. */
	for (uint64_t lane = begin * LANES_FP32; lane < end * LANES_FP32; lane += LANES_FP32) {
		if (a->precision == PRECISION_FP32) {
			chains_float(lane, a->steps, a->out + lane);
			continue;
		}
		for (uint64_t i = 0; i < LANES_FP32; i += LANES_FP64)
			chains_double(lane + i, a->steps, a->out + lane + i);
	}
}

static enum status peak_fma_run(struct stream *stream, const void *arguments, struct error *err)
{
	struct peak_fma_arguments a = *(const struct peak_fma_arguments *)arguments;

	(void)err;
	host_stream_parallel(stream, a.lanes / LANES_FP32, 1, peak_host_fma_slice, &a);
	return STATUS_OK;
}

enum status kernel_host_peak_fma(struct stream *stream, const void *arguments, struct error *err)
{
	const struct peak_fma_arguments *a = arguments;

	if (a->precision != PRECISION_FP32 && a->precision != PRECISION_FP64)
		return error_set(err, STATUS_UNSUPPORTED, "a CPU does not support FP16");
	return host_stream_enqueue(stream, peak_fma_run, a, sizeof(*a), err);
}

/* Elements that are processed together, in registers. */
#define BLOCK_FP32 128
#define BLOCK_FP64 64

#define STREAM(type, block, fused)                                            \
	HOST_VECTORISED                                                       \
	static void stream_##type(type *to, const type *from, uint64_t steps) \
	{                                                                     \
		type x[block];                                                \
                                                                              \
		for (int i = 0; i < block; i++)                               \
			x[i] = from[i];                                       \
		for (uint64_t step = 0; step < steps; step++)                 \
			for (int i = 0; i < block; i++)                       \
				x[i] = fused(x[i], x[i], (type)PEAK_SHIFT);   \
		for (int i = 0; i < block; i++)                               \
			to[i] = x[i];                                         \
	}
STREAM(float, BLOCK_FP32, __builtin_fmaf)
STREAM(double, BLOCK_FP64, __builtin_fma)

static void peak_host_stream_slice(void *context, unsigned part, uint64_t begin, uint64_t end)
{
	const struct peak_stream_arguments *a = context;

	(void)part;
	for (uint64_t block = begin; block < end; block++) {
		if (a->precision == PRECISION_FP32)
			stream_float((float *)a->out + block * BLOCK_FP32,
				     (const float *)a->in + block * BLOCK_FP32, a->steps);
		else
			stream_double((double *)a->out + block * BLOCK_FP64,
				      (const double *)a->in + block * BLOCK_FP64, a->steps);
	}
}

static enum status peak_stream_run(struct stream *stream, const void *arguments, struct error *err)
{
	struct peak_stream_arguments a = *(const struct peak_stream_arguments *)arguments;

	(void)err;
	host_stream_parallel(stream,
			     a.count / (a.precision == PRECISION_FP32 ? BLOCK_FP32 : BLOCK_FP64),
			     16, peak_host_stream_slice, &a);
	return STATUS_OK;
}
HOST_KERNEL(peak_stream)
