/* How an algorithm of cuBLASLt is put into words, and varied. */
#ifndef GPUPROOF_DEVICE_CUDA_LT_ALGORITHM_H
#define GPUPROOF_DEVICE_CUDA_LT_ALGORITHM_H

#include <stdbool.h>

#include "device/cuda/cublas.h"

/* "algorithm 66, tile 128x256, stages 128xAUTO, cluster 2x1, split-k 1, swizzle 1, option 3" */
void lt_algorithm_describe(const cublasLtMatmulAlgo_t *algorithm, char *out, size_t size);

/* Assigns blocks to tiles in the other order; false where the algorithm has but one. */
bool lt_algorithm_swizzle(cublasLtMatmulAlgo_t *algorithm);

#endif
