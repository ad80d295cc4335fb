#include "device/cuda/blas/lt.h"

#include <string.h>

#include "base/memory.h"
#include "device/cuda/blas/cublas.h"

void lt_product_release(struct lt_product *p)
{
	if (p->operation)
		cublaslt.cublasLtMatmulDescDestroy(p->operation);
	if (p->a)
		cublaslt.cublasLtMatrixLayoutDestroy(p->a);
	if (p->b)
		cublaslt.cublasLtMatrixLayoutDestroy(p->b);
	if (p->c)
		cublaslt.cublasLtMatrixLayoutDestroy(p->c);
	memset(p, 0, sizeof(*p));
}

/* Layout of a stored matrix of rows x columns, `batch` of them. */
static enum status lt_product_layout_new(cublasLtMatrixLayout_t *out, cudaDataType_t type,
					 int64_t rows, int64_t columns, int64_t ld, int64_t batch,
					 int64_t stride, struct error *err)
{
	int32_t count = (int32_t)batch;

	if (CUBLASLT_CALL(err, cublasLtMatrixLayoutCreate, out, type, (uint64_t)rows,
			  (uint64_t)columns, ld) != STATUS_OK)
		return err->status;
	if (batch == 1)
		return STATUS_OK;
	cublaslt.cublasLtMatrixLayoutSetAttribute(*out, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count,
						  sizeof(count));
	return CUBLASLT_CALL(err, cublasLtMatrixLayoutSetAttribute, *out,
			     CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride, sizeof(stride));
}

/* The operation stores the address, which differs from layer to layer. */
static enum status lt_product_set_bias(const struct lt_product *p, const void *bias,
				       struct error *err)
{
	if (p->gemm.epilogue == EPILOGUE_NONE)
		return STATUS_OK;
	return CUBLASLT_CALL(err, cublasLtMatmulDescSetAttribute, p->operation,
			     CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof(bias));
}

/* As cublasLtMatmulDescAttributes_t and cublasLtMatmulMatrixScale_t of 12.9 name them. */
#define A_SCALE_MODE ((cublasLtMatmulDescAttributes_t)31)
#define B_SCALE_MODE ((cublasLtMatmulDescAttributes_t)32)
#define SCALE_MODES_SINCE 120900
static const int32_t scale_modes[] = {
	[FP8_SCALE_TENSOR] = 0, /* SCALAR_32F */
	[FP8_SCALE_OUTER] = 3,  /* OUTER_VEC_32F */
	[FP8_SCALE_GROUPS] = 4, /* VEC128_32F */
	[FP8_SCALE_BLOCKS] = 5, /* BLK128x128_32F */
};

/* All of the operation but the bias. */
static enum status lt_product_describe(const struct lt_product *p, struct error *err)
{
	static const cublasLtEpilogue_t epilogues[EPILOGUE_COUNT] = {
		[EPILOGUE_NONE] = CUBLASLT_EPILOGUE_DEFAULT,
		[EPILOGUE_BIAS] = CUBLASLT_EPILOGUE_BIAS,
		[EPILOGUE_BIAS_RELU] = CUBLASLT_EPILOGUE_RELU_BIAS,
	};
	const struct gemm *g = &p->gemm;
	const cublasOperation_t op_a = g->transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N,
				op_b = g->transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N;
	const int32_t target = g->multiprocessors;
	const int8_t fast = g->fp8.fast;
	const struct {
		cublasLtMatmulDescAttributes_t name;
		const void *value;
		size_t size;
		bool used; /* else the library's default */
	} attributes[] = {
		{ CUBLASLT_MATMUL_DESC_TRANSA, &op_a, sizeof(op_a), true },
		{ CUBLASLT_MATMUL_DESC_TRANSB, &op_b, sizeof(op_b), true },
		{ CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogues[g->epilogue], sizeof(*epilogues),
		  true },
		{ CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET, &target, sizeof(target), target != 0 },
		{ CUBLASLT_MATMUL_DESC_FAST_ACCUM, &fast, sizeof(fast), fast },
		{ CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, &g->scale_a, sizeof(g->scale_a),
		  g->scale_a },
		{ CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, &g->scale_b, sizeof(g->scale_b),
		  g->scale_b },
		{ A_SCALE_MODE, &scale_modes[g->fp8.scaling_a], sizeof(*scale_modes),
		  g->fp8.scaling_a },
		{ B_SCALE_MODE, &scale_modes[g->fp8.scaling_b], sizeof(*scale_modes),
		  g->fp8.scaling_b },
	};

	for (size_t i = 0; i < ARRAY_SIZE(attributes); i++)
		if (attributes[i].used &&
		    CUBLASLT_CALL(err, cublasLtMatmulDescSetAttribute, p->operation,
				  attributes[i].name, attributes[i].value,
				  attributes[i].size) != STATUS_OK)
			return err->status;
	return STATUS_OK;
}

enum status lt_product_init(struct lt_product *p, const struct gemm *g, struct error *err)
{
	const struct gemm_types *t = cublas_types(g->precision);
	int64_t batch = cublas_batch(g);
	char version[32];

	memset(p, 0, sizeof(*p));
	p->gemm = *g;
	if ((g->fp8.scaling_a || g->fp8.scaling_b) &&
	    cublaslt.cublasLtGetVersion() < SCALE_MODES_SINCE) {
		cublaslt_version(version, sizeof(version));
		return error_set(err, STATUS_UNSUPPORTED,
				 "cuBLASLt %s has no scales per row or block; 12.9 and newer have",
				 version);
	}
	if (CUBLASLT_CALL(err, cublasLtMatmulDescCreate, &p->operation, t->compute, t->scale) !=
		    STATUS_OK ||
	    lt_product_describe(p, err) != STATUS_OK ||
	    lt_product_set_bias(p, g->bias, err) != STATUS_OK ||
	    lt_product_layout_new(&p->a, g->fp8.e5m2_a ? CUDA_R_8F_E5M2 : t->operand,
				  g->transpose_a ? g->k : g->m, g->transpose_a ? g->m : g->k,
				  g->lda, batch, g->stride_a, err) != STATUS_OK ||
	    lt_product_layout_new(&p->b, g->fp8.e5m2_b ? CUDA_R_8F_E5M2 : t->operand,
				  g->transpose_b ? g->n : g->k, g->transpose_b ? g->k : g->n,
				  g->ldb, batch, g->stride_b, err) != STATUS_OK)
		return err->status;
	return lt_product_layout_new(&p->c, cublas_result_type(g), g->m, g->n, g->ldc, batch,
				     g->stride_c, err);
}

cublasStatus_t lt_product_multiply(const struct cuda_stream *stream, const struct lt_product *p,
				   const struct gemm *g, const cublasLtMatmulAlgo_t *algorithm)
{
	struct error ignored = ERROR_NONE;
	struct gemm_scalars x;

	if (lt_product_set_bias(p, g->bias, &ignored) != STATUS_OK)
		return CUBLAS_STATUS_NOT_SUPPORTED;
	cublas_scalars_of(g, &x);
	return cublaslt.cublasLtMatmul(stream->lt->handle, p->operation, &x.alpha, g->a, p->a, g->b,
				       p->b, &x.beta, g->c, p->c, g->c, p->c, algorithm,
				       stream->lt->workspace, stream->lt->workspace_bytes,
				       stream->handle);
}
