/* Matrix products through cuBLASLt, by the algorithm that a search chose. */
#ifndef GPUPROOF_DEVICE_CUDA_LT_H
#define GPUPROOF_DEVICE_CUDA_LT_H

#include "device/cuda/cuda_backend.h"

/* The product that cuda_gemm_search() was last asked for on this stream; another shape is STATUS_INTERNAL. */
enum status lt_multiply(struct cuda_stream *stream, const struct gemm *gemm, struct error *err);

#endif
