/* Arguments of the GEMM kernels, from a struct gemm, and their launch. */
#ifndef GPUPROOF_KERNELS_GEMM_PROBLEM_CUH
#define GPUPROOF_KERNELS_GEMM_PROBLEM_CUH

#include <stdint.h>

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

#endif
