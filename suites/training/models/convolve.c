/*
 * Convolutions of a network: by the engine of a library that was the fastest in the tuning step,
 * as with cudnn.benchmark, or by the built-in kernels.
 */
#include <stdlib.h>

#include "base/memory.h"
#include "base/text.h"
#include "base/units.h"
#include "suites/shared/convolutions.h"
#include "suites/training/models/network.h"

/* An engine must be faster than the built-in kernels, which need less memory, by more than this. */
#define WORTHWHILE 0.97
/* Part of the search time of a GEMM: a network has dozens of convolutions. */
#define SEARCH_SHARE 0.1
/* Engines to compare, at most: as many as PyTorch compares. */
#define ENGINES_MOST 10
/* With less time there is no comparison. */
#define SEARCH_LEAST 5e-3
/* Alignment of tensors that a library may assume. */
#define ALIGNMENT 16

/* One pass and the choice for it; without engines: the built-in kernels. */
struct tuned_convolution {
	struct tuned_convolution *next;
	struct convolution_shape shape;
	enum convolution_pass pass;
	double seconds; /* of the search */
	struct convolution_engines *engines;
	unsigned engine;
};

void convolve_tuning_cache_free(struct tuning_cache *cache)
{
	while (cache && cache->convolutions) {
		struct tuned_convolution *first = cache->convolutions;

		cache->convolutions = first->next;
		backend_convolution_close(first->engines);
		free(first);
	}
	free(cache);
}

static bool convolve_same_shape(const struct convolution_shape *a,
				const struct convolution_shape *b)
{
	return a->precision == b->precision && a->batch == b->batch && a->height == b->height &&
	       a->width == b->width && a->channels == b->channels && a->filters == b->filters &&
	       a->kernel_height == b->kernel_height && a->kernel_width == b->kernel_width &&
	       a->stride == b->stride && a->padding == b->padding;
}

/* Candidates of a search: the built-in kernels if they take part, then the engines. */
struct convolve_trial {
	struct convolution_work work;
	struct convolution_engines *engines;
	bool built_in;
};

static enum status convolve_launch_candidate(void *state, unsigned candidate, struct error *err)
{
	struct convolve_trial *t = state;
	bool built_in = t->built_in && candidate == 0;

	t->work.engines = built_in ? NULL : t->engines;
	t->work.engine = candidate - (!built_in && t->built_in);
	return convolution_enqueue(&t->work, err);
}

/*
 * Compares the library's engines with the built-in kernels on the tensors of `work`, which the pass
 * overwrites; without time, takes the first engine that works.
 */
static enum status convolve_search(struct network *n, const struct convolution_work *work,
				   struct tuned_convolution *out, struct error *err)
{
	struct convolve_trial trial = { .work = *work, .built_in = out->seconds >= SEARCH_LEAST };
	double seconds = trial.built_in ? out->seconds : 0;
	struct convolution_search found = { 0 };
	uint64_t bytes;

	if (backend_convolution_open(n->stream, &work->shape, work->pass,
				     CONVOLUTION_WORKSPACE_BYTES,
				     trial.built_in ? ENGINES_MOST : CONVOLUTION_SPARE_ENGINES,
				     &out->engines, err) != STATUS_OK)
		return err->status;
	trial.engines = out->engines;
	bytes = convolution_workspace_of_all(out->engines);
	if (bytes < n->images.workspace_bytes)
		bytes = n->images.workspace_bytes;
	arena_alloc(n->arena, MEMORY_WORKSPACE, bytes, &trial.work.tensors.workspace, err);
	if (err->status == STATUS_OK)
		convolution_search(n->stream, seconds, out->engines->count + trial.built_in,
				   convolve_launch_candidate, &trial, &found, err);
	backend_stream_synchronize(n->stream, err);
	arena_free(n->arena, trial.work.tensors.workspace);
	if (trial.built_in && !(found.seconds < WORTHWHILE * found.first_seconds)) {
		backend_convolution_close(out->engines);
		out->engines = NULL;
		return err->status;
	}
	out->engine = found.fastest - trial.built_in;
	return err->status;
}

/* The choice for `work`, searched unless an earlier search took as long; NULL after an error. */
static struct tuned_convolution *
convolve_tune(struct network *n, const struct convolution_work *work, struct error *err)
{
	double seconds = SEARCH_SHARE * n->setup->search_seconds;
	struct tuned_convolution *t = n->tuning_cache->convolutions;
	struct error refusal = ERROR_NONE;

	while (t && !(t->pass == work->pass && t->seconds >= seconds &&
		      convolve_same_shape(&t->shape, &work->shape)))
		t = t->next;
	if (t)
		return t;
	t = xcalloc(1, sizeof(*t));
	*t = (struct tuned_convolution){ .next = n->tuning_cache->convolutions,
					 .shape = work->shape,
					 .pass = work->pass,
					 .seconds = seconds };
	n->tuning_cache->convolutions = t;
	if (convolve_search(n, work, t, &refusal) != STATUS_OK) {
		backend_convolution_close(t->engines);
		t->engines = NULL;
	}
	if (refusal.status == STATUS_OK || refusal.status == STATUS_UNSUPPORTED)
		return t;
	error_copy(err, &refusal);
	return NULL;
}

static enum status convolve_reserve_workspace(struct network *n, uint64_t bytes, struct error *err)
{
	struct images *i = &n->images;

	if (bytes <= i->workspace_bytes)
		return STATUS_OK;
	if (backend_stream_synchronize(n->stream, err) != STATUS_OK)
		return err->status;
	arena_free(n->arena, i->workspace);
	i->workspace = NULL;
	i->workspace_bytes = 0;
	if (arena_alloc(n->arena, MEMORY_WORKSPACE, bytes, &i->workspace, err) == STATUS_OK)
		i->workspace_bytes = bytes;
	return err->status;
}

static bool convolve_aligned(const struct convolution_tensors *t)
{
	return ((uintptr_t)t->x | (uintptr_t)t->w | (uintptr_t)t->y) % ALIGNMENT == 0;
}

/*
 * Sets the engine of `work`, if there is one for these tensors. Without time to search, no memory
 * is taken that the setup does not determine.
 */
static enum status convolve_choose(struct network *n, struct tuned_convolution **tuned,
				   struct convolution_work *work, struct error *err)
{
	const struct convolution_engine *engine;

	if (n->setup->search_seconds == 0 || !n->tuning_cache ||
	    !convolution_prefers_library(&work->shape, &n->stream->device->info) ||
	    !convolve_aligned(&work->tensors))
		return STATUS_OK;
	if (n->tuning && !*tuned)
		*tuned = convolve_tune(n, work, err);
	if (!*tuned || !(*tuned)->engines || (*tuned)->shape.batch != work->shape.batch)
		return err->status;
	engine = &(*tuned)->engines->engines[(*tuned)->engine];
	if (n->tuning && convolve_reserve_workspace(n, engine->workspace_bytes, err) != STATUS_OK)
		return err->status;
	work->engines = (*tuned)->engines;
	work->engine = (*tuned)->engine;
	return STATUS_OK;
}

enum status network_convolve(struct network *n, struct tuned_convolution **tuned,
			     const struct convolution_shape *shape, enum convolution_pass pass,
			     const struct convolution_tensors *tensors, struct error *err)
{
	struct convolution_work work = {
		.stream = n->stream, .shape = *shape, .pass = pass, .tensors = *tensors
	};

	if (n->idle || err->status != STATUS_OK ||
	    convolve_choose(n, &tuned[pass], &work, err) != STATUS_OK)
		return err->status;
	work.tensors.workspace = n->images.workspace;
	return convolution_enqueue(&work, err);
}

static void convolve_count_unit(const struct kept_unit *kept, size_t counts[2])
{
	for (size_t pass = 0; pass < ARRAY_SIZE(kept->tuned); pass++)
		if (kept->tuned[pass])
			counts[kept->tuned[pass]->engines != NULL]++;
}

void convolutions_describe(const struct network *n, struct text *out)
{
	size_t counts[2] = { 0, 0 };
	char bytes[32];

	for (size_t l = 0; l < n->setup->layers; l++) {
		convolve_count_unit(&n->images.kept[l].projection, counts);
		for (size_t u = 0; u < IMAGE_MAX_UNITS; u++)
			convolve_count_unit(&n->images.kept[l].unit[u], counts);
	}
	if (counts[1] == 0)
		return;
	units_format((double)n->images.workspace_bytes, "B", bytes, sizeof(bytes));
	text_addf(out,
		  "The library computes %zu of %zu plain convolutions and gradients, with a "
		  "workspace of %s; built-in kernels are at least as fast for the others.",
		  counts[1], counts[0] + counts[1], bytes);
}
