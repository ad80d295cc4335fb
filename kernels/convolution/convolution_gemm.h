/* The parts of convolution that are matrix products on any device: see convolution_gemm.cuh. */
#ifndef GPUPROOF_KERNELS_CONVOLUTION_GEMM_H
#define GPUPROOF_KERNELS_CONVOLUTION_GEMM_H

#include <cuda_runtime_api.h>

#include "kernels/convolution/convolution_problem.cuh"

/* By multiply-adds; `p` has the tensors of the pass. Weights: the parts of the sum, for both. */
void convolution_by_fma(const convolution_problem &p, enum convolution_pass pass,
			cudaStream_t stream);
/* By tensor cores (mma.sync): FP16 since compute capability 7.5, BF16 and TF32 since 8.0. */
void convolution_by_mma(const convolution_problem &p, enum convolution_pass pass,
			cudaStream_t stream);

#endif
