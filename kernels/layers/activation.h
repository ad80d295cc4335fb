/* Activations and their derivatives, with the same formulas on host and devices. */
#ifndef GPUPROOF_KERNELS_LAYERS_ACTIVATION_H
#define GPUPROOF_KERNELS_LAYERS_ACTIVATION_H

#include <math.h>

#include "kernels/layers/layers.h"

#ifdef __CUDACC__
#define ACTIVATION_FUNCTION static __host__ __device__ __forceinline__
#else
#define ACTIVATION_FUNCTION static inline
#endif

#define GELU_SQRT_2_OVER_PI 0.7978845608028654f
#define GELU_CUBE 0.044715f

/* NaN stays NaN in both, so that it is noticed. */
ACTIVATION_FUNCTION float activation_value(enum activation activation, float x)
{
	if (activation == ACTIVATION_RELU)
		return x < 0 ? 0 : x;
	return 0.5f * x * (1 + tanhf(GELU_SQRT_2_OVER_PI * (x + GELU_CUBE * x * x * x)));
}

/* dy * f'(x); ReLU's derivative at 0 is 0. */
ACTIVATION_FUNCTION float activation_gradient(enum activation activation, float x, float dy)
{
	float t;

	if (activation == ACTIVATION_RELU)
		return x > 0 ? dy : 0;
	t = tanhf(GELU_SQRT_2_OVER_PI * (x + GELU_CUBE * x * x * x));
	return dy * (0.5f * (1 + t) +
		     0.5f * x * (1 - t * t) * GELU_SQRT_2_OVER_PI * (1 + 3 * GELU_CUBE * x * x));
}

#endif
