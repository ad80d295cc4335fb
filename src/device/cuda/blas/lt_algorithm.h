/* Describes and varies algorithms of cuBLASLt. */
#ifndef GPUPROOF_DEVICE_CUDA_BLAS_LT_ALGORITHM_H
#define GPUPROOF_DEVICE_CUDA_BLAS_LT_ALGORITHM_H

#include <stdbool.h>

#include "device/cuda/blas/cublas.h"

/* "algorithm 66, tile 128x256, stages 128xAUTO, cluster 2x1, split-k 1, swizzle 1, option 3" */
void lt_algorithm_describe(const cublasLtMatmulAlgo_t *algorithm, char *out, size_t size);

/* Clusters of blocks that are tried in place of an algorithm's own. */
#define LT_CLUSTERS 6

/*
 * Makes a variant: with blocks assigned to tiles in the other order (`swizzle`), and with another
 * cluster of blocks (0 to LT_CLUSTERS - 1; -1: its own). False where that is nothing else; what is
 * made may be one the library refuses.
 */
bool lt_algorithm_vary(cublasLtMatmulAlgo_t *algorithm, bool swizzle, int cluster);

#endif
