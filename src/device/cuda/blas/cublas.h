/*
 * cuBLAS and cuBLASLt, opened on first use, and what their GEMMs share: types per precision,
 * scalars, and errors.
 */
#ifndef GPUPROOF_DEVICE_CUDA_BLAS_CUBLAS_H
#define GPUPROOF_DEVICE_CUDA_BLAS_CUBLAS_H

#include <cublasLt.h>
#include <cublas_v2.h>

#include "device/cuda/cuda_backend.h"
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
void blas_gemm_context_free(struct cublas_context *context);

enum status cublas_open(struct error *err);
/* For both: cuBLAS has the names of cuBLASLt's errors. */
enum status cublaslt_open(struct error *err);

/* Open the library and write its version to `out`, without a context; false if it is missing. */
bool cublas_version(char *out, size_t size);
bool cublaslt_version(char *out, size_t size);

struct gemm_types {
	cudaDataType_t operand, result, scale;
	cublasComputeType_t compute;
};

/* alpha and beta in the scale type; both libraries take pointers to them. */
struct gemm_scalars {
	union {
		double fp64;
		float fp32;
		uint16_t fp16;
		int32_t int32;
	} alpha, beta;
};

const struct gemm_types *cublas_types(enum precision precision);
/* Type of C. */
cudaDataType_t cublas_result_type(const struct gemm *gemm);
void cublas_scalars_of(const struct gemm *gemm, struct gemm_scalars *out);

/* STATUS_UNSUPPORTED if the device lacks the precision. */
enum status cublas_check_device(const struct device *device, const struct gemm *gemm,
				struct error *err);

/* STATUS_OK, or the failure of `call` with the library's name for `result`. */
enum status cublas_check(cublasStatus_t result, const char *call, struct error *err);
#define CUBLASLT_CALL(err, function, ...) \
	cublas_check(cublaslt.function(__VA_ARGS__), #function, err)

static inline int64_t cublas_batch(const struct gemm *gemm)
{
	return gemm->batch > 0 ? gemm->batch : 1;
}

#endif
