/*
 * Fused attention: see attention.h. Compute capability 9.0 has its own code (attention_wgmma.cu).
 */
#include "kernels/attention/attention.h"

#include "kernels/attention/attention_mma.cuh"
#include "kernels/attention/attention_problem.cuh"
#include "kernels/attention/attention_simt.cuh"
#include "kernels/attention/attention_wmma.cuh"
#include "device/cuda/cuda_kernel.h"

#define DELTA_THREADS 256

enum attention_path { PATH_SIMT, PATH_WMMA, PATH_MMA, PATH_WGMMA };

/* Tensor cores read FP16 and BF16 in pieces of 16 bytes. */
static enum attention_path kernel_attention_choose_path(const struct stream *stream,
							const struct attention_shape *s,
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
static enum status kernel_attention_launch_mma(struct stream *stream, attention_kernel *kernel,
					       const attention_problem &p, int bytes,
					       struct error *err)
{
	cudaStream_t handle = cuda_stream_handle(stream);

	if (cuda_stream_shared_memory(stream, (const void *)kernel, bytes, err) != STATUS_OK)
		return err->status;
	kernel<<<attention_problem_blocks(p), MMA_THREADS, bytes, handle>>>(p);
	return STATUS_OK;
}

template <typename T, int HEAD>
static enum status kernel_attention_forward_by_wmma(struct stream *stream,
						    const attention_forward_arguments *a,
						    struct error *err)
{
	return kernel_attention_launch_mma(stream, attention_forward_wmma<HEAD>,
					   attention_problem_of(a, WMMA_TILE),
					   WMMA_SHARED_BYTES(HEAD, 3), err);
}

template <typename T, int HEAD>
static enum status kernel_attention_backward_by_wmma(struct stream *stream,
						     const attention_backward_arguments *a,
						     struct error *err)
{
	attention_problem p = attention_problem_of(a, WMMA_TILE);
	const int bytes = WMMA_SHARED_BYTES(HEAD, 4);

	if (kernel_attention_launch_mma(stream, attention_dkdv_wmma<HEAD>, p, bytes, err) !=
	    STATUS_OK)
		return err->status;
	return kernel_attention_launch_mma(stream, attention_dq_wmma<HEAD>, p, bytes, err);
}

template <typename T, int HEAD>
static enum status kernel_attention_forward_by_mma(struct stream *stream,
						   const attention_forward_arguments *a,
						   struct error *err)
{
	return kernel_attention_launch_mma(stream, attention_forward_mma<T, HEAD>,
					   attention_problem_of(a, MMA_TILE),
					   MMA_SHARED_BYTES(HEAD, 3), err);
}

template <typename T, int HEAD>
static enum status kernel_attention_backward_by_mma(struct stream *stream,
						    const attention_backward_arguments *a,
						    struct error *err)
{
	attention_problem p = attention_problem_of(a, MMA_TILE);
	const int bytes = MMA_SHARED_BYTES(HEAD, 4);

	if (kernel_attention_launch_mma(stream, attention_dkdv_mma<T, HEAD>, p, bytes, err) !=
	    STATUS_OK)
		return err->status;
	return kernel_attention_launch_mma(stream, attention_dq_mma<T, HEAD>, p, bytes, err);
}

template <typename T, int HEAD>
static enum status kernel_attention_forward_by_simt(struct stream *stream,
						    const attention_forward_arguments *a,
						    struct error *)
{
	cudaStream_t handle = cuda_stream_handle(stream);
	attention_problem p = attention_problem_of(a, SIMT_TILE);

	attention_forward_simt<T, HEAD>
		<<<attention_problem_blocks(p), SIMT_THREADS, 0, handle>>>(p);
	return STATUS_OK;
}

template <typename T, int HEAD>
static enum status kernel_attention_backward_by_simt(struct stream *stream,
						     const attention_backward_arguments *a,
						     struct error *)
{
	cudaStream_t handle = cuda_stream_handle(stream);
	attention_problem p = attention_problem_of(a, SIMT_TILE);

	attention_dkdv_simt<T, HEAD><<<attention_problem_blocks(p), SIMT_THREADS, 0, handle>>>(p);
	attention_dq_simt<T, HEAD><<<attention_problem_blocks(p), SIMT_THREADS, 0, handle>>>(p);
	return STATUS_OK;
}

template <typename T>
static void kernel_attention_launch_delta(const attention_backward_arguments *a,
					  cudaStream_t stream)
{
	uint64_t values = kernel_attention_row_values(&a->shape);
	unsigned blocks = (unsigned)((values * 32 + DELTA_THREADS - 1) / DELTA_THREADS);

	attention_simt_delta<T>
		<<<blocks, DELTA_THREADS, 0, stream>>>(attention_problem_of(a, MMA_TILE),
						       kernel_attention_padded(a->shape.sequence),
						       values);
}

static bool kernel_attention_is_empty(const struct attention_shape *s)
{
	return s->batch == 0 || s->heads == 0 || s->sequence == 0;
}

/* call<T, HEAD>() for the head's size. */
#define FOR_HEAD(call, T) \
	(s->head_size <= 64 ? call<T, 64>(stream, a, err) : call<T, 128>(stream, a, err))
/*
 * Calls the path, which is not PATH_WGMMA; `name`: what was launched. CALL(T): the path without
 * tensor cores.
 */
#define FOR_PATH(direction)                                                               \
	switch (path) {                                                                   \
	case PATH_MMA:                                                                    \
		name = "MMA";                                                             \
		s->precision == PRECISION_FP16                                            \
			? FOR_HEAD(kernel_attention_##direction##_by_mma, half)           \
			: FOR_HEAD(kernel_attention_##direction##_by_mma, __nv_bfloat16); \
		break;                                                                    \
	case PATH_WMMA:                                                                   \
		name = "WMMA";                                                            \
		FOR_HEAD(kernel_attention_##direction##_by_wmma, half);                   \
		break;                                                                    \
	default:                                                                          \
		FOR_STORED_FLOATS(s->precision, CALL)                                     \
	}

extern "C" enum status kernel_cuda_attention_forward(struct stream *stream, const void *arguments,
						     struct error *err)
{
	const attention_forward_arguments *a = (const attention_forward_arguments *)arguments;
	const struct attention_shape *s = &a->shape;
	enum attention_path path;
	const char *name = "SIMT";

	if (kernel_attention_check(s, err) != STATUS_OK)
		return err->status;
	if (kernel_attention_is_empty(s))
		return STATUS_OK;
	path = kernel_attention_choose_path(stream, s,
					    storage_packs_aligned(a->q, a->k, a->v, a->o));
	/* Not a case below: modules without WGMMA lack this function. */
	if (CUDA_HAS_WGMMA && path == PATH_WGMMA)
		return attention_wgmma_forward(stream, a, err);
#define CALL(T) FOR_HEAD(kernel_attention_forward_by_simt, T)
	FOR_PATH(forward)
#undef CALL
	if (err->status != STATUS_OK)
		return err->status;
	return cuda_device_check_path("attention_forward", name, err);
}

extern "C" enum status kernel_cuda_attention_backward(struct stream *stream, const void *arguments,
						      struct error *err)
{
	const attention_backward_arguments *a = (const attention_backward_arguments *)arguments;
	const struct attention_shape *s = &a->shape;
	cudaStream_t handle = cuda_stream_handle(stream);
	bool aligned = storage_packs_aligned(a->q, a->k, a->v, a->d_o) &&
		       storage_packs_aligned(a->dq, a->dk, a->dv, a->lse, a->delta);
	enum attention_path path;
	const char *name = "SIMT";

	if (kernel_attention_check(s, err) != STATUS_OK)
		return err->status;
	if (kernel_attention_is_empty(s))
		return STATUS_OK;
#define CALL(T) kernel_attention_launch_delta<T>(a, handle)
	FOR_STORED_FLOATS(s->precision, CALL)
#undef CALL
	path = kernel_attention_choose_path(stream, s, aligned);
	if (CUDA_HAS_WGMMA && path == PATH_WGMMA)
		return attention_wgmma_backward(stream, a, err);
#define CALL(T) FOR_HEAD(kernel_attention_backward_by_simt, T)
	FOR_PATH(backward)
#undef CALL
	if (err->status != STATUS_OK)
		return err->status;
	return cuda_device_check_path("attention_backward", name, err);
}
