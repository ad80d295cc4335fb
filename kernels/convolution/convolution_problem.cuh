/* Arguments of a convolution pass for the kernels, and the functions that run it. */
#ifndef GPUPROOF_KERNELS_CONVOLUTION_PROBLEM_CUH
#define GPUPROOF_KERNELS_CONVOLUTION_PROBLEM_CUH

#include <cuda_runtime_api.h>

#include "kernels/convolution/convolution.h"

struct convolution_problem {
	convolution_shape shape;
	int out_height, out_width;
	const void *image, *weights, *gradient; /* x, w, dy: the inputs of the pass */
	void *out;                              /* y, dx or dw */
	float *parts;                           /* partial sums of dw: part x weights */
};

static inline convolution_problem convolution_problem_of(const convolution_shape *shape)
{
	convolution_problem p = {};

	p.shape = *shape;
	p.out_height = (int)kernel_convolution_out_height(shape);
	p.out_width = (int)kernel_convolution_out_width(shape);
	return p;
}

/*
 * With stride t, pixels of the data gradient form t x t classes, (kind / t, kind % t) + t *
 * integers. Each class is read by its own taps and is a dense convolution.
 */
struct class_taps {
	int y, x;        /* first pixel */
	int row, column; /* first tap; the distance of taps is `stride` */
	int rows, columns;
};

static __host__ __device__ __forceinline__ class_taps
convolution_problem_class_taps_of(const convolution_shape &s, int kind)
{
	int stride = s.stride, y = kind / stride, x = kind % stride;
	int row = (y + (int)s.padding) % stride, column = (x + (int)s.padding) % stride;

	return { y,
		 x,
		 row,
		 column,
		 ((int)s.kernel_height - row + stride - 1) / stride,
		 ((int)s.kernel_width - column + stride - 1) / stride };
}

/* True if the tensors can be copied in packs of `bytes`: 16, or 4. */
static inline bool convolution_problem_packs_whole(const convolution_problem &p, unsigned bytes)
{
	unsigned elements = bytes / (unsigned)precision_bytes(p.shape.precision);

	return ((uintptr_t)p.image | (uintptr_t)p.weights | (uintptr_t)p.gradient) % bytes == 0 &&
	       p.shape.channels % elements == 0 && p.shape.filters % elements == 0;
}

/* True if there are tiles of 128 columns: only for FP32 copied in packs. Others lack registers. */
static inline bool convolution_problem_fma_wide(const convolution_problem &p)
{
	return precision_bytes(p.shape.precision) == 4 && convolution_problem_packs_whole(p, 16);
}
static inline bool convolution_problem_mma_wide(const convolution_problem &p)
{
	return convolution_problem_packs_whole(p, precision_bytes(p.shape.precision) == 4 ? 16 : 4);
}

/*
 * Convolution as a GEMM with tiles of `columns`, 64 or 128; `p` has the tensors of the pass.
 * Weights: the parts of the sum. convolution_by_fma works on any device; tensor cores (mma.sync)
 * support FP16 from compute capability 7.5, BF16 and TF32 from 8.0.
 */
enum status convolution_by_fma(struct stream *stream, const convolution_problem &p,
			       enum convolution_pass pass, int columns, struct error *err);
enum status convolution_by_mma(struct stream *stream, const convolution_problem &p,
			       enum convolution_pass pass, int columns, struct error *err);

/*
 * Forward pass with these tensor cores for FP16 and BF16 with up to 8 channels, where `stride`
 * pixels have an even number of them, and up to 64 filters, a multiple of 8, whose rows fit into a
 * block's shared memory.
 */
bool convolution_rows_takes(const struct stream *stream, const convolution_problem &p,
			    enum convolution_pass pass);
enum status convolution_by_rows(struct stream *stream, const convolution_problem &p,
				struct error *err);

#endif
