/* A pass of a convolution as the kernels see it, and the products that carry it out. */
#ifndef GPUPROOF_KERNELS_CONVOLUTION_PROBLEM_CUH
#define GPUPROOF_KERNELS_CONVOLUTION_PROBLEM_CUH

#include <cuda_runtime_api.h>

#include "kernels/convolution/convolution.h"

enum convolution_pass { PASS_FORWARD, PASS_DATA, PASS_WEIGHTS };

struct convolution_problem {
	convolution_shape shape;
	int out_height, out_width;
	const void *image, *weights, *gradient; /* x, w, dy: those that the pass reads */
	void *out;                              /* y, dx or dw */
	float *parts;                           /* of dw's sums: part x weights */
};

static inline convolution_problem convolution_problem_of(const convolution_shape *shape)
{
	convolution_problem p = {};

	p.shape = *shape;
	p.out_height = (int)convolution_out_height(shape);
	p.out_width = (int)convolution_out_width(shape);
	return p;
}

/*
 * Pixels of the data's gradient with stride t are of t x t classes, (kind / t, kind % t) + t *
 * whole numbers, each of which is read by taps of its own and makes a dense convolution.
 */
struct class_taps {
	int y, x;        /* first pixel */
	int row, column; /* first tap; the others are `stride` apart */
	int rows, columns;
};

static __host__ __device__ __forceinline__ class_taps class_taps_of(const convolution_shape &s,
								    int kind)
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

/* True when the tensors can be copied by packs of `bytes`: 16, or 4. */
static inline bool packs_whole(const convolution_problem &p, unsigned bytes)
{
	unsigned elements = bytes / (unsigned)precision_bytes(p.shape.precision);

	return ((uintptr_t)p.image | (uintptr_t)p.weights | (uintptr_t)p.gradient) % bytes == 0 &&
	       p.shape.channels % elements == 0 && p.shape.filters % elements == 0;
}

/*
 * True when there are tiles of 128 columns: of what is copied by packs, by multiply-adds of FP32
 * alone. Registers lack for others.
 */
static inline bool convolution_fma_wide(const convolution_problem &p)
{
	return precision_bytes(p.shape.precision) == 4 && packs_whole(p, 16);
}
static inline bool convolution_mma_wide(const convolution_problem &p)
{
	return packs_whole(p, precision_bytes(p.shape.precision) == 4 ? 16 : 4);
}

/*
 * As matrix products by tiles of `columns`, 64 or 128; `p` has the tensors of the pass. Weights:
 * the parts of the sum. On any device by multiply-adds, or by tensor cores (mma.sync): FP16 since
 * compute capability 7.5, BF16 and TF32 since 8.0.
 */
enum status convolution_by_fma(struct stream *stream, const convolution_problem &p,
			       enum convolution_pass pass, int columns, struct error *err);
enum status convolution_by_mma(struct stream *stream, const convolution_problem &p,
			       enum convolution_pass pass, int columns, struct error *err);

/*
 * Forward by tensor cores as above, of FP16 and BF16 with up to 8 channels, of which `stride`
 * pixels have an even number, and up to 64 filters, a multiple of 8, whose rows fit a block's
 * shared memory.
 */
bool convolution_rows_takes(const struct stream *stream, const convolution_problem &p,
			    enum convolution_pass pass);
enum status convolution_by_rows(struct stream *stream, const convolution_problem &p,
				struct error *err);

/*
 * By the tensor cores of compute capability 9.0 (wgmma), for machine code of that alone; 64, 96,
 * 128, 192 or 256 columns, 0: what looks fastest. For FP16 and BF16 with channels and filters in
 * multiples of 8, for TF32 in multiples of 4 but not for the gradient of the weights; strides of 1
 * and 2. Addresses in multiples of 16 bytes are up to the caller.
 */
bool convolution_wgmma_takes(const convolution_shape &s, enum convolution_pass pass);
enum status convolution_by_wgmma(struct stream *stream, const convolution_problem &p,
				 enum convolution_pass pass, int columns, struct error *err);

#endif
