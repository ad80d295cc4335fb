/* State of cuBLAS and cuBLASLt for a stream; freed with it. */
#ifndef GPUPROOF_DEVICE_CUDA_BLAS_CONTEXTS_H
#define GPUPROOF_DEVICE_CUDA_BLAS_CONTEXTS_H

struct cublas_context; /* gemm.c */
struct lt_context;     /* lt.h */

void cublas_context_free(struct cublas_context *context);
void lt_context_free(struct lt_context *context);

#endif
