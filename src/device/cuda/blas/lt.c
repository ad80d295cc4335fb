/*
 * GEMM with cuBLASLt, by the algorithm that was chosen for its shape on this stream. The library's
 * heuristic orders algorithms by a model; here they and variants of them are timed on the actual
 * operands, and later GEMMs use the fastest.
 */
#include "device/cuda/blas/lt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "device/autotune.h"
#include "device/cuda/blas/cublas.h"

/* Widest access of an algorithm: larger alignment of operands makes no difference. */
#define LT_ALIGNMENT 16

/* Alignment of an operand in bytes: a power of two, at most LT_ALIGNMENT. */
static uint32_t lt_alignment(const void *memory)
{
	uint32_t alignment = LT_ALIGNMENT;

	while ((uintptr_t)memory % alignment)
		alignment /= 2;
	return alignment;
}

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
	status = cuda_device_check_size(cudaMalloc(&context->workspace, bytes),
					"cudaMalloc for cuBLASLt's workspace", bytes, err);
	if (status == STATUS_OK)
		status = CUBLASLT_CALL(err, cublasLtCreate, &context->handle);
	if (status == STATUS_OK)
		stream->lt = context;
	else
		lt_context_free(context);
	return status;
}

/* True if an algorithm for one serves the other: equal in shape, kind and alignment. */
static bool lt_same_product(const struct gemm *a, const struct gemm *b)
{
	return a->precision == b->precision && a->wide == b->wide &&
	       memcmp(&a->fp8, &b->fp8, sizeof(a->fp8)) == 0 && a->scale_a == b->scale_a &&
	       a->scale_b == b->scale_b && a->transpose_a == b->transpose_a &&
	       a->transpose_b == b->transpose_b && a->m == b->m && a->n == b->n && a->k == b->k &&
	       a->lda == b->lda && a->ldb == b->ldb && a->ldc == b->ldc &&
	       a->epilogue == b->epilogue && a->multiprocessors == b->multiprocessors &&
	       (a->beta != 0) == (b->beta != 0) && cublas_batch(a) == cublas_batch(b) &&
	       a->stride_a == b->stride_a && a->stride_b == b->stride_b &&
	       a->stride_c == b->stride_c && lt_alignment(a->a) == lt_alignment(b->a) &&
	       lt_alignment(a->b) == lt_alignment(b->b) && lt_alignment(a->c) == lt_alignment(b->c);
}

static struct lt_chosen *lt_find_chosen(const struct lt_context *context, const struct gemm *gemm)
{
	for (size_t i = 0; context && i < context->count; i++)
		if (lt_same_product(gemm, &context->chosen[i].product.gemm))
			return &context->chosen[i];
	return NULL;
}

/* Thread block clusters to try instead of an algorithm's own. */
#define LT_CLUSTERS 6

/* Names of the ids in cublasLt.h; newer ids are shown as numbers. */
#define TILE(shape) [CUBLASLT_MATMUL_TILE_##shape] = #shape
static const char *const tiles[] = {
	TILE(8x8),     TILE(8x16),    TILE(16x8),   TILE(8x32),   TILE(16x16),   TILE(32x8),
	TILE(8x64),    TILE(16x32),   TILE(32x16),  TILE(64x8),   TILE(32x32),   TILE(32x64),
	TILE(64x32),   TILE(32x128),  TILE(64x64),  TILE(128x32), TILE(64x128),  TILE(128x64),
	TILE(64x256),  TILE(128x128), TILE(256x64), TILE(64x512), TILE(128x256), TILE(256x128),
	TILE(512x64),  TILE(64x96),   TILE(96x64),  TILE(96x128), TILE(128x160), TILE(160x128),
	TILE(192x128), TILE(128x192), TILE(128x96)
};
#undef TILE

#define STAGES(shape) [CUBLASLT_MATMUL_STAGES_##shape] = #shape
static const char *const stages[] = {
	STAGES(16x1),    STAGES(16x2),    STAGES(16x3),    STAGES(16x4),    STAGES(16x5),
	STAGES(16x6),    STAGES(32x1),    STAGES(32x2),    STAGES(32x3),    STAGES(32x4),
	STAGES(32x5),    STAGES(32x6),    STAGES(64x1),    STAGES(64x2),    STAGES(64x3),
	STAGES(64x4),    STAGES(64x5),    STAGES(64x6),    STAGES(128x1),   STAGES(128x2),
	STAGES(128x3),   STAGES(128x4),   STAGES(128x5),   STAGES(128x6),   STAGES(32x10),
	STAGES(8x4),     STAGES(16x10),   STAGES(8x5),     STAGES(8x3),     STAGES(8xAUTO),
	STAGES(16xAUTO), STAGES(32xAUTO), STAGES(64xAUTO), STAGES(128xAUTO)
};
#undef STAGES

#define CLUSTER(shape) [CUBLASLT_CLUSTER_SHAPE_##shape##x1] = #shape
static const char *const clusters[] = { CLUSTER(1x1), CLUSTER(2x1), CLUSTER(4x1), CLUSTER(1x2),
					CLUSTER(2x2), CLUSTER(4x2), CLUSTER(1x4), CLUSTER(2x4),
					CLUSTER(4x4), CLUSTER(8x1), CLUSTER(1x8) };
#undef CLUSTER

static const struct {
	const char *word;
	cublasLtMatmulAlgoConfigAttributes_t attribute;
	const char *const *names;
	size_t name_count;
} parts[] = {
	{ "algorithm", CUBLASLT_ALGO_CONFIG_ID, NULL, 0 },
	{ "tile", CUBLASLT_ALGO_CONFIG_TILE_ID, tiles, ARRAY_SIZE(tiles) },
	{ "stages", CUBLASLT_ALGO_CONFIG_STAGES_ID, stages, ARRAY_SIZE(stages) },
	{ "cluster", CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID, clusters, ARRAY_SIZE(clusters) },
	{ "split-k", CUBLASLT_ALGO_CONFIG_SPLITK_NUM, NULL, 0 },
	{ "reduction", CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, NULL, 0 },
	{ "swizzle", CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING, NULL, 0 },
	{ "option", CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION, NULL, 0 },
};

/* Attributes have 2 or 4 bytes; the values are small and little-endian. */
static bool lt_search_read_attribute(const cublasLtMatmulAlgo_t *algorithm,
				     cublasLtMatmulAlgoConfigAttributes_t attribute, uint32_t *out)
{
	size_t written;

	*out = 0;
	return cublaslt.cublasLtMatmulAlgoConfigGetAttribute(algorithm, attribute, out,
							     sizeof(*out),
							     &written) == CUBLAS_STATUS_SUCCESS ||
	       cublaslt.cublasLtMatmulAlgoConfigGetAttribute(algorithm, attribute, out,
							     sizeof(uint16_t),
							     &written) == CUBLAS_STATUS_SUCCESS;
}

/* "algorithm 66, tile 128x256, stages 128xAUTO, cluster 2x1, split-k 1, swizzle 1, option 3" */
static void lt_algorithm_describe(const cublasLtMatmulAlgo_t *algorithm, char *out, size_t size)
{
	struct text text = TEXT_EMPTY;

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		uint32_t value;

		if (!lt_search_read_attribute(algorithm, parts[i].attribute, &value))
			continue;
		text_addf(&text, "%s%s ", text.length ? ", " : "", parts[i].word);
		if (value < parts[i].name_count && parts[i].names[value])
			text_add(&text, parts[i].names[value]);
		else if (value == UINT32_MAX)
			text_add(&text, "auto"); /* -1: the library chooses */
		else
			text_addf(&text, "%u", value);
	}
	snprintf(out, size, "%s", text.length ? text.data : "unknown");
	text_release(&text);
}

static bool cublas_lt_turn_swizzle(cublasLtMatmulAlgo_t *algorithm)
{
	uint32_t supported = 0, value;
	size_t written;

	if (cublaslt.cublasLtMatmulAlgoCapGetAttribute(algorithm,
						       CUBLASLT_ALGO_CAP_CTA_SWIZZLING_SUPPORT,
						       &supported, sizeof(supported),
						       &written) != CUBLAS_STATUS_SUCCESS ||
	    !supported ||
	    !lt_search_read_attribute(algorithm, CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING, &value))
		return false;
	value = !value;
	return cublaslt.cublasLtMatmulAlgoConfigSetAttribute(algorithm,
							     CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING,
							     &value, sizeof(value)) ==
	       CUBLAS_STATUS_SUCCESS;
}

/* Algorithms for older devices have no clusters: 0. */
static bool cublas_lt_change_cluster(cublasLtMatmulAlgo_t *algorithm, int cluster)
{
	static const uint16_t shapes[LT_CLUSTERS] = {
		CUBLASLT_CLUSTER_SHAPE_2x1x1, CUBLASLT_CLUSTER_SHAPE_1x2x1,
		CUBLASLT_CLUSTER_SHAPE_2x2x1, CUBLASLT_CLUSTER_SHAPE_1x1x1,
		CUBLASLT_CLUSTER_SHAPE_4x1x1, CUBLASLT_CLUSTER_SHAPE_1x4x1,
	};
	uint32_t own;

	if (!lt_search_read_attribute(algorithm, CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID, &own) ||
	    own == 0 || own == shapes[cluster])
		return false;
	return cublaslt.cublasLtMatmulAlgoConfigSetAttribute(algorithm,
							     CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID,
							     &shapes[cluster],
							     sizeof(shapes[cluster])) ==
	       CUBLAS_STATUS_SUCCESS;
}

/* Number requested from the heuristic, which rarely has more. */
#define OFFERED 64
#define CANDIDATES (OFFERED * 2 * (LT_CLUSTERS + 1))
/* Least batch size worth timing. */
#define LEAST_BATCH 2
#define MOST_BATCH 4096

static enum status cublas_lt_preference_new(const struct lt_context *context, const struct gemm *g,
					    cublasLtMatmulPreference_t *out, struct error *err)
{
	/*
	 * Partial sums over k are stored in the accumulation format, as with cublasGemmEx: see
	 * blas_gemm_context_new().
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

	if (CUBLASLT_CALL(err, cublasLtMatmulPreferenceCreate, out) != STATUS_OK)
		return err->status;
	for (size_t i = 0; i < ARRAY_SIZE(aligned); i++)
		cublaslt.cublasLtMatmulPreferenceSetAttribute(*out, aligned[i], &alignments[i],
							      sizeof(alignments[i]));
	cublaslt.cublasLtMatmulPreferenceSetAttribute(*out,
						      CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
						      &reductions, sizeof(reductions));
	return CUBLASLT_CALL(err, cublasLtMatmulPreferenceSetAttribute, *out,
			     CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &context->workspace_bytes,
			     sizeof(context->workspace_bytes));
}

/* State of a search. */
struct lt_search {
	struct cuda_stream *stream;
	const struct lt_product *product;
	cublasLtMatmulHeuristicResult_t found[CANDIDATES];
	size_t count;
	cudaEvent_t start, end;
	bool warm[CANDIDATES];
};

static enum status cublas_lt_find_offers(struct lt_search *s, struct error *err)
{
	const struct lt_context *context = s->stream->lt;
	const struct lt_product *p = s->product;
	cublasLtMatmulPreference_t preference = NULL;
	int count = 0;
	cublasStatus_t result;

	if (cublas_lt_preference_new(context, &p->gemm, &preference, err) == STATUS_OK) {
		result = cublaslt.cublasLtMatmulAlgoGetHeuristic(context->handle, p->operation,
								 p->a, p->b, p->c, p->c, preference,
								 OFFERED, s->found, &count);
		if (result == CUBLAS_STATUS_NOT_SUPPORTED ||
		    (result == CUBLAS_STATUS_SUCCESS && count == 0))
			error_set(err, STATUS_UNSUPPORTED,
				  "cuBLASLt has no algorithm for this %s GEMM, %c%c%s%s",
				  precision_name(p->gemm.precision),
				  p->gemm.transpose_a ? 't' : 'n', p->gemm.transpose_b ? 't' : 'n',
				  p->gemm.epilogue == EPILOGUE_NONE ? "" : " with a bias",
				  p->gemm.precision == PRECISION_FP8
					  ? " ; on many GPUs, FP8 needs transposes = tn"
					  : "");
		else
			cublas_check(result, "cublasLtMatmulAlgoGetHeuristic", err);
	}
	if (preference)
		cublaslt.cublasLtMatmulPreferenceDestroy(preference);
	s->count = (size_t)count;
	return err->status;
}

/*
 * Adds a variant of an offered algorithm with the other order of tiles (`swizzle`) and another
 * cluster (0 to LT_CLUSTERS - 1; -1: its own), unless it is identical or the library rejects it.
 */
static void cublas_lt_add_variant(struct lt_search *s, size_t offer, bool swizzle, int cluster)
{
	const struct lt_product *p = s->product;
	const struct lt_context *context = s->stream->lt;
	cublasLtMatmulAlgo_t algorithm = s->found[offer].algo;
	cublasLtMatmulHeuristicResult_t checked;

	if ((swizzle && !cublas_lt_turn_swizzle(&algorithm)) ||
	    (cluster >= 0 && !cublas_lt_change_cluster(&algorithm, cluster)) ||
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
 * Seconds per GEMM for a batch. A rejected algorithm drops a candidate and does not end the search.
 */
static enum status lt_search_time_batch(struct lt_search *s, size_t candidate, unsigned batch,
					double *each, struct error *err)
{
	float milliseconds = 0;

	if (CUDA_CALL(err, cudaEventRecord, s->start, s->stream->handle) != STATUS_OK)
		return err->status;
	for (unsigned i = 0; i < batch; i++) {
		struct error refusal = ERROR_NONE;

		if (cublas_check(lt_product_multiply(s->stream, s->product, &s->product->gemm,
						     &s->found[candidate].algo),
				 "cublasLtMatmul", &refusal) != STATUS_OK)
			return error_set(err, STATUS_UNSUPPORTED, "%s", refusal.message);
	}
	if (CUDA_CALL(err, cudaEventRecord, s->end, s->stream->handle) != STATUS_OK ||
	    CUDA_CALL(err, cudaEventSynchronize, s->end) != STATUS_OK ||
	    CUDA_CALL(err, cudaEventElapsedTime, &milliseconds, s->start, s->end) != STATUS_OK)
		return err->status;
	*each = 1e-3 * (double)milliseconds / batch;
	return STATUS_OK;
}

static enum status lt_time_candidate(void *context, size_t candidate, double seconds, double *each,
				     struct error *err)
{
	struct lt_search *s = context;
	double single = 0, batch;

	/* The first call loads the kernel. */
	if (!s->warm[candidate] && lt_search_time_batch(s, candidate, 1, each, err) != STATUS_OK)
		return err->status;
	s->warm[candidate] = true;
	if (lt_search_time_batch(s, candidate, 1, &single, err) != STATUS_OK)
		return err->status;
	/* Times a batch that takes about `seconds`; a batch of one was just timed. */
	batch = single > 0 ? seconds / single : 1;
	*each = single;
	if (batch < LEAST_BATCH)
		return STATUS_OK;
	return lt_search_time_batch(s, candidate, batch < MOST_BATCH ? (unsigned)batch : MOST_BATCH,
				    each, err);
}

static enum status lt_search_fastest(struct lt_search *s, const struct autotune_rules *rules,
				     struct lt_chosen *chosen, struct gemm_choice *out,
				     struct error *err)
{
	struct autotune_result fastest;
	size_t offers;

	if (cublas_lt_find_offers(s, err) != STATUS_OK)
		return err->status;
	/* Variants follow the offers, in their order: first other tile orders, then clusters. */
	offers = s->count;
	for (size_t i = 0; i < offers; i++)
		cublas_lt_add_variant(s, i, true, -1);
	for (size_t i = 0; i < offers; i++)
		for (int cluster = 0; cluster < LT_CLUSTERS; cluster++) {
			cublas_lt_add_variant(s, i, false, cluster);
			cublas_lt_add_variant(s, i, true, cluster);
		}
	if (CUDA_CALL(err, cudaEventCreate, &s->start) != STATUS_OK ||
	    CUDA_CALL(err, cudaEventCreate, &s->end) != STATUS_OK ||
	    autotune(s->count, rules, lt_time_candidate, s, &fastest, err) != STATUS_OK)
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

enum status cuda_gemm_search(struct stream *stream, const struct gemm *gemm,
			     const struct autotune_rules *rules, struct gemm_choice *out,
			     struct error *err)
{
	struct cuda_stream *s = (struct cuda_stream *)stream;
	struct lt_search *search;
	struct lt_chosen *chosen;
	enum status status = cublas_check_device(stream->device, gemm, err);

	if (status == STATUS_OK)
		status = cuda_device_use(stream->device, err);
	if (status == STATUS_OK && !s->lt)
		status = lt_context_new(s, err);
	if (status != STATUS_OK)
		return status;
	chosen = lt_find_chosen(s->lt, gemm);
	if (!chosen) {
		ARRAY_GROW(s->lt->chosen, s->lt->count, s->lt->capacity);
		chosen = &s->lt->chosen[s->lt->count++];
		*chosen = (struct lt_chosen){ 0 };
	}
	lt_product_release(&chosen->product);
	search = xcalloc(1, sizeof(*search));
	search->stream = s;
	search->product = &chosen->product;
	status = lt_product_init(&chosen->product, gemm, err);
	if (status == STATUS_OK)
		status = lt_search_fastest(search, rules, chosen, out, err);
	if (search->start)
		cudaEventDestroy(search->start);
	if (search->end)
		cudaEventDestroy(search->end);
	free(search);
	if (status != STATUS_OK) {
		lt_product_release(&chosen->product);
		*chosen = s->lt->chosen[--s->lt->count];
	}
	return status;
}

enum status lt_multiply(struct cuda_stream *stream, const struct gemm *gemm, struct error *err)
{
	static const struct autotune_rules no_time = { 0 };
	const struct lt_chosen *chosen = lt_find_chosen(stream->lt, gemm);
	struct gemm_choice ignored;

	if (!chosen && gemm->searched)
		return error_set(err, STATUS_INTERNAL,
				 "gemm: this GEMM was not autotuned on this stream");
	if (!chosen && cuda_gemm_search(&stream->base, gemm, &no_time, &ignored, err) != STATUS_OK)
		return err->status;
	if (cuda_device_use(stream->base.device, err) != STATUS_OK)
		return err->status;
	chosen = lt_find_chosen(stream->lt, gemm);
	cuda_backend_path("gemm", "cublasLtMatmul");
	return cublas_check(lt_product_multiply(stream, &chosen->product, gemm,
						gemm->searched ? &chosen->algorithm
							       : &chosen->first),
			    "cublasLtMatmul", err);
}
