/* cuBLAS and cuBLASLt, opened on first use. */
#ifndef GPUPROOF_DEVICE_CUDA_BLAS_CUBLAS_H
#define GPUPROOF_DEVICE_CUDA_BLAS_CUBLAS_H

#include <cublasLt.h>
#include <cublas_v2.h>

#include "device/cuda/library.h"

struct cublas_functions {
#define CUBLAS(required, name) __typeof__(name) *name;
#include "device/cuda/blas/cublas.def"
#undef CUBLAS
};

struct cublaslt_functions {
#define CUBLASLT(required, name) __typeof__(name) *name;
#include "device/cuda/cublaslt.def"
#undef CUBLASLT
};

extern struct library cublas_library, cublaslt_library;
extern struct cublas_functions cublas;
extern struct cublaslt_functions cublaslt;

/* Frees the handle and workspace of a stream; NULL is allowed. */
struct cublas_context;
void blas_gemm_context_free(struct cublas_context *context);

enum status cublas_open(struct error *err);
/* For both: cuBLAS has the names of cuBLASLt's errors. */
enum status cublaslt_open(struct error *err);

/*
 * Writes the version to `out`, without a handle and so without a context. The library must be open.
 */
void cublas_version(char *out, size_t size);
void cublaslt_version(char *out, size_t size);

#endif
