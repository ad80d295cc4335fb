/* Matrix products through cublasGemmEx. */
#include "device/cuda/cuda_backend.h"

#include <limits.h>
#include <stdlib.h>

#include "base/memory.h"
#include "device/cuda/cublas.h"

/*
 * One handle and one workspace per stream: products of two streams may run at the same time, and
 * cuBLAS' own workspace would grow behind the back of what is reported.
 */
struct cublas_context {
	cublasHandle_t handle;
	void *workspace;
};

/* How a precision is stored and multiplied. */
static const struct {
	cudaDataType_t storage;
	cublasComputeType_t compute;
	unsigned capability; /* what the device must have */
} precisions[PRECISION_COUNT] = {
	[PRECISION_FP64] = { CUDA_R_64F, CUBLAS_COMPUTE_64F, DEVICE_HAS_FP64 },
	[PRECISION_FP32] = { CUDA_R_32F, CUBLAS_COMPUTE_32F, DEVICE_HAS_FP32 },
	[PRECISION_TF32] = { CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32, DEVICE_HAS_TF32 },
	[PRECISION_FP16] = { CUDA_R_16F, CUBLAS_COMPUTE_32F, DEVICE_HAS_FP16 },
	[PRECISION_BF16] = { CUDA_R_16BF, CUBLAS_COMPUTE_32F, DEVICE_HAS_BF16 },
};

static enum status check(cublasStatus_t result, const char *call, struct error *err)
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

/* What NVIDIA advises since Hopper, and cuBLAS' own default before. */
size_t cuda_gemm_workspace(struct device *device)
{
	return (size_t)(device->info.capability_major >= 9 ? 32 : 4) << 20;
}

void cublas_context_free(struct cublas_context *context)
{
	if (!context)
		return;
	if (context->handle)
		cublas.cublasDestroy_v2(context->handle);
	cudaFree(context->workspace);
	cudaGetLastError();
	free(context);
}

static enum status context_new(struct cuda_stream *stream, struct cublas_context **out,
			       struct error *err)
{
	size_t workspace = cuda_gemm_workspace(stream->base.device);
	struct cublas_context *context;
	enum status status = cublas_open(err);

	if (status != STATUS_OK)
		return status;
	context = xcalloc(1, sizeof(*context));
	status = cuda_check_size(cudaMalloc(&context->workspace, workspace),
				 "cudaMalloc for cuBLAS' workspace", workspace, err);
	if (status == STATUS_OK)
		status = check(cublas.cublasCreate_v2(&context->handle), "cublasCreate", err);
	/* In this order: setting the stream puts cuBLAS' own workspace back. */
	if (status == STATUS_OK)
		status = check(cublas.cublasSetStream_v2(context->handle, stream->handle),
			       "cublasSetStream", err);
	if (status == STATUS_OK)
		status = check(cublas.cublasSetWorkspace_v2(context->handle, context->workspace,
							    workspace),
			       "cublasSetWorkspace", err);
	/*
	 * By default cuBLAS may add up the parts of a long sum in the storage format: on an H200 the
	 * FP16 and BF16 products then miss the bound of FP32 accumulation.
	 */
	if (status == STATUS_OK)
		status = check(
			cublas.cublasSetMathMode(context->handle,
						 CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION),
			"cublasSetMathMode", err);
	if (status != STATUS_OK) {
		cublas_context_free(context);
		return status;
	}
	*out = context;
	return STATUS_OK;
}

static bool fits_int(int64_t a, int64_t b, int64_t c)
{
	return a >= 0 && b >= 0 && c >= 0 && a <= INT_MAX && b <= INT_MAX && c <= INT_MAX;
}

static enum status check_request(const struct device *device, const struct gemm *gemm,
				 struct error *err)
{
	if (!(device->info.capabilities & precisions[gemm->precision].capability))
		return error_set(err, STATUS_UNSUPPORTED,
				 "%s (%s, compute capability %d.%d) has no %s matrix product",
				 device->info.id, device->info.name, device->info.capability_major,
				 device->info.capability_minor, precision_name(gemm->precision));
	if (!fits_int(gemm->m, gemm->n, gemm->k) || !fits_int(gemm->lda, gemm->ldb, gemm->ldc))
		return error_set(err, STATUS_UNSUPPORTED,
				 "cublasGemmEx takes sizes up to %d; asked for %lld x %lld x %lld",
				 INT_MAX, (long long)gemm->m, (long long)gemm->n,
				 (long long)gemm->k);
	return STATUS_OK;
}

enum status cuda_gemm(struct stream *stream, const struct gemm *gemm, struct error *err)
{
	struct cuda_stream *s = (struct cuda_stream *)stream;
	cudaDataType_t storage = precisions[gemm->precision].storage;
	float alpha = (float)gemm->alpha, beta = (float)gemm->beta;
	bool wide = gemm->precision == PRECISION_FP64;
	enum status status = check_request(stream->device, gemm, err);

	if (status == STATUS_OK)
		status = cuda_use(stream->device, err);
	if (status == STATUS_OK && !s->cublas)
		status = context_new(s, &s->cublas, err);
	if (status != STATUS_OK)
		return status;
	return check(cublas.cublasGemmEx(
			     s->cublas->handle, gemm->transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N,
			     gemm->transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N, (int)gemm->m,
			     (int)gemm->n, (int)gemm->k, wide ? (const void *)&gemm->alpha : &alpha,
			     gemm->a, storage, (int)gemm->lda, gemm->b, storage, (int)gemm->ldb,
			     wide ? (const void *)&gemm->beta : &beta, gemm->c, storage,
			     (int)gemm->ldc, precisions[gemm->precision].compute,
			     CUBLAS_GEMM_DEFAULT),
		     "cublasGemmEx", err);
}
