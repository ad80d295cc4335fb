/* GEMM with cuBLASLt, by the algorithm that was chosen for its shape on this stream. */
#include "device/cuda/blas/lt.h"

#include <stdlib.h>
#include <string.h>

#include "device/autotune.h"
#include "base/memory.h"
#include "device/cuda/blas/contexts.h"
#include "device/cuda/blas/gemm_types.h"

void lt_context_free(struct lt_context *context)
{
	if (!context)
		return;
	for (size_t i = 0; i < context->count; i++)
		lt_product_release(&context->chosen[i].product);
	free(context->chosen);
	if (context->handle)
		cublaslt.cublasLtDestroy(context->handle);
	cudaFree(context->workspace);
	cudaGetLastError();
	free(context);
}

static enum status lt_context_new(struct cuda_stream *stream, struct error *err)
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

uint32_t lt_alignment(const void *memory)
{
	uint32_t alignment = LT_ALIGNMENT;

	while ((uintptr_t)memory % alignment)
		alignment /= 2;
	return alignment;
}

static bool same_alignment(const struct gemm *a, const struct gemm *b)
{
	return lt_alignment(a->a) == lt_alignment(b->a) &&
	       lt_alignment(a->b) == lt_alignment(b->b) && lt_alignment(a->c) == lt_alignment(b->c);
}

static bool lt_same_shape(const struct gemm *a, const struct gemm *b)
{
	return a->precision == b->precision && a->wide == b->wide &&
	       memcmp(&a->fp8, &b->fp8, sizeof(a->fp8)) == 0 && a->scale_a == b->scale_a &&
	       a->scale_b == b->scale_b && a->transpose_a == b->transpose_a &&
	       a->transpose_b == b->transpose_b && a->m == b->m && a->n == b->n && a->k == b->k &&
	       a->lda == b->lda && a->ldb == b->ldb && a->ldc == b->ldc &&
	       a->epilogue == b->epilogue && a->multiprocessors == b->multiprocessors &&
	       (a->beta != 0) == (b->beta != 0) && gemm_batch(a) == gemm_batch(b) &&
	       a->stride_a == b->stride_a && a->stride_b == b->stride_b &&
	       a->stride_c == b->stride_c;
}

static struct lt_chosen *lt_find_chosen(const struct lt_context *context, const struct gemm *gemm)
{
	for (size_t i = 0; context && i < context->count; i++)
		if (lt_same_shape(gemm, &context->chosen[i].product.gemm) &&
		    same_alignment(gemm, &context->chosen[i].product.gemm))
			return &context->chosen[i];
	return NULL;
}

/* Entry for the choice of a GEMM; its description is built there. */
static enum status lt_place_for(struct lt_context *context, const struct gemm *gemm,
				struct lt_chosen **out, struct error *err)
{
	struct lt_chosen *chosen = lt_find_chosen(context, gemm);

	if (!chosen) {
		ARRAY_GROW(context->chosen, context->count, context->capacity);
		chosen = &context->chosen[context->count++];
		*chosen = (struct lt_chosen){ 0 };
	}
	lt_product_release(&chosen->product);
	*out = chosen;
	return lt_product_init(&chosen->product, gemm, err);
}

static void lt_forget_chosen(struct lt_context *context, struct lt_chosen *chosen)
{
	lt_product_release(&chosen->product);
	*chosen = context->chosen[--context->count];
}

enum status cuda_gemm_search(struct stream *stream, const struct gemm *gemm,
			     const struct autotune_rules *rules, struct gemm_choice *out,
			     struct error *err)
{
	struct cuda_stream *s = (struct cuda_stream *)stream;
	struct lt_chosen *chosen;
	enum status status = gemm_check_device(stream->device, gemm, err);

	if (status == STATUS_OK)
		status = cuda_use(stream->device, err);
	if (status == STATUS_OK && !s->lt)
		status = lt_context_new(s, err);
	if (status != STATUS_OK)
		return status;
	status = lt_place_for(s->lt, gemm, &chosen, err);
	if (status == STATUS_OK)
		status = lt_search(s, chosen, rules, out, err);
	if (status != STATUS_OK)
		lt_forget_chosen(s->lt, chosen);
	return status;
}

static enum status lt_multiply_by(struct cuda_stream *stream, const struct gemm *gemm,
				  const struct lt_chosen *chosen,
				  const cublasLtMatmulAlgo_t *algorithm, struct error *err)
{
	if (cuda_use(stream->base.device, err) != STATUS_OK)
		return err->status;
	cuda_path("gemm", "cublasLtMatmul");
	return gemm_check(lt_product_multiply(stream, &chosen->product, gemm, algorithm),
			  "cublasLtMatmul", err);
}

enum status lt_multiply(struct cuda_stream *stream, const struct gemm *gemm, struct error *err)
{
	const struct lt_chosen *chosen = lt_find_chosen(stream->lt, gemm);

	if (!chosen)
		return error_set(err, STATUS_INTERNAL,
				 "gemm: this GEMM was not autotuned on this stream");
	return lt_multiply_by(stream, gemm, chosen, &chosen->algorithm, err);
}

enum status lt_multiply_first(struct cuda_stream *stream, const struct gemm *gemm,
			      struct error *err)
{
	static const struct autotune_rules no_time = { 0 };
	const struct lt_chosen *chosen = lt_find_chosen(stream->lt, gemm);
	struct gemm_choice ignored;

	if (!chosen && cuda_gemm_search(&stream->base, gemm, &no_time, &ignored, err) != STATUS_OK)
		return err->status;
	chosen = lt_find_chosen(stream->lt, gemm);
	return lt_multiply_by(stream, gemm, chosen, &chosen->first, err);
}
