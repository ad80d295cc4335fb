/* GEMM on the tensor cores of compute capability 9.0: see gemm_wgmma.cuh. */
#include "kernels/gemm/gemm_wgmma.h"

#include "kernels/gemm/gemm.h"
#include "kernels/gemm/gemm_wgmma.cuh"
#include "device/cuda/cuda_kernel.h"

extern "C" bool gemm_wgmma_takes(const struct gemm *g)
{
	/* Strides of a batch only have to preserve the alignment of addresses. */
	int64_t misfit = g->lda % 8 | g->ldb % 8;

	if (g->batch > 1)
		misfit |= g->stride_a % 8 | g->stride_b % 8;
	return misfit == 0 && g->k > 0 && (((uintptr_t)g->a | (uintptr_t)g->b) & 15) == 0;
}

/* TMA map of a matrix of `lines` lines of `length` elements, copied in boxes of 64 x `height`. */
static bool encode(CUtensorMap *map, CUtensorMapDataType type, const void *matrix, int64_t length,
		   int64_t lines, int64_t ld, unsigned height)
{
	cuuint64_t sizes[2] = { (cuuint64_t)length, (cuuint64_t)lines },
		   strides[1] = { (cuuint64_t)ld * 2 };
	cuuint32_t box[2] = { WGMMA_LINE, height };

	return tensor_map(map, type, matrix, 2, sizes, strides, box);
}

template <typename T>
static enum status launch(struct stream *stream, const struct gemm *g, CUtensorMapDataType type,
			  int64_t i, struct error *err)
{
	cudaStream_t handle = cuda_stream_handle(stream);
	wgmma_problem p = { (T *)g->c + i * g->stride_c,
			    (int)g->m,
			    (int)g->n,
			    (int)g->k,
			    g->ldc,
			    (float)g->alpha,
			    (float)g->beta };
	CUtensorMap map_a, map_b;

	if (!encode(&map_a, type, (const T *)g->a + i * g->stride_a, g->m, g->k, g->lda,
		    WGMMA_TILE_K) ||
	    !encode(&map_b, type, (const T *)g->b + i * g->stride_b, g->k, g->n, g->ldb,
		    WGMMA_TILE_N))
		return error_set(err, STATUS_DEVICE,
				 "gemm_tensor: the driver refuses a tensor map");
	if (cuda_shared_memory(stream, (const void *)gemm_wgmma<T>, WGMMA_SHARED_BYTES, err) !=
	    STATUS_OK)
		return err->status;
	gemm_wgmma<T><<<(unsigned)cuda_stream_multiprocessors(stream), WGMMA_THREADS,
			WGMMA_SHARED_BYTES, handle>>>(p, map_a, map_b);
	return cuda_check_path("gemm_tensor", "WGMMA", err);
}

extern "C" enum status gemm_wgmma_launch(struct stream *stream, const struct gemm *g,
					 struct error *err)
{
	for (int64_t i = 0; i < (g->batch > 0 ? g->batch : 1); i++)
		if ((g->precision == PRECISION_FP16
			     ? launch<half>(stream, g, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, i, err)
			     : launch<__nv_bfloat16>(stream, g, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, i,
						     err)) != STATUS_OK)
			return err->status;
	return STATUS_OK;
}
