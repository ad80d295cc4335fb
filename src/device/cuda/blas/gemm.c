/*
 * GEMM by compute capability: below 5.0 cublasSgemmEx with FP16 storage, because cublasGemmEx
 * rejects it; from 5.0 on cublasGemmEx, which uses tensor cores if available (7.0). Or the
 * algorithm that a search chose.
 */
#include "device/cuda/blas/cublas.h"

#include <limits.h>
#include <stdlib.h>

#include "base/memory.h"
#include "device/architecture.h"
#include "device/cuda/blas/lt.h"

/*
 * One handle and one workspace per stream: GEMMs of two streams may run concurrently, and cuBLAS'
 * own workspace would grow unreported.
 */
struct cublas_context {
	cublasHandle_t handle;
	void *workspace;
};

/* NVIDIA's recommendation since Hopper, and cuBLAS' default before. */
size_t cuda_gemm_workspace(struct device *device)
{
	return (size_t)(device->info.capability_major >= 9 ? 32 : 4) << 20;
}

void blas_gemm_context_free(struct cublas_context *context)
{
	if (!context)
		return;
	if (context->handle)
		cublas.cublasDestroy_v2(context->handle);
	cudaFree(context->workspace);
	cudaGetLastError();
	free(context);
}

static enum status blas_gemm_context_new(struct cuda_stream *stream, struct cublas_context **out,
					 struct error *err)
{
	const struct device_info *info = &stream->base.device->info;
	size_t workspace = cuda_gemm_workspace(stream->base.device);
	unsigned mode = CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION;
	struct cublas_context *context;
	enum status status = cublas_open(err);

	if (status != STATUS_OK)
		return status;
	context = xcalloc(1, sizeof(*context));
	status = cuda_device_check_size(cudaMalloc(&context->workspace, workspace),
					"cudaMalloc for cuBLAS' workspace", workspace, err);
	if (status == STATUS_OK)
		status =
			cublas_check(cublas.cublasCreate_v2(&context->handle), "cublasCreate", err);
	/* Order matters: setting the stream resets cuBLAS' workspace. */
	if (status == STATUS_OK)
		status = cublas_check(cublas.cublasSetStream_v2(context->handle, stream->handle),
				      "cublasSetStream", err);
	if (status == STATUS_OK)
		status = cublas_check(cublas.cublasSetWorkspace_v2(context->handle,
								   context->workspace, workspace),
				      "cublasSetWorkspace", err);
	/*
	 * By default cuBLAS may add parts of a long sum in the storage format: on an H200, FP16 and
	 * BF16 GEMMs then exceed the error bound of FP32 accumulation. An emulated device without
	 * tensor cores must not use those of the real one.
	 */
	if (info->emulated_on[0] && info->capability_major < 7)
		mode |= CUBLAS_PEDANTIC_MATH;
	if (status == STATUS_OK)
		status = cublas_check(cublas.cublasSetMathMode(context->handle, mode),
				      "cublasSetMathMode", err);
	if (status != STATUS_OK) {
		blas_gemm_context_free(context);
		return status;
	}
	*out = context;
	return STATUS_OK;
}

static enum status blas_gemm_check_request(const struct device *device, const struct gemm *gemm,
					   struct error *err)
{
	const int64_t sizes[] = { gemm->m,   gemm->n,   gemm->k,    gemm->lda,
				  gemm->ldb, gemm->ldc, gemm->batch };

	if (cublas_check_device(device, gemm, err) != STATUS_OK)
		return err->status;
	if (gemm->precision == PRECISION_FP8)
		return error_set(err, STATUS_UNSUPPORTED,
				 "cublasGemmEx has no FP8 GEMM; use cuBLASLt (implementation lt)");
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
		if (sizes[i] < 0 || sizes[i] > INT_MAX)
			return error_set(err, STATUS_UNSUPPORTED,
					 "cublasGemmEx accepts sizes up to %d; requested: %lld x "
					 "%lld x %lld",
					 INT_MAX, (long long)gemm->m, (long long)gemm->n,
					 (long long)gemm->k);
	return STATUS_OK;
}

static cublasOperation_t blas_gemm_transpose(bool yes)
{
	return yes ? CUBLAS_OP_T : CUBLAS_OP_N;
}

static cublasStatus_t blas_gemm_multiply(cublasHandle_t handle, const struct gemm *g)
{
	const struct gemm_types *t = cublas_types(g->precision);
	cublasOperation_t op_a = blas_gemm_transpose(g->transpose_a),
			  op_b = blas_gemm_transpose(g->transpose_b);
	int m = (int)g->m, n = (int)g->n, k = (int)g->k;
	int lda = (int)g->lda, ldb = (int)g->ldb, ldc = (int)g->ldc;
	struct gemm_scalars x;

	cublas_scalars_of(g, &x);
	if (cublas_batch(g) == 1)
		return cublas.cublasGemmEx(handle, op_a, op_b, m, n, k, &x.alpha, g->a, t->operand,
					   lda, g->b, t->operand, ldb, &x.beta, g->c,
					   cublas_result_type(g), ldc, t->compute,
					   CUBLAS_GEMM_DEFAULT);
	return cublas.cublasGemmStridedBatchedEx(handle, op_a, op_b, m, n, k, &x.alpha, g->a,
						 t->operand, lda, g->stride_a, g->b, t->operand,
						 ldb, g->stride_b, &x.beta, g->c,
						 cublas_result_type(g), ldc, g->stride_c,
						 (int)g->batch, t->compute, CUBLAS_GEMM_DEFAULT);
}

/* Runs the GEMMs of a batch one by one: there is no batched form. */
static cublasStatus_t blas_gemm_multiply_stored(cublasHandle_t handle, const struct gemm *g)
{
	const char *a = g->a, *b = g->b;
	char *c = g->c;
	float alpha = (float)g->alpha, beta = (float)g->beta;
	int64_t result_bytes = g->wide ? 4 : 2;
	cublasStatus_t result = CUBLAS_STATUS_SUCCESS;

	for (int64_t i = 0; i < cublas_batch(g) && result == CUBLAS_STATUS_SUCCESS; i++)
		result = cublas.cublasSgemmEx(handle, blas_gemm_transpose(g->transpose_a),
					      blas_gemm_transpose(g->transpose_b), (int)g->m,
					      (int)g->n, (int)g->k, &alpha, a + i * g->stride_a * 2,
					      CUDA_R_16F, (int)g->lda, b + i * g->stride_b * 2,
					      CUDA_R_16F, (int)g->ldb, &beta,
					      c + i * g->stride_c * result_bytes,
					      cublas_result_type(g), (int)g->ldc);
	return result;
}

enum status cuda_gemm(struct stream *stream, const struct gemm *gemm, struct error *err)
{
	struct cuda_stream *s = (struct cuda_stream *)stream;
	int capability = architecture_capability_number(&stream->device->info);
	enum status status;

	/* cublasGemmEx has no epilogues. */
	if (gemm->searched || gemm->epilogue != EPILOGUE_NONE)
		return lt_multiply(s, gemm, err);
	status = blas_gemm_check_request(stream->device, gemm, err);
	if (status == STATUS_OK)
		status = cuda_device_use(stream->device, err);
	if (status == STATUS_OK && !s->cublas)
		status = blas_gemm_context_new(s, &s->cublas, err);
	if (status != STATUS_OK)
		return status;
	if (architecture_stores_half_only(capability, gemm->precision))
		status = cublas_check(blas_gemm_multiply_stored(s->cublas->handle, gemm),
				      "cublasSgemmEx", err);
	else
		status = cublas_check(blas_gemm_multiply(s->cublas->handle, gemm), "cublasGemmEx",
				      err);
	if (status == STATUS_OK)
		cuda_backend_path("gemm", architecture_gemm_path(capability, gemm->precision));
	return status;
}
