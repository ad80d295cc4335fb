/* Attention by the tensor cores of compute capability 9.0: see attention_wgmma.cuh. */
#include "kernels/attention/attention_wgmma.h"

#include "kernels/attention/attention_wgmma.cuh"
#include "kernels/attention/attention_problem.cuh"
#include "device/cuda/cuda_kernel.h"

extern "C" bool attention_wgmma_takes(const struct attention_shape *s)
{
	return (s->precision == PRECISION_FP16 || s->precision == PRECISION_BF16) &&
	       (s->head_size == 64 || s->head_size == 128);
}

/* A tensor of this shape, copied in boxes of 64 x `rows`. */
static bool encode(CUtensorMap *map, const struct attention_shape *s, const void *tensor,
		   uint64_t ld, unsigned rows)
{
	cuuint64_t sizes[3] = { (cuuint64_t)s->heads * s->head_size, s->sequence, s->batch };
	cuuint64_t strides[2] = { ld * 2, ld * s->sequence * 2 };
	cuuint32_t box[3] = { ATTENTION_LINE, rows, 1 };

	return tensor_map(map,
			  s->precision == PRECISION_FP16 ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16
							 : CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
			  tensor, 3, sizes, strides, box);
}

/* The boxes have `q_rows` of q and of do, `k_rows` of k and v. `d_o` may be NULL. */
static enum status encode_all(attention_maps *maps, const attention_problem &p, unsigned q_rows,
			      unsigned k_rows, struct error *err)
{
	const struct attention_shape *s = &p.shape;

	if (encode(&maps->q, s, p.q, s->ld_qkv, q_rows) &&
	    encode(&maps->k, s, p.k, s->ld_qkv, k_rows) &&
	    encode(&maps->v, s, p.v, s->ld_qkv, k_rows) &&
	    (!p.d_o || encode(&maps->d_o, s, p.d_o, s->ld_o, q_rows)))
		return STATUS_OK;
	return error_set(err, STATUS_DEVICE, "attention: the driver refuses a tensor map");
}

typedef void attention_kernel(const attention_problem p, const attention_maps maps);

static void launch(struct stream *stream, attention_kernel *kernel, const attention_problem &p,
		   const attention_maps &maps, int bytes)
{
	cudaStream_t handle = cuda_stream_handle(stream);

	cudaFuncSetAttribute((const void *)kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
			     bytes);
	kernel<<<attention_blocks(p), ATTENTION_THREADS, bytes, handle>>>(p, maps);
}

template <typename T, int HEAD>
static enum status forward(struct stream *stream, const attention_problem &p, struct error *err)
{
	attention_maps maps;

	if (encode_all(&maps, p, ATTENTION_ROWS, FORWARD_KEYS, err) != STATUS_OK)
		return err->status;
	launch(stream, attention_forward_wgmma<T, HEAD>, p, maps, forward_memory<HEAD>::BYTES);
	return cuda_check_path("attention_forward", "WGMMA", err);
}

template <typename T, int HEAD>
static enum status backward(struct stream *stream, const attention_problem &p, struct error *err)
{
	attention_maps maps;

	if (encode_all(&maps, p, BACKWARD_TILE, ATTENTION_ROWS, err) != STATUS_OK)
		return err->status;
	launch(stream, attention_keys_wgmma<T, HEAD>, p, maps, keys_memory<HEAD>::BYTES);
	if (encode_all(&maps, p, ATTENTION_ROWS, BACKWARD_TILE, err) != STATUS_OK)
		return err->status;
	launch(stream, attention_queries_wgmma<T, HEAD>, p, maps, queries_memory<HEAD>::BYTES);
	return cuda_check_path("attention_backward", "WGMMA", err);
}

#define FOR_TYPE_AND_HEAD(call)                                                       \
	(p.shape.precision == PRECISION_FP16                                          \
		 ? (p.shape.head_size == 64 ? call<half, 64>(stream, p, err)          \
					    : call<half, 128>(stream, p, err))        \
		 : (p.shape.head_size == 64 ? call<__nv_bfloat16, 64>(stream, p, err) \
					    : call<__nv_bfloat16, 128>(stream, p, err)))

extern "C" enum status attention_wgmma_forward(struct stream *stream,
					       const struct attention_forward_arguments *a,
					       struct error *err)
{
	attention_problem p = attention_problem_of(a, ATTENTION_ROWS);

	return FOR_TYPE_AND_HEAD(forward);
}

extern "C" enum status attention_wgmma_backward(struct stream *stream,
						const struct attention_backward_arguments *a,
						struct error *err)
{
	attention_problem p = attention_problem_of(a, ATTENTION_ROWS);

	return FOR_TYPE_AND_HEAD(backward);
}
