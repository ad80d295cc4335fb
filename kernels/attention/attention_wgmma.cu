/* Attention with the tensor cores of compute capability 9.0: see attention_wgmma.cuh. */
#include "kernels/attention/attention_wgmma.cuh"

#include "kernels/attention/attention_problem.cuh"
#include "device/cuda/cuda_kernel.h"

extern "C" bool attention_wgmma_takes(const struct attention_shape *s)
{
	return (s->precision == PRECISION_FP16 || s->precision == PRECISION_BF16) &&
	       s->head_size <= ATTENTION_HEAD_MAX;
}

/* TMA map of a tensor of this shape, copied in boxes of 64 elements of one head x `rows`. */
static bool attention_wgmma_encode(CUtensorMap *map, const struct attention_shape *s,
				   const void *tensor, uint64_t ld, unsigned rows)
{
	cuuint64_t sizes[4] = { s->head_size, s->heads, s->sequence, s->batch };
	cuuint64_t strides[3] = { s->head_size * 2, ld * 2, ld * s->sequence * 2 };
	cuuint32_t box[4] = { ATTENTION_LINE, 1, rows, 1 };

	return tma_tensor_map(map,
			      s->precision == PRECISION_FP16 ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16
							     : CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
			      tensor, sizes, strides, box);
}

/* The boxes have `q_rows` of q and do, `k_rows` of k and v. `d_o` may be NULL. */
static enum status attention_wgmma_encode_all(attention_maps *maps, const attention_problem &p,
					      unsigned q_rows, unsigned k_rows, struct error *err)
{
	const struct attention_shape *s = &p.shape;

	if (attention_wgmma_encode(&maps->q, s, p.q, s->ld_qkv, q_rows) &&
	    attention_wgmma_encode(&maps->k, s, p.k, s->ld_qkv, k_rows) &&
	    attention_wgmma_encode(&maps->v, s, p.v, s->ld_qkv, k_rows) &&
	    (!p.d_o || attention_wgmma_encode(&maps->d_o, s, p.d_o, s->ld_o, q_rows)))
		return STATUS_OK;
	return error_set(err, STATUS_DEVICE, "attention: the driver refuses a tensor map");
}

typedef void attention_kernel(const attention_problem p, const attention_maps maps);

static enum status attention_wgmma_launch(struct stream *stream, attention_kernel *kernel,
					  const attention_problem &p, const attention_maps &maps,
					  int bytes, const char *operation, struct error *err)
{
	cudaStream_t handle = cuda_stream_handle(stream);

	if (cuda_stream_shared_memory(stream, (const void *)kernel, bytes, err) != STATUS_OK)
		return err->status;
	kernel<<<attention_problem_blocks(p), ATTENTION_THREADS, bytes, handle>>>(p, maps);
	return cuda_device_check_path(operation, "WGMMA", err);
}

template <typename T, int HEAD>
static enum status attention_wgmma_launch_forward(struct stream *stream, const attention_problem &p,
						  struct error *err)
{
	attention_maps maps;

	if (attention_wgmma_encode_all(&maps, p, ATTENTION_ROWS, FORWARD_KEYS, err) != STATUS_OK)
		return err->status;
	return attention_wgmma_launch(stream, attention_forward_wgmma<T, HEAD>, p, maps,
				      forward_memory<HEAD>::BYTES, "attention_forward", err);
}

template <typename T, int HEAD>
static enum status attention_wgmma_launch_backward(struct stream *stream,
						   const attention_problem &p, struct error *err)
{
	attention_maps maps;

	if (attention_wgmma_encode_all(&maps, p, BACKWARD_TILE(HEAD), ATTENTION_ROWS, err) !=
		    STATUS_OK ||
	    attention_wgmma_launch(stream, attention_dkdv_wgmma<T, HEAD>, p, maps,
				   dkdv_memory<HEAD>::BYTES, "attention_backward",
				   err) != STATUS_OK ||
	    attention_wgmma_encode_all(&maps, p, ATTENTION_ROWS, BACKWARD_TILE(HEAD), err) !=
		    STATUS_OK)
		return err->status;
	return attention_wgmma_launch(stream, attention_dq_wgmma<T, HEAD>, p, maps,
				      dq_memory<HEAD>::BYTES, "attention_backward", err);
}

/* Uses the smallest multiple of 16 from 64 to 128 that holds the head. */
#define FOR_HEAD(call, T)                                          \
	(p.shape.head_size <= 64    ? call<T, 64>(stream, p, err)  \
	 : p.shape.head_size <= 80  ? call<T, 80>(stream, p, err)  \
	 : p.shape.head_size <= 96  ? call<T, 96>(stream, p, err)  \
	 : p.shape.head_size <= 112 ? call<T, 112>(stream, p, err) \
				    : call<T, 128>(stream, p, err))
#define FOR_TYPE_AND_HEAD(call) \
	(p.shape.precision == PRECISION_FP16 ? FOR_HEAD(call, half) : FOR_HEAD(call, __nv_bfloat16))

extern "C" enum status attention_wgmma_forward(struct stream *stream,
					       const struct attention_forward_arguments *a,
					       struct error *err)
{
	attention_problem p = attention_problem_of(a, ATTENTION_ROWS);

	return FOR_TYPE_AND_HEAD(attention_wgmma_launch_forward);
}

extern "C" enum status attention_wgmma_backward(struct stream *stream,
						const struct attention_backward_arguments *a,
						struct error *err)
{
	attention_problem p = attention_problem_of(a, ATTENTION_ROWS);

	return FOR_TYPE_AND_HEAD(attention_wgmma_launch_backward);
}
