#include "device/cuda/blas/gemm_types.h"

#include "kernels/half.h"

static const struct gemm_types types[PRECISION_GEMM_COUNT] = {
	[PRECISION_FP64] = { CUDA_R_64F, CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F },
	[PRECISION_FP32] = { CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F },
	[PRECISION_TF32] = { CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32 },
	[PRECISION_FP16] = { CUDA_R_16F, CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_32F },
	[PRECISION_BF16] = { CUDA_R_16BF, CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F },
	[PRECISION_FP16_ACC16] = { CUDA_R_16F, CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_16F },
	[PRECISION_FP8] = { CUDA_R_8F_E4M3, CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_32F },
	[PRECISION_INT8] = { CUDA_R_8I, CUDA_R_32I, CUDA_R_32I, CUBLAS_COMPUTE_32I },
};

const struct gemm_types *gemm_types(enum precision precision)
{
	return &types[precision];
}

cudaDataType_t gemm_result_type(const struct gemm *gemm)
{
	return gemm->wide ? CUDA_R_32F : types[gemm->precision].result;
}

void gemm_types_scalars(const struct gemm *gemm, struct gemm_scalars *out)
{
	switch (types[gemm->precision].scale) {
	case CUDA_R_64F:
		out->alpha.fp64 = gemm->alpha;
		out->beta.fp64 = gemm->beta;
		break;
	case CUDA_R_16F:
		out->alpha.fp16 = half_from_double(gemm->alpha);
		out->beta.fp16 = half_from_double(gemm->beta);
		break;
	case CUDA_R_32I:
		out->alpha.int32 = (int32_t)gemm->alpha;
		out->beta.int32 = (int32_t)gemm->beta;
		break;
	default:
		out->alpha.fp32 = (float)gemm->alpha;
		out->beta.fp32 = (float)gemm->beta;
	}
}

enum status gemm_types_check_device(const struct device *device, const struct gemm *gemm,
				    struct error *err)
{
	if (gemm->wide && gemm->precision != PRECISION_FP16 && gemm->precision != PRECISION_BF16 &&
	    gemm->precision != PRECISION_FP8)
		return error_set(err, STATUS_INTERNAL,
				 "only FP16, BF16 and FP8 GEMMs can have wide results");
	if (device->info.capabilities & precision_capability(gemm->precision))
		return STATUS_OK;
	return error_set(err, STATUS_UNSUPPORTED,
			 "%s (%s, compute capability %d.%d) has no %s GEMM", device->info.id,
			 device->info.name, device->info.capability_major,
			 device->info.capability_minor, precision_name(gemm->precision));
}

enum status gemm_types_check(cublasStatus_t result, const char *call, struct error *err)
{
	enum status status = STATUS_DEVICE;

	if (result == CUBLAS_STATUS_SUCCESS)
		return STATUS_OK;
	if (result == CUBLAS_STATUS_ALLOC_FAILED)
		status = STATUS_NO_MEMORY;
	else if (result == CUBLAS_STATUS_NOT_SUPPORTED || result == CUBLAS_STATUS_ARCH_MISMATCH)
		status = STATUS_UNSUPPORTED;
	cudaGetLastError();
	return error_set(err, status, "%s: %s: %s", call, cublas.cublasGetStatusName(result),
			 cublas.cublasGetStatusString(result));
}
