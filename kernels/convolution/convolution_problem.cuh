/* A pass of a convolution as the kernels see it. */
#ifndef GPUPROOF_KERNELS_CONVOLUTION_PROBLEM_CUH
#define GPUPROOF_KERNELS_CONVOLUTION_PROBLEM_CUH

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

#endif
