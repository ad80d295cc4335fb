/* The tensor cores of compute capability 9.0 at peak rate: see peak.h. */
#include "kernels/peak/peak.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "kernels/fp8.h"
#include "kernels/gemm/wgmma.cuh"
#include "device/cuda/cuda_kernel.h"

#define THREADS 256
/* Bytes per line, and lines: a step is 64 x 256, one line deep. */
#define LINE 128
#define LEFT_LINES 64
#define RIGHT_LINES 256

/* d += left right, 32 bytes deep, both along k; keep = 0: d = left right. */
#define PEAK_WGMMA(name, sum, type, shape, kinds, flags)                                         \
	struct name {                                                                            \
		typedef sum sum_type;                                                            \
		static __device__ __forceinline__ void multiply(sum d[128], uint64_t left,       \
								uint64_t right, int keep)        \
		{                                                                                \
			asm volatile("{\n.reg .pred keep;\nsetp.ne.b32 keep, %130, 0;\n"         \
				     "wgmma.mma_async.sync.aligned.m64n256" shape "." kinds      \
				     " {" WGMMA_REGISTERS_128 "}, %128, %129, keep" flags ";\n}" \
				     : WGMMA_SUMS_128(type, d)                                   \
				     : "l"(left), "l"(right), "r"(keep));                        \
		}                                                                                \
	};
PEAK_WGMMA(peak_fp16, float, "+f", "k16", "f32.f16.f16", ", 1, 1, 0, 0")
PEAK_WGMMA(peak_bf16, float, "+f", "k16", "f32.bf16.bf16", ", 1, 1, 0, 0")
PEAK_WGMMA(peak_tf32, float, "+f", "k8", "f32.tf32.tf32", ", 1, 1")
PEAK_WGMMA(peak_fp8, float, "+f", "k32", "f32.e4m3.e4m3", ", 1, 1")
PEAK_WGMMA(peak_e5m2, float, "+f", "k32", "f32.e5m2.e5m2", ", 1, 1")
PEAK_WGMMA(peak_int8, int, "+r", "k32", "s32.s8.s8", "")

struct e4m3 {
	unsigned char bits;
};
struct e5m2 {
	unsigned char bits;
};

static __device__ __forceinline__ void peak_wgmma_put(half *to, int x)
{
	*to = __float2half_rn((float)x);
}
static __device__ __forceinline__ void peak_wgmma_put(__nv_bfloat16 *to, int x)
{
	*to = __float2bfloat16_rn((float)x);
}
static __device__ __forceinline__ void peak_wgmma_put(float *to, int x)
{
	*to = (float)x;
}
static __device__ __forceinline__ void peak_wgmma_put(e4m3 *to, int x)
{
	to->bits = fp8_from_float((float)x);
}
static __device__ __forceinline__ void peak_wgmma_put(e5m2 *to, int x)
{
	to->bits = fp8_e5m2_from_float((float)x);
}
static __device__ __forceinline__ void peak_wgmma_put(signed char *to, int x)
{
	*to = (signed char)x;
}

/*
 * Lines of 128 bytes whose 16-byte pieces are permuted by the line's number, as the tensor cores
 * expect.
 */
template <typename T>
static __device__ __forceinline__ void peak_wgmma_fill(char *to, int side, int lines)
{
	const int depth = LINE / sizeof(T);

	for (int i = threadIdx.x; i < lines * depth; i += THREADS) {
		int line = i / depth, byte = i % depth * (int)sizeof(T);
		int place = line * LINE + ((byte / 16 ^ line % 8) * 16) + byte % 16;

		peak_wgmma_put((T *)(to + place), kernel_peak_element(side, line, i % depth));
	}
}

template <typename T, typename W>
static __global__ void __launch_bounds__(THREADS, 1)
	peak_wgmma(unsigned steps, int adds_up, int64_t *out)
{
	__shared__ __align__(1024) char left[LEFT_LINES * LINE], right[RIGHT_LINES * LINE];
	__shared__ double totals[THREADS / 32];
	typename W::sum_type d[128];
	uint64_t at_left, at_right;
	double total = 0;

	peak_wgmma_fill<T>(left, 0, LEFT_LINES);
	peak_wgmma_fill<T>(right, 1, RIGHT_LINES);
	asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
	__syncthreads();
	at_left = wgmma_operand_descriptor(left, 16, 1024);
	at_right = wgmma_operand_descriptor(right, 16, 1024);
#pragma unroll
	for (int i = 0; i < 128; i++)
		d[i] = 0;
	for (unsigned step = 0; step < steps; step++) {
		asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
		for (int i = 0; i < LINE / 32; i++)
			W::multiply(d, at_left + i * 2, at_right + i * 2, adds_up || i > 0);
		asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
		asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
	}
	asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
	asm volatile("" : WGMMA_SUMS_128("+r", ((int *)d))::"memory");
	for (int i = 0; i < 128; i++)
		total += (double)d[i];
	for (int lanes = 16; lanes; lanes /= 2)
		total += __shfl_xor_sync(0xffffffff, total, lanes);
	if (threadIdx.x % 32 == 0)
		totals[threadIdx.x / 32] = total;
	__syncthreads();
	/* Two groups of four warps. */
	if (threadIdx.x < 2) {
		total = 0;
		for (int i = 0; i < 4; i++)
			total += totals[threadIdx.x * 4 + i];
		out[blockIdx.x * 2 + threadIdx.x] = (int64_t)total;
	}
}

extern "C" enum status peak_wgmma_launch(struct stream *stream,
					 const struct peak_tensor_arguments *a, struct error *err)
{
	struct peak_tensor_shape shape =
		kernel_peak_tensor_shape(&stream->device->info, a->precision);
	cudaStream_t handle = cuda_stream_handle(stream);
	unsigned blocks = (unsigned)(a->groups / 2), steps = (unsigned)a->steps;

	switch (a->precision) {
#define CASE(precision, T, W)                                                                   \
	case precision:                                                                         \
		peak_wgmma<T, W><<<blocks, THREADS, 0, handle>>>(steps, shape.adds_up, a->out); \
		break;
		CASE(PRECISION_FP16, half, peak_fp16)
		CASE(PRECISION_BF16, __nv_bfloat16, peak_bf16)
		CASE(PRECISION_TF32, float, peak_tf32)
		CASE(PRECISION_FP8, e4m3, peak_fp8)
		CASE(PRECISION_E5M2, e5m2, peak_e5m2)
		CASE(PRECISION_INT8, signed char, peak_int8)
#undef CASE
	default:
		return error_set(err, STATUS_INTERNAL, "peak_tensor: precision %d", a->precision);
	}
	return cuda_device_check_path("peak_tensor", "WGMMA", err);
}
