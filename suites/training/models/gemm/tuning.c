#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "device/autotune.h"
#include "measure/processes/world.h"
#include "suites/training/models/gemm/layer.h"
#include "suites/training/models/mode.h"
#include "suites/training/models/network.h"

/* The widest memory access of any algorithm: see gemm_search() in device/backend.h. */
#define ALIGNMENT 16

static bool gemm_tuning_equally_aligned(const void *a, const void *b)
{
	for (uintptr_t alignment = 2; alignment <= ALIGNMENT; alignment *= 2)
		if (((uintptr_t)a % alignment == 0) != ((uintptr_t)b % alignment == 0))
			return false;
	return true;
}

/* True if one search serves both. */
static bool gemm_tuning_same_kind(const struct gemm *a, const struct gemm *b)
{
	return a->precision == b->precision && a->transpose_a == b->transpose_a &&
	       a->transpose_b == b->transpose_b && a->m == b->m && a->n == b->n && a->k == b->k &&
	       a->lda == b->lda && a->ldb == b->ldb && a->ldc == b->ldc &&
	       (a->beta != 0) == (b->beta != 0) && a->epilogue == b->epilogue &&
	       a->multiprocessors == b->multiprocessors &&
	       gemm_tuning_equally_aligned(a->a, b->a) && gemm_tuning_equally_aligned(a->b, b->b) &&
	       gemm_tuning_equally_aligned(a->c, b->c);
}

/*
 * A found algorithm must be faster than the library's default by more than the noise; the threshold
 * after a long search is stricter.
 */
#define WORTHWHILE 0.97
#define WORTHWHILE_SUSTAINED 0.99

/* Replaces the result of an earlier search of the same GEMM. */
static void gemm_tuning_cache_store(const struct network *n, const struct tuned_gemm *tuned)
{
	struct tuning_cache *m = n->tuning_cache;
	size_t at = 0;

	if (!m)
		return;
	while (at < m->count && !gemm_tuning_same_kind(&m->entries[at].tuned.gemm, &tuned->gemm))
		at++;
	if (at == GEMM_CACHE_ENTRIES)
		return;
	m->entries[at].tuned = *tuned;
	m->entries[at].seconds = n->setup->search_seconds;
	m->count += at == m->count;
}

/*
 * Searches for an algorithm; keeps the library's default if the search fails or finds nothing
 * faster.
 */
static struct tuned_gemm *gemm_tuning_tuned_search(struct network *n, const struct gemm *gemm)
{
	struct tuned_gemm *tuned = &n->gemms[n->gemm_count++];
	const struct tuning_cache *m = n->tuning_cache;
	/* A step runs GEMMs back to back, so a long search measures at sustained clocks. */
	const struct autotune_rules rules = { .seconds = n->setup->search_seconds,
					      .sustained = n->setup->search_seconds >=
							   AUTOTUNE_SUSTAINED_SECONDS };
	struct error none = ERROR_NONE;

	/* An earlier search on this stream that took at least as long. */
	for (size_t i = 0; m && i < m->count; i++)
		if (m->entries[i].seconds >= n->setup->search_seconds &&
		    gemm_tuning_same_kind(&m->entries[i].tuned.gemm, gemm)) {
			*tuned = m->entries[i].tuned;
			return tuned;
		}
	*tuned = (struct tuned_gemm){ .gemm = *gemm };
	tuned->searched =
		n->setup->search_seconds > 0 &&
		backend_gemm_search(n->stream, gemm, &rules, &tuned->choice, &none) == STATUS_OK &&
		tuned->choice.seconds < (rules.sustained ? WORTHWHILE_SUSTAINED : WORTHWHILE) *
						tuned->choice.first_seconds;
	gemm_tuning_cache_store(n, tuned);
	return tuned;
}

/* In a transformer every product is divided. */
bool gemm_tuning_is_replicated(const struct network *n, size_t l)
{
	return n->partition.parts > 1 && n->local.layer[l].kind == LAYER_LINEAR &&
	       model_layer_split(n->setup, l, n->partition.parts) == SPLIT_NONE;
}

enum status gemm_tuning_multiply(struct network *n, size_t l, unsigned pass, struct gemm *gemm,
				 struct error *err)
{
	/* No rank tunes a replicated layer. */
	bool tunable = !gemm_tuning_is_replicated(n, l);
	struct tuned_gemm *tuned = NULL;

	if (n->idle || err->status != STATUS_OK)
		return err->status;
	gemm->multiprocessors =
		n->setup->mode->overlap & pass && !n->setup->no_overlap ? n->multiprocessors : 0;
	for (size_t i = 0; i < n->gemm_count && tunable && !tuned; i++)
		tuned = gemm_tuning_same_kind(&n->gemms[i].gemm, gemm) ? &n->gemms[i] : NULL;
	if (!tuned && n->tuning && tunable && n->gemm_count < NETWORK_MAX_GEMMS)
		tuned = gemm_tuning_tuned_search(n, gemm);
	gemm->searched = tuned && tuned->searched;
	return backend_gemm(n->stream, gemm, err);
}

struct gemm gemm_tuning_product(const struct network *n, enum linear_product which,
				struct linear_size size, const void *a, const void *b, void *c)
{
	bool outputs = which == PRODUCT_OUTPUTS, weights = which == PRODUCT_WEIGHTS;

	return (struct gemm){ .precision = n->setup->precision,
			      .transpose_a = outputs,
			      .transpose_b = weights,
			      .m = (int64_t)(outputs ? size.out : size.in),
			      .n = (int64_t)(weights ? size.out : size.rows),
			      .k = (int64_t)(outputs   ? size.in
					     : weights ? size.rows
						       : size.out),
			      .a = a,
			      .lda = (int64_t)size.in,
			      .b = b,
			      .ldb = (int64_t)(outputs ? size.in : size.out),
			      .c = c,
			      .ldc = (int64_t)(outputs ? size.out : size.in),
			      .alpha = 1 };
}

enum status gemm_tuning_forward(struct network *n, size_t l, uint64_t row, uint64_t rows,
				bool fused, struct error *err)
{
	const struct model_layer *layer = &n->local.layer[l];
	struct gemm gemm = gemm_tuning_product(n, PRODUCT_OUTPUTS,
					       (struct linear_size){ layer->in, layer->out, rows },
					       n->layer_weights[l], network_activation(n, l, row),
					       network_activation(n, l + 1, row));

	if (fused) {
		gemm.epilogue = l + 1 < n->setup->layers ? EPILOGUE_BIAS_RELU : EPILOGUE_BIAS;
		gemm.bias = network_weights(n, l, LINEAR_BIAS);
	}
	return gemm_tuning_multiply(n, l, OVERLAP_FORWARD, &gemm, err);
}

enum status gemm_tuning_dgrad(struct network *n, size_t l, const void *dy, void *dx, uint64_t rows,
			      struct error *err)
{
	const struct model_layer *layer = &n->local.layer[l];
	struct gemm gemm = gemm_tuning_product(n, PRODUCT_INPUTS,
					       (struct linear_size){ layer->in, layer->out, rows },
					       n->layer_weights[l], dy, dx);

	return gemm_tuning_multiply(n, l, OVERLAP_BACKWARD, &gemm, err);
}

enum status gemm_tuning_wgrad(struct network *n, size_t l, struct outputs outputs, const void *dy,
			      uint64_t row, uint64_t rows, double beta, struct error *err)
{
	const struct model_layer *layer = &n->local.layer[l];
	bool transposed = n->wgrad_layouts[l] == WGRAD_TRANSPOSED;
	uint64_t ld = transposed ? n->step_rows : layer->out;
	void *from = transposed ? network_transposed(n, l, row) : (void *)dy;
	struct gemm gemm =
		gemm_tuning_product(n, PRODUCT_WEIGHTS,
				    (struct linear_size){ layer->in, outputs.count, rows },
				    network_activation(n, l, row),
				    network_element(n, from, outputs.first * (transposed ? ld : 1)),
				    network_element(n, n->layer_gradients[l],
						    outputs.first * layer->in));

	gemm.transpose_b = !transposed;
	gemm.ldb = (int64_t)ld;
	gemm.beta = beta;
	return gemm_tuning_multiply(n, l, OVERLAP_BACKWARD, &gemm, err);
}

void gemm_tuning_describe(const struct network *n, struct text *out)
{
	for (size_t i = 0; i < n->gemm_count; i++) {
		const struct tuned_gemm *p = &n->gemms[i];

		if (!p->searched)
			continue;
		text_addf(out, "%s%c%c %lld x %lld x %lld%s%s by %s, %.0f %% faster",
			  out->length ? "; " : "", p->gemm.transpose_a ? 't' : 'n',
			  p->gemm.transpose_b ? 't' : 'n', (long long)p->gemm.m,
			  (long long)p->gemm.n, (long long)p->gemm.k,
			  p->gemm.epilogue == EPILOGUE_NONE ? "" : " with its bias",
			  p->gemm.beta != 0 ? " accumulated" : "", p->choice.text,
			  100 * (p->choice.first_seconds / p->choice.seconds - 1));
	}
}

static void **gemm_tuning_wgrad_buffer_of(struct network *n, size_t layer)
{
	return &n->transposed[network_transposed_buffer(n, layer)];
}

static enum status gemm_tuning_wgrad_open_buffer(struct network *n, size_t layer, struct error *err)
{
	uint64_t elements =
		network_transposed_columns(n, network_transposed_buffer(n, layer)) * n->step_rows;

	if (*gemm_tuning_wgrad_buffer_of(n, layer))
		return STATUS_OK;
	return arena_alloc(n->arena, MEMORY_TRANSIENT,
			   elements * precision_bytes(n->setup->precision),
			   gemm_tuning_wgrad_buffer_of(n, layer), err);
}

struct wgrad_trial {
	struct network *network;
	size_t layer;
	void *dy;
	const void *y;
};

static const enum wgrad_layout layouts[] = { WGRAD_DIRECT, WGRAD_TRANSPOSED };

/* Runs the output gradient kernel and the wgrad GEMM with one layout. */
static enum status gemm_tuning_run_layout(void *context, size_t candidate, struct error *err)
{
	const struct wgrad_trial *t = context;
	struct network *n = t->network;

	n->wgrad_layouts[t->layer] = layouts[candidate];
	gemm_layer_output_pass(n, t->layer, n->step_rows, t->dy, t->y, 0, false, err);
	return gemm_layer_weight_gradient(n, t->layer, 0, n->step_rows, t->dy, false, err);
}

/* The layout, if it needs no measurement; otherwise WGRAD_AUTO. */
static enum wgrad_layout gemm_tuning_fixed_layout(const struct network *n, size_t layer)
{
	const struct model_layer *mine = &n->local.layer[layer];

	if (n->setup->weight_gradient != WGRAD_AUTO)
		return n->setup->weight_gradient;
	/* Every rank computes this layer, and all must get the same bits. */
	if (gemm_tuning_is_replicated(n, layer))
		return WGRAD_DIRECT;
	/* The CPU's BLAS copies its operands in any case. */
	if (n->stream->device->info.capabilities & DEVICE_SHARES_HOST_MEMORY)
		return WGRAD_DIRECT;
	/* The layout of an earlier layer of the same shape. */
	for (size_t l = n->partition.first; l < n->partition.last; l++)
		if (n->wgrad_layouts[l] != WGRAD_AUTO && n->local.layer[l].in == mine->in &&
		    n->local.layer[l].out == mine->out)
			return n->wgrad_layouts[l];
	return WGRAD_AUTO;
}

static void gemm_tuning_set_layout(struct network *n, size_t layer, enum wgrad_layout layout)
{
	void **buffer = gemm_tuning_wgrad_buffer_of(n, layer);

	n->wgrad_layouts[layer] = layout;
	if (layout != WGRAD_DIRECT)
		return;
	/* Frees the buffer unless another layer uses it. */
	for (size_t l = n->partition.first; l < n->partition.last; l++)
		if (n->wgrad_layouts[l] == WGRAD_TRANSPOSED &&
		    gemm_tuning_wgrad_buffer_of(n, l) == buffer)
			return;
	arena_free(n->arena, *buffer);
	*buffer = NULL;
}

enum status gemm_tuning_tune_wgrad_layout(struct network *n, size_t layer, void *dy, const void *y,
					  struct error *err)
{
	struct wgrad_trial trial = { n, layer, dy, y };
	struct error none = ERROR_NONE;
	enum wgrad_layout layout = gemm_tuning_fixed_layout(n, layer);

	if (layout == WGRAD_AUTO) {
		size_t fastest = 0;

		/* The direct layout, if there is no memory for the copy. */
		if (gemm_tuning_wgrad_open_buffer(n, layer, &none) == STATUS_OK &&
		    layer_select_fastest(n->stream, ARRAY_SIZE(layouts), gemm_tuning_run_layout,
					 &trial, &fastest, err) != STATUS_OK)
			return err->status;
		layout = layouts[fastest];
	} else if (layout == WGRAD_TRANSPOSED &&
		   gemm_tuning_wgrad_open_buffer(n, layer, err) != STATUS_OK) {
		return err->status;
	}
	gemm_tuning_set_layout(n, layer, layout);
	return STATUS_OK;
}

/* Message between ranks: first layer and row, and the chosen layouts. */
struct chosen {
	size_t first;
	uint64_t row;
	enum wgrad_layout wgrad_layouts[SETUP_MAX_LAYERS];
};

void gemm_tuning_agree_on_wgrad_layouts(struct network *n, struct world *world)
{
	struct chosen mine = { .first = n->partition.first, .row = n->partition.row }, *all;

	/* `parts` is equal on all ranks. */
	if (n->partition.parts == 1)
		return;
	memcpy(mine.wgrad_layouts, n->wgrad_layouts, sizeof(mine.wgrad_layouts));
	all = xcalloc((size_t)world->size, sizeof(*all));
	world_gather(world, &mine, all, sizeof(mine));
	for (int rank = 0; rank < world->size; rank++)
		for (size_t l = n->partition.first; l < n->partition.last; l++)
			if (all[rank].first == mine.first && all[rank].row == mine.row &&
			    model_layer_split(n->setup, l, n->partition.parts) == ROW_PARALLEL &&
			    all[rank].wgrad_layouts[l] == WGRAD_DIRECT &&
			    n->wgrad_layouts[l] != WGRAD_DIRECT)
				gemm_tuning_set_layout(n, l, WGRAD_DIRECT);
	free(all);
}
