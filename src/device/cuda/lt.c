/*
 * Products through cuBLASLt. Its heuristic orders its algorithms by a model; here they, and variants of them, are
 * timed on the operands themselves, and the fastest one multiplies from then on.
 */
#include "device/cuda/lt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fastest.h"
#include "base/memory.h"
#include "device/cuda/gemm_types.h"
#include "device/cuda/lt_algorithm.h"

/* Asked of the heuristic, which rarely has more. */
#define OFFERED 64
#define CANDIDATES (OFFERED * 2 * (LT_CLUSTERS + 1))
/* A batch pays from here on. */
#define LEAST_BATCH 2
#define MOST_BATCH 4096

/* One product in cuBLASLt's terms. */
struct lt_product {
	struct gemm gemm;
	cublasLtMatmulDesc_t operation;
	cublasLtMatrixLayout_t a, b, c;
};

struct lt_context {
	cublasLtHandle_t handle;
	void *workspace;
	size_t workspace_bytes;
	struct lt_product product; /* what was searched last */
	cublasLtMatmulAlgo_t algorithm;
	bool searched;
};

static void product_release(struct lt_product *p)
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

void lt_context_free(struct lt_context *context)
{
	if (!context)
		return;
	product_release(&context->product);
	if (context->handle)
		cublaslt.cublasLtDestroy(context->handle);
	cudaFree(context->workspace);
	cudaGetLastError();
	free(context);
}

static enum status context_new(struct cuda_stream *stream, struct error *err)
{
	size_t bytes = cuda_gemm_workspace(stream->base.device);
	struct lt_context *context;
	enum status status = cublaslt_open(err);

	if (status != STATUS_OK)
		return status;
	context = xcalloc(1, sizeof(*context));
	context->workspace_bytes = bytes;
	status = cuda_check_size(cudaMalloc(&context->workspace, bytes),
				 "cudaMalloc for cuBLASLt's workspace", bytes, err);
	if (status == STATUS_OK)
		status = gemm_check(cublaslt.cublasLtCreate(&context->handle), "cublasLtCreate",
				    err);
	if (status == STATUS_OK)
		stream->lt = context;
	else
		lt_context_free(context);
	return status;
}

/* A stored matrix of rows x columns, `batch` of them. */
static enum status layout_new(cublasLtMatrixLayout_t *out, cudaDataType_t type, int64_t rows,
			      int64_t columns, int64_t ld, int64_t batch, int64_t stride,
			      struct error *err)
{
	int32_t count = (int32_t)batch;

	if (gemm_check(cublaslt.cublasLtMatrixLayoutCreate(out, type, (uint64_t)rows,
							   (uint64_t)columns, ld),
		       "cublasLtMatrixLayoutCreate", err) != STATUS_OK)
		return err->status;
	if (batch == 1)
		return STATUS_OK;
	cublaslt.cublasLtMatrixLayoutSetAttribute(*out, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count,
						  sizeof(count));
	return gemm_check(
		cublaslt.cublasLtMatrixLayoutSetAttribute(
			*out, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride, sizeof(stride)),
		"cublasLtMatrixLayoutSetAttribute", err);
}

static enum status product_init(struct lt_product *p, const struct gemm *g, struct error *err)
{
	const struct gemm_types *t = gemm_types(g->precision);
	cublasOperation_t op_a = g->transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N;
	cublasOperation_t op_b = g->transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N;
	int64_t batch = gemm_batch(g);

	memset(p, 0, sizeof(*p));
	p->gemm = *g;
	if (gemm_check(cublaslt.cublasLtMatmulDescCreate(&p->operation, t->compute, t->scale),
		       "cublasLtMatmulDescCreate", err) != STATUS_OK)
		return err->status;
	cublaslt.cublasLtMatmulDescSetAttribute(p->operation, CUBLASLT_MATMUL_DESC_TRANSA, &op_a,
						sizeof(op_a));
	cublaslt.cublasLtMatmulDescSetAttribute(p->operation, CUBLASLT_MATMUL_DESC_TRANSB, &op_b,
						sizeof(op_b));
	if (layout_new(&p->a, t->operand, g->transpose_a ? g->k : g->m,
		       g->transpose_a ? g->m : g->k, g->lda, batch, g->stride_a,
		       err) != STATUS_OK ||
	    layout_new(&p->b, t->operand, g->transpose_b ? g->n : g->k,
		       g->transpose_b ? g->k : g->n, g->ldb, batch, g->stride_b, err) != STATUS_OK)
		return err->status;
	return layout_new(&p->c, t->result, g->m, g->n, g->ldc, batch, g->stride_c, err);
}

static uint32_t alignment_of(const void *memory)
{
	uint32_t alignment = 256;

	while ((uintptr_t)memory % alignment)
		alignment /= 2;
	return alignment;
}

static enum status preference_new(const struct lt_context *context, const struct gemm *g,
				  cublasLtMatmulPreference_t *out, struct error *err)
{
	/* Sums over parts of k are kept in the format of accumulation, as with cublasGemmEx: see context_new() there. */
	uint32_t reductions = precision_result_bytes(g->precision) >= 4
				      ? CUBLASLT_REDUCTION_SCHEME_MASK
				      : CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
	uint32_t alignments[] = { alignment_of(g->a), alignment_of(g->b), alignment_of(g->c),
				  alignment_of(g->c) };
	static const cublasLtMatmulPreferenceAttributes_t aligned[] = {
		CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES,
		CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
		CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES,
		CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES,
	};

	if (gemm_check(cublaslt.cublasLtMatmulPreferenceCreate(out),
		       "cublasLtMatmulPreferenceCreate", err) != STATUS_OK)
		return err->status;
	for (size_t i = 0; i < ARRAY_SIZE(aligned); i++)
		cublaslt.cublasLtMatmulPreferenceSetAttribute(*out, aligned[i], &alignments[i],
							      sizeof(alignments[i]));
	cublaslt.cublasLtMatmulPreferenceSetAttribute(
		*out, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &reductions, sizeof(reductions));
	return gemm_check(cublaslt.cublasLtMatmulPreferenceSetAttribute(
				  *out, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
				  &context->workspace_bytes, sizeof(context->workspace_bytes)),
			  "cublasLtMatmulPreferenceSetAttribute", err);
}

/* One search while it goes on. */
struct search {
	struct cuda_stream *stream;
	const struct lt_product *product;
	cublasLtMatmulHeuristicResult_t found[CANDIDATES];
	size_t count;
	cudaEvent_t start, end;
	bool warm[CANDIDATES];
};

static enum status find_offers(struct search *s, struct error *err)
{
	const struct lt_context *context = s->stream->lt;
	const struct lt_product *p = s->product;
	cublasLtMatmulPreference_t preference = NULL;
	int count = 0;
	cublasStatus_t result;

	if (preference_new(context, &p->gemm, &preference, err) == STATUS_OK) {
		result = cublaslt.cublasLtMatmulAlgoGetHeuristic(context->handle, p->operation,
								 p->a, p->b, p->c, p->c, preference,
								 OFFERED, s->found, &count);
		if (result == CUBLAS_STATUS_NOT_SUPPORTED ||
		    (result == CUBLAS_STATUS_SUCCESS && count == 0))
			error_set(err, STATUS_UNSUPPORTED,
				  "cuBLASLt has no algorithm for this %s product, %c%c%s",
				  precision_name(p->gemm.precision),
				  p->gemm.transpose_a ? 't' : 'n', p->gemm.transpose_b ? 't' : 'n',
				  p->gemm.precision == PRECISION_FP8
					  ? " (FP8 needs transposes = tn on many GPUs)"
					  : "");
		else
			gemm_check(result, "cublasLtMatmulAlgoGetHeuristic", err);
	}
	if (preference)
		cublaslt.cublasLtMatmulPreferenceDestroy(preference);
	s->count = (size_t)count;
	return err->status;
}

static void add_variant(struct search *s, size_t offer, bool swizzle, int cluster)
{
	const struct lt_product *p = s->product;
	const struct lt_context *context = s->stream->lt;
	cublasLtMatmulAlgo_t algorithm = s->found[offer].algo;
	cublasLtMatmulHeuristicResult_t checked;

	if (!lt_algorithm_vary(&algorithm, swizzle, cluster) ||
	    cublaslt.cublasLtMatmulAlgoCheck(context->handle, p->operation, p->a, p->b, p->c, p->c,
					     &algorithm, &checked) != CUBLAS_STATUS_SUCCESS ||
	    checked.workspaceSize > context->workspace_bytes)
		return;
	for (size_t i = 0; i < s->count; i++)
		if (memcmp(&s->found[i].algo, &algorithm, sizeof(algorithm)) == 0)
			return;
	s->found[s->count] = checked;
	s->found[s->count++].algo = algorithm;
}

/* Behind the offers, in their order: other orders of blocks, then other clusters. */
static void add_variants(struct search *s)
{
	size_t offers = s->count;

	for (size_t i = 0; i < offers; i++)
		add_variant(s, i, true, -1);
	for (size_t i = 0; i < offers; i++)
		for (int cluster = 0; cluster < LT_CLUSTERS; cluster++) {
			add_variant(s, i, false, cluster);
			add_variant(s, i, true, cluster);
		}
}

static cublasStatus_t multiply(const struct cuda_stream *stream, const struct lt_product *p,
			       const struct gemm *g, const cublasLtMatmulAlgo_t *algorithm)
{
	struct gemm_scalars x;

	gemm_scalars(g, &x);
	return cublaslt.cublasLtMatmul(stream->lt->handle, p->operation, &x.alpha, g->a, p->a, g->b,
				       p->b, &x.beta, g->c, p->c, g->c, p->c, algorithm,
				       stream->lt->workspace, stream->lt->workspace_bytes,
				       stream->handle);
}

/* The seconds of each of `batch` products. A refused algorithm is one candidate less, not an end. */
static enum status time_batch(struct search *s, size_t candidate, unsigned batch, double *each,
			      struct error *err)
{
	float milliseconds = 0;

	if (cuda_check(cudaEventRecord(s->start, s->stream->handle), "cudaEventRecord", err) !=
	    STATUS_OK)
		return err->status;
	for (unsigned i = 0; i < batch; i++)
		if (multiply(s->stream, s->product, &s->product->gemm, &s->found[candidate].algo) !=
		    CUBLAS_STATUS_SUCCESS)
			return error_set(err, STATUS_UNSUPPORTED, "cublasLtMatmul refuses it");
	if (cuda_check(cudaEventRecord(s->end, s->stream->handle), "cudaEventRecord", err) !=
		    STATUS_OK ||
	    cuda_check(cudaEventSynchronize(s->end), "cudaEventSynchronize", err) != STATUS_OK ||
	    cuda_check(cudaEventElapsedTime(&milliseconds, s->start, s->end),
		       "cudaEventElapsedTime", err) != STATUS_OK)
		return err->status;
	*each = 1e-3 * (double)milliseconds / batch;
	return STATUS_OK;
}

static enum status time_candidate(void *context, size_t candidate, double seconds, double *each,
				  struct error *err)
{
	struct search *s = context;
	double single = 0, batch;

	/* The first call loads the kernel. */
	if (!s->warm[candidate] && time_batch(s, candidate, 1, each, err) != STATUS_OK)
		return err->status;
	s->warm[candidate] = true;
	if (time_batch(s, candidate, 1, &single, err) != STATUS_OK)
		return err->status;
	/* As many as fill the time; where one does, it was just timed. */
	batch = single > 0 ? seconds / single : 1;
	*each = single;
	if (batch < LEAST_BATCH)
		return STATUS_OK;
	return time_batch(s, candidate, batch < MOST_BATCH ? (unsigned)batch : MOST_BATCH, each,
			  err);
}

static enum status search(struct search *s, double seconds, struct gemm_choice *out,
			  struct error *err)
{
	struct fastest fastest;

	if (find_offers(s, err) != STATUS_OK)
		return err->status;
	add_variants(s);
	if (cuda_check(cudaEventCreate(&s->start), "cudaEventCreate", err) != STATUS_OK ||
	    cuda_check(cudaEventCreate(&s->end), "cudaEventCreate", err) != STATUS_OK ||
	    fastest_of(s->count, seconds, time_candidate, s, &fastest, err) != STATUS_OK)
		return err->status;
	*out = (struct gemm_choice){ .offered = (unsigned)s->count,
				     .tried = (unsigned)fastest.tried,
				     .seconds = fastest.seconds,
				     .first_seconds = fastest.first_seconds,
				     .workspace_bytes = s->found[fastest.best].workspaceSize };
	lt_algorithm_describe(&s->found[fastest.best].algo, out->text, sizeof(out->text));
	s->stream->lt->algorithm = s->found[fastest.best].algo;
	return STATUS_OK;
}

enum status cuda_gemm_search(struct stream *stream, const struct gemm *gemm, double seconds,
			     struct gemm_choice *out, struct error *err)
{
	struct cuda_stream *s = (struct cuda_stream *)stream;
	struct search *state;
	enum status status = gemm_check_device(stream->device, gemm, err);

	if (status == STATUS_OK)
		status = cuda_use(stream->device, err);
	if (status == STATUS_OK && !s->lt)
		status = context_new(s, err);
	if (status != STATUS_OK)
		return status;
	s->lt->searched = false;
	product_release(&s->lt->product);
	status = product_init(&s->lt->product, gemm, err);
	state = xcalloc(1, sizeof(*state));
	state->stream = s;
	state->product = &s->lt->product;
	if (status == STATUS_OK)
		status = search(state, seconds, out, err);
	s->lt->searched = status == STATUS_OK;
	if (state->start)
		cudaEventDestroy(state->start);
	if (state->end)
		cudaEventDestroy(state->end);
	free(state);
	return status;
}

static bool same_shape(const struct gemm *a, const struct gemm *b)
{
	return a->precision == b->precision && a->transpose_a == b->transpose_a &&
	       a->transpose_b == b->transpose_b && a->m == b->m && a->n == b->n && a->k == b->k &&
	       a->lda == b->lda && a->ldb == b->ldb && a->ldc == b->ldc &&
	       gemm_batch(a) == gemm_batch(b) && a->stride_a == b->stride_a &&
	       a->stride_b == b->stride_b && a->stride_c == b->stride_c;
}

enum status lt_multiply(struct cuda_stream *stream, const struct gemm *gemm, struct error *err)
{
	const struct lt_context *context = stream->lt;

	if (!context || !context->searched || !same_shape(gemm, &context->product.gemm))
		return error_set(err, STATUS_INTERNAL,
				 "gemm: this product was not searched on this stream");
	if (cuda_use(stream->base.device, err) != STATUS_OK)
		return err->status;
	return gemm_check(multiply(stream, &context->product, gemm, &context->algorithm),
			  "cublasLtMatmul", err);
}
