/* Shared by cublasGemmEx and cuBLASLt: types per precision, scalars, and errors. */
#ifndef GPUPROOF_DEVICE_CUDA_BLAS_GEMM_TYPES_H
#define GPUPROOF_DEVICE_CUDA_BLAS_GEMM_TYPES_H

#include "device/cuda/blas/cublas.h"
#include "device/cuda/cuda_backend.h"

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

const struct gemm_types *gemm_types(enum precision precision);
/* Type of C. */
cudaDataType_t gemm_result_type(const struct gemm *gemm);
void gemm_types_scalars(const struct gemm *gemm, struct gemm_scalars *out);

/* STATUS_UNSUPPORTED if the device lacks the precision. */
enum status gemm_types_check_device(const struct device *device, const struct gemm *gemm,
				    struct error *err);

/* STATUS_OK, or the failure of `call` with the library's name for `result`. */
enum status gemm_types_check(cublasStatus_t result, const char *call, struct error *err);

static inline int64_t gemm_types_batch(const struct gemm *gemm)
{
	return gemm->batch > 0 ? gemm->batch : 1;
}

#endif
