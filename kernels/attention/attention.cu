/*
 * Fused attention: see attention.h. Compute capability 9.0 has a code of its own
 * (attention_wgmma.cu).
 */
#include "kernels/attention/attention.h"

#include "kernels/attention/attention_mma.cuh"
#include "kernels/attention/attention_problem.cuh"
#include "kernels/attention/attention_simt.cuh"
#include "kernels/attention/attention_wgmma.h"
#include "kernels/attention/attention_wmma.cuh"
#include "device/cuda/cuda_kernel.h"

#define DELTA_THREADS 256

enum attention_path { PATH_SIMT, PATH_WMMA, PATH_MMA, PATH_WGMMA };

/* Tensor cores are given FP16 and BF16 in pieces of 16 bytes. */
static enum attention_path choose_path(const struct stream *stream, const struct attention_shape *s,
				       bool aligned)
{
	const struct device_info *info = &stream->device->info;
	int capability = info->capability_major * 10 + info->capability_minor;

	if (precision_bytes(s->precision) != 2 || !aligned || s->ld_qkv % 8 || s->ld_o % 8)
		return PATH_SIMT;
	if (CUDA_HAS_WGMMA && (info->capabilities & DEVICE_HAS_WGMMA) && attention_wgmma_takes(s))
		return PATH_WGMMA;
	if (capability >= (s->precision == PRECISION_FP16 ? 75 : 80))
		return PATH_MMA;
	return capability >= 70 && s->precision == PRECISION_FP16 ? PATH_WMMA : PATH_SIMT;
}

typedef void attention_kernel(const attention_problem p);

/* Blocks of 128 threads. */
static void launch_mma(attention_kernel *kernel, const attention_problem &p, int bytes,
		       cudaStream_t stream)
{
	cudaFuncSetAttribute((const void *)kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
			     bytes);
	kernel<<<attention_blocks(p), MMA_THREADS, bytes, stream>>>(p);
}

template <int HEAD>
static void forward_by_wmma(const attention_forward_arguments *a, cudaStream_t stream)
{
	launch_mma(attention_forward_wmma<HEAD>, attention_problem_of(a, WMMA_TILE),
		   WMMA_SHARED_BYTES(HEAD, 3), stream);
}

template <int HEAD>
static void backward_by_wmma(const attention_backward_arguments *a, cudaStream_t stream)
{
	attention_problem p = attention_problem_of(a, WMMA_TILE);

	launch_mma(attention_keys_wmma<HEAD>, p, WMMA_SHARED_BYTES(HEAD, 4), stream);
	launch_mma(attention_queries_wmma<HEAD>, p, WMMA_SHARED_BYTES(HEAD, 4), stream);
}

template <typename T, int HEAD>
static void forward_by_mma(const attention_forward_arguments *a, cudaStream_t stream)
{
	launch_mma(attention_forward_mma<T, HEAD>, attention_problem_of(a, MMA_TILE),
		   MMA_SHARED_BYTES(HEAD, 3), stream);
}

template <typename T, int HEAD>
static void backward_by_mma(const attention_backward_arguments *a, cudaStream_t stream)
{
	attention_problem p = attention_problem_of(a, MMA_TILE);

	launch_mma(attention_keys_mma<T, HEAD>, p, MMA_SHARED_BYTES(HEAD, 4), stream);
	launch_mma(attention_queries_mma<T, HEAD>, p, MMA_SHARED_BYTES(HEAD, 4), stream);
}

template <typename T, int HEAD>
static void forward_by_simt(const attention_forward_arguments *a, cudaStream_t stream)
{
	attention_problem p = attention_problem_of(a, SIMT_TILE);

	attention_forward_simt<T, HEAD><<<attention_blocks(p), SIMT_THREADS, 0, stream>>>(p);
}

template <typename T, int HEAD>
static void backward_by_simt(const attention_backward_arguments *a, cudaStream_t stream)
{
	attention_problem p = attention_problem_of(a, SIMT_TILE);

	attention_keys_simt<T, HEAD><<<attention_blocks(p), SIMT_THREADS, 0, stream>>>(p);
	attention_queries_simt<T, HEAD><<<attention_blocks(p), SIMT_THREADS, 0, stream>>>(p);
}

template <typename T>
static void launch_delta(const attention_backward_arguments *a, cudaStream_t stream)
{
	uint64_t values = attention_row_values(&a->shape);
	unsigned blocks = (unsigned)((values * 32 + DELTA_THREADS - 1) / DELTA_THREADS);

	attention_delta<T>
		<<<blocks, DELTA_THREADS, 0, stream>>>(attention_problem_of(a, MMA_TILE),
						       attention_padded(a->shape.sequence), values);
}

static bool is_empty(const struct attention_shape *s)
{
	return s->batch == 0 || s->heads == 0 || s->sequence == 0;
}

/* call<T, HEAD>(a, stream) for the head's size. */
#define FOR_HEAD(call, T) (s->head_size <= 64 ? call<T, 64>(a, handle) : call<T, 128>(a, handle))

extern "C" enum status kernel_cuda_attention_forward(struct stream *stream, const void *arguments,
						     struct error *err)
{
	const attention_forward_arguments *a = (const attention_forward_arguments *)arguments;
	const struct attention_shape *s = &a->shape;
	cudaStream_t handle = cuda_stream_handle(stream);
	enum attention_path path;

	if (attention_check(s, err) != STATUS_OK)
		return err->status;
	if (is_empty(s))
		return STATUS_OK;
	path = choose_path(stream, s, packs_aligned(a->q, a->k, a->v, a->o));
	/* Not a case below: modules without WGMMA lack this function. */
	if (CUDA_HAS_WGMMA && path == PATH_WGMMA)
		return attention_wgmma_forward(stream, a, err);
	switch (path) {
	case PATH_MMA:
		s->precision == PRECISION_FP16 ? FOR_HEAD(forward_by_mma, half)
					       : FOR_HEAD(forward_by_mma, __nv_bfloat16);
		return cuda_check_path("attention_forward", "MMA", err);
	case PATH_WMMA:
		s->head_size <= 64 ? forward_by_wmma<64>(a, handle)
				   : forward_by_wmma<128>(a, handle);
		return cuda_check_path("attention_forward", "WMMA", err);
	default:
#define CALL(T) FOR_HEAD(forward_by_simt, T)
		FOR_STORED_FLOATS(s->precision, CALL)
#undef CALL
		return cuda_check_path("attention_forward", "SIMT", err);
	}
}

extern "C" enum status kernel_cuda_attention_backward(struct stream *stream, const void *arguments,
						      struct error *err)
{
	const attention_backward_arguments *a = (const attention_backward_arguments *)arguments;
	const struct attention_shape *s = &a->shape;
	cudaStream_t handle = cuda_stream_handle(stream);
	bool aligned = packs_aligned(a->q, a->k, a->v, a->d_o) &&
		       packs_aligned(a->dq, a->dk, a->dv, a->lse, a->delta);
	enum attention_path path;

	if (attention_check(s, err) != STATUS_OK)
		return err->status;
	if (is_empty(s))
		return STATUS_OK;
#define CALL(T) launch_delta<T>(a, handle)
	FOR_STORED_FLOATS(s->precision, CALL)
#undef CALL
	path = choose_path(stream, s, aligned);
	if (CUDA_HAS_WGMMA && path == PATH_WGMMA)
		return attention_wgmma_backward(stream, a, err);
	switch (path) {
	case PATH_MMA:
		s->precision == PRECISION_FP16 ? FOR_HEAD(backward_by_mma, half)
					       : FOR_HEAD(backward_by_mma, __nv_bfloat16);
		return cuda_check_path("attention_backward", "MMA", err);
	case PATH_WMMA:
		s->head_size <= 64 ? backward_by_wmma<64>(a, handle)
				   : backward_by_wmma<128>(a, handle);
		return cuda_check_path("attention_backward", "WMMA", err);
	default:
#define CALL(T) FOR_HEAD(backward_by_simt, T)
		FOR_STORED_FLOATS(s->precision, CALL)
#undef CALL
		return cuda_check_path("attention_backward", "SIMT", err);
	}
}
