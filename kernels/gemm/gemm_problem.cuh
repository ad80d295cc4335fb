/* Arguments of the GEMM kernels, from a struct gemm, their launch, and a block's tile. */
#ifndef GPUPROOF_KERNELS_GEMM_PROBLEM_CUH
#define GPUPROOF_KERNELS_GEMM_PROBLEM_CUH

#include <stdint.h>

#include "kernels/gemm/async_copy.cuh"
#include "kernels/gemm/gemm.h"

/* T: type of the elements; void if one kernel supports several types. */
template <typename T> struct gemm_problem {
	const T *a, *b;
	T *c;
	int m, n, k;
	int64_t lda, ldb, ldc;
	int64_t stride_a, stride_b, stride_c;
	float alpha, beta;
};

/* For a GEMM that gemm_kernel_check() has accepted. */
template <typename T> static gemm_problem<T> gemm_problem_of(const struct gemm *g)
{
	gemm_problem<T> p = { (const T *)g->a, (const T *)g->b, (T *)g->c,   (int)g->m,
			      (int)g->n,       (int)g->k,       g->lda,      g->ldb,
			      g->ldc,          g->stride_a,     g->stride_b, g->stride_c,
			      (float)g->alpha, (float)g->beta };

	return p;
}

static inline unsigned gemm_problem_batch(const struct gemm *g)
{
	return g->batch > 0 ? (unsigned)g->batch : 1;
}

/* One block per tile of `rows` x `columns` and per GEMM of the batch. */
static inline dim3 gemm_problem_grid(const struct gemm *g, int rows, int columns)
{
	return dim3((unsigned)((g->m + rows - 1) / rows) *
			    (unsigned)((g->n + columns - 1) / columns),
		    1, gemm_problem_batch(g));
}

/* True if C has no elements; a grid without blocks cannot be launched. */
static inline bool gemm_problem_is_empty(const struct gemm *g)
{
	return g->m == 0 || g->n == 0;
}

#define TILE_GROUP 8

/*
 * First row and column of C of this block's tile, and the matrices of its GEMM of the batch.
 * Threadblock swizzle: concurrent blocks cover a roughly square patch, so that they share A and B
 * in L2. T: type of the elements.
 */
template <typename T, typename P>
static __device__ __forceinline__ void gemm_problem_tile(gemm_problem<P> *p, int height, int width,
							 int *row, int *column)
{
	int rows = (p->m + height - 1) / height, columns = (p->n + width - 1) / width;
	int group = blockIdx.x / (TILE_GROUP * columns), first = group * TILE_GROUP;
	int down = rows - first < TILE_GROUP ? rows - first : TILE_GROUP;
	int within = blockIdx.x - first * columns;

	*row = (first + within % down) * height;
	*column = within / down * width;
	p->a = (const T *)p->a + blockIdx.z * p->stride_a;
	p->b = (const T *)p->b + blockIdx.z * p->stride_b;
	p->c = (T *)p->c + blockIdx.z * p->stride_c;
}

/*
 * Copies eight elements of a 16-bit type to shared memory. Elements outside the matrix are not
 * read. Without WIDE, the elements are copied one by one and synchronously.
 */
template <typename T, bool WIDE>
static __device__ __forceinline__ void
gemm_problem_load_eight(T *to, const T *matrix, int64_t ld, int line, int lines, int at, int length)
{
	if (WIDE) {
		bool in = line < lines && at < length;

		copy_async<16>(to, in ? matrix + line * ld + at : matrix, in);
	} else {
#pragma unroll
		for (int i = 0; i < 8; i++)
			to[i] = line < lines && at + i < length ? matrix[line * ld + at + i]
								: T(0.0f);
	}
}

#endif
