/*
 * Choosing among cuBLASLt's algorithms. Its heuristic orders them by a model; here they, and
 * variants of them, are timed on the operands themselves, and the fastest one multiplies from then
 * on.
 */
#include "device/cuda/blas/lt.h"

#include <stdlib.h>
#include <string.h>

#include "base/autotune.h"
#include "base/memory.h"
#include "device/cuda/blas/gemm_types.h"
#include "device/cuda/blas/lt_algorithm.h"

/* Asked of the heuristic, which rarely has more. */
#define OFFERED 64
#define CANDIDATES (OFFERED * 2 * (LT_CLUSTERS + 1))
/* A batch pays from here on. */
#define LEAST_BATCH 2
#define MOST_BATCH 4096

static enum status preference_new(const struct lt_context *context, const struct gemm *g,
				  cublasLtMatmulPreference_t *out, struct error *err)
{
	/*
	 * Sums over parts of k are kept in the format of accumulation, as with cublasGemmEx: see
	 * context_new() there.
	 */
	uint32_t reductions = precision_result_bytes(g->precision) >= 4
				      ? CUBLASLT_REDUCTION_SCHEME_MASK
				      : CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
	uint32_t alignments[] = { lt_alignment(g->a), lt_alignment(g->b), lt_alignment(g->c),
				  lt_alignment(g->c) };
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
	cublaslt.cublasLtMatmulPreferenceSetAttribute(*out,
						      CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
						      &reductions, sizeof(reductions));
	return gemm_check(cublaslt.cublasLtMatmulPreferenceSetAttribute(
				  *out, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
				  &context->workspace_bytes, sizeof(context->workspace_bytes)),
			  "cublasLtMatmulPreferenceSetAttribute", err);
}

/* One search in progress. */
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
				  "cuBLASLt has no algorithm for this %s product, %c%c%s%s",
				  precision_name(p->gemm.precision),
				  p->gemm.transpose_a ? 't' : 'n', p->gemm.transpose_b ? 't' : 'n',
				  p->gemm.epilogue == EPILOGUE_NONE ? "" : " with a bias",
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

/*
 * Adds variants after the offered algorithms, in their order: other orders of blocks, then other
 * clusters.
 */
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

/*
 * The seconds of each of `batch` products. A refused algorithm is one candidate less, not an end.
 */
static enum status time_batch(struct search *s, size_t candidate, unsigned batch, double *each,
			      struct error *err)
{
	float milliseconds = 0;

	if (cuda_check(cudaEventRecord(s->start, s->stream->handle), "cudaEventRecord", err) !=
	    STATUS_OK)
		return err->status;
	for (unsigned i = 0; i < batch; i++)
		if (lt_product_multiply(s->stream, s->product, &s->product->gemm,
					&s->found[candidate].algo) != CUBLAS_STATUS_SUCCESS)
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
	/* The batch fills the time; a batch of one has just been timed. */
	batch = single > 0 ? seconds / single : 1;
	*each = single;
	if (batch < LEAST_BATCH)
		return STATUS_OK;
	return time_batch(s, candidate, batch < MOST_BATCH ? (unsigned)batch : MOST_BATCH, each,
			  err);
}

static enum status search(struct search *s, const struct autotune_rules *rules,
			  struct lt_chosen *chosen, struct gemm_choice *out, struct error *err)
{
	struct autotune_result fastest;

	if (find_offers(s, err) != STATUS_OK)
		return err->status;
	add_variants(s);
	if (cuda_check(cudaEventCreate(&s->start), "cudaEventCreate", err) != STATUS_OK ||
	    cuda_check(cudaEventCreate(&s->end), "cudaEventCreate", err) != STATUS_OK ||
	    autotune(s->count, rules, time_candidate, s, &fastest, err) != STATUS_OK)
		return err->status;
	*out = (struct gemm_choice){ .offered = (unsigned)s->count,
				     .tried = (unsigned)fastest.tried,
				     .seconds = fastest.seconds,
				     .first_seconds = fastest.first_seconds,
				     .workspace_bytes = s->found[fastest.best].workspaceSize };
	lt_algorithm_describe(&s->found[fastest.best].algo, out->text, sizeof(out->text));
	chosen->algorithm = s->found[fastest.best].algo;
	chosen->first = s->found[fastest.first].algo;
	return STATUS_OK;
}

enum status lt_search(struct cuda_stream *stream, struct lt_chosen *chosen,
		      const struct autotune_rules *rules, struct gemm_choice *out,
		      struct error *err)
{
	struct search *state = xcalloc(1, sizeof(*state));
	enum status status;

	state->stream = stream;
	state->product = &chosen->product;
	status = search(state, rules, chosen, out, err);
	if (state->start)
		cudaEventDestroy(state->start);
	if (state->end)
		cudaEventDestroy(state->end);
	free(state);
	return status;
}
