/*
 * Convolutions of a network: by the engine of a library that was the fastest in the tuning step,
 * as with cudnn.benchmark, or by the built-in kernels.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/text.h"
#include "base/units.h"
#include "kernels/comparison.h"
#include "suites/shared/buffers.h"
#include "suites/shared/convolutions.h"
#include "suites/training/models/network.h"

/* An engine must be faster than the built-in kernels, which need less memory, by more than this. */
#define WORTHWHILE 0.97
/* Part of the search time of a GEMM: a network has dozens of convolutions. */
#define SEARCH_SHARE 0.1
/* Engines to compare, at most: as many as PyTorch compares. */
#define ENGINES_MOST 10
/* With less time, the first engine that works is used. */
#define SEARCH_LEAST 5e-3

/* One pass and the choice for it. */
struct tuned_convolution {
	struct tuned_convolution *next;
	struct convolution_shape shape;
	enum convolution_pass pass;
	double seconds;                      /* of the search */
	struct convolution_engines *engines; /* the chosen engine; NULL: the built-in kernels */
	bool slower;       /* the library has engines, but the built-in kernels are as fast */
	double error;      /* of the engine's result: see convolve_verify() */
	char failure[256]; /* of an engine, or why there is none; "": none failed */
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
 * Keeps only the fastest of the library's engines; none if the built-in kernels are as fast.
 * Without time, keeps the first engine that works. The candidates overwrite the pass's result.
 */
static enum status convolve_find_fastest(struct network *n, struct convolve_trial *trial,
					 struct tuned_convolution *out, struct error *err)
{
	struct convolution_search found;

	if (convolution_search(n->stream, trial->built_in ? out->seconds : 0,
			       trial->engines->count + trial->built_in, convolve_launch_candidate,
			       trial, &found, err) != STATUS_OK)
		return err->status;
	out->slower = trial->built_in && found.first == 0 &&
		      !(found.seconds < WORTHWHILE * found.first_seconds);
	if (out->slower) {
		backend_convolution_close(out->engines);
		out->engines = NULL;
		return STATUS_OK;
	}
	return backend_convolution_keep(out->engines, found.fastest - trial->built_in, err);
}

/*
 * Compares the result of the engine, element by element, with the result of the built-in kernels
 * at `own`. STATUS_UNSUPPORTED: the built-in kernels overflow, so there is nothing to compare.
 */
static enum status convolve_verify(struct network *n, const struct convolution_work *work,
				   void *own, struct difference_part *parts,
				   struct tuned_convolution *out, struct error *err)
{
	struct convolution_work built_in = *work, engine = *work;
	uint64_t count = convolution_result_elements(&work->shape, work->pass);
	uint64_t bytes = count * precision_bytes(work->shape.precision);
	double tolerance = convolution_tolerance(work->shape.precision);
	bool adds = work->pass == PASS_WEIGHTS_ADD;
	struct difference_arguments difference = { .x = *convolution_result(&engine),
						   .y = own,
						   .precision = setup_storage(n->setup),
						   .count = count,
						   .x_scale = 1,
						   .y_scale = 1,
						   .parts = parts };
	struct difference_part all;

	engine.engines = out->engines;
	engine.engine = 0;
	built_in.engines = NULL;
	built_in.pass = adds ? PASS_WEIGHTS : work->pass;
	*convolution_result(&built_in) = own;
	/* All bits set are NaN: an element that the engine does not write makes the sum NaN. */
	if (backend_memory_set(n->stream, *convolution_result(&engine), adds ? 0 : 0xff, bytes,
			       err) != STATUS_OK ||
	    convolution_enqueue(&engine, err) != STATUS_OK ||
	    convolution_enqueue(&built_in, err) != STATUS_OK ||
	    buffer_difference(n->stream, &difference, &all, err) != STATUS_OK)
		return err->status;
	if (!isfinite(all.expected))
		return error_set(err, STATUS_UNSUPPORTED,
				 "the result of the built-in kernels is not finite, so no engine "
				 "can be compared with it");
	out->error = all.expected > 0 ? sqrt(all.difference / all.expected) : all.difference;
	/* NaN counts as a difference. */
	if (out->error <= tolerance)
		return STATUS_OK;
	return error_set(err, STATUS_MISMATCH,
			 "In pass %s, %s of the library differs from the built-in kernels by %.3g "
			 "(relative L2); tolerance %.3g. The shape: %u images of %u x %u x %u, %u "
			 "filters of %u x %u",
			 convolution_pass_names[built_in.pass], out->engines->engines[0].name,
			 out->error, tolerance, work->shape.batch, work->shape.height,
			 work->shape.width, work->shape.channels, work->shape.filters,
			 work->shape.kernel_height, work->shape.kernel_width);
}

/*
 * Finds the fastest way to compute `work`, whose result is overwritten, and verifies the engine. A
 * pass that adds to gradients works on other memory instead.
 */
static enum status convolve_search(struct network *n, const struct convolution_work *work,
				   struct tuned_convolution *out, struct error *err)
{
	struct convolve_trial trial = { .work = *work, .built_in = out->seconds >= SEARCH_LEAST };
	uint64_t bytes = convolution_result_elements(&work->shape, work->pass) *
			 precision_bytes(work->shape.precision);
	void *sum = NULL, *own = NULL, *parts = NULL, *workspace = NULL;
	uint64_t most;

	if (backend_convolution_open(n->stream, &work->shape, work->pass,
				     CONVOLUTION_WORKSPACE_BYTES,
				     trial.built_in ? ENGINES_MOST : CONVOLUTION_SPARE_ENGINES,
				     &out->engines, err) != STATUS_OK)
		return err->status;
	trial.engines = out->engines;
	snprintf(out->failure, sizeof(out->failure), "%s", out->engines->failure);
	most = convolution_workspace_of_all(out->engines);
	if (most < n->images.workspace_bytes)
		most = n->images.workspace_bytes;
	arena_alloc(n->arena, MEMORY_WORKSPACE, most, &workspace, err);
	trial.work.tensors.workspace = workspace;
	arena_alloc(n->arena, MEMORY_VERIFICATION, bytes, &own, err);
	arena_alloc(n->arena, MEMORY_VERIFICATION,
		    DIFFERENCE_PARTS * sizeof(struct difference_part), &parts, err);
	if (work->pass == PASS_WEIGHTS_ADD) {
		arena_alloc(n->arena, MEMORY_VERIFICATION, bytes, &sum, err);
		*convolution_result(&trial.work) = sum;
		if (err->status == STATUS_OK)
			backend_memory_set(n->stream, sum, 0, bytes, err);
	}
	if (err->status == STATUS_OK && convolve_find_fastest(n, &trial, out, err) == STATUS_OK &&
	    out->engines)
		convolve_verify(n, &trial.work, own, parts, out, err);
	backend_stream_synchronize(n->stream, err);
	arena_free(n->arena, sum);
	arena_free(n->arena, parts);
	arena_free(n->arena, own);
	arena_free(n->arena, workspace);
	return err->status;
}

/*
 * The choice for `work`, searched unless an earlier search took as long. NULL after an error, which
 * is not stored as a choice.
 */
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
	if (convolve_search(n, work, t, &refusal) != STATUS_OK) {
		backend_convolution_close(t->engines);
		t->engines = NULL;
		snprintf(t->failure, sizeof(t->failure), "%s", refusal.message);
	}
	if (refusal.status != STATUS_OK && refusal.status != STATUS_UNSUPPORTED) {
		free(t);
		error_copy(err, &refusal);
		return NULL;
	}
	return n->tuning_cache->convolutions = t;
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
	return ((uintptr_t)t->x | (uintptr_t)t->w | (uintptr_t)t->y) % CONVOLUTION_ALIGNMENT == 0;
}

/*
 * Sets the engine of `work`, if there is one for these tensors. Without time to search, no memory
 * is taken that the setup does not determine.
 */
static enum status convolve_choose(struct network *n, struct tuned_convolution **tuned,
				   struct convolution_work *work, struct error *err)
{
	if (n->setup->search_seconds == 0 || !n->tuning_cache ||
	    !convolution_prefers_library(&work->shape, &n->stream->device->info) ||
	    !convolve_aligned(&work->tensors))
		return STATUS_OK;
	if (n->tuning && !*tuned)
		*tuned = convolve_tune(n, work, err);
	if (!*tuned || !(*tuned)->engines || (*tuned)->shape.batch != work->shape.batch)
		return err->status;
	work->engines = (*tuned)->engines;
	if (n->tuning)
		convolve_reserve_workspace(n, work->engines->engines[0].workspace_bytes, err);
	return err->status;
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

/* Choices for all passes of a network. */
struct convolve_counts {
	size_t library, slower, without_engine;
	double error; /* the largest */
	const char *failure;
};

static void convolve_count_unit(const struct kept_unit *kept, struct convolve_counts *counts)
{
	for (size_t pass = 0; pass < ARRAY_SIZE(kept->tuned); pass++) {
		const struct tuned_convolution *t = kept->tuned[pass];

		if (!t)
			continue;
		counts->library += t->engines != NULL;
		counts->slower += t->slower;
		counts->without_engine += !t->engines && !t->slower;
		counts->error = fmax(counts->error, t->error);
		if (t->failure[0])
			counts->failure = t->failure;
	}
}

void convolutions_describe(const struct network *n, struct text *out)
{
	struct convolve_counts c = { 0 };
	char bytes[32];

	for (size_t l = 0; l < n->setup->layers; l++) {
		convolve_count_unit(&n->images.kept[l].projection, &c);
		for (size_t u = 0; u < IMAGE_MAX_UNITS; u++)
			convolve_count_unit(&n->images.kept[l].unit[u], &c);
	}
	if (c.library + c.slower + c.without_engine == 0)
		return;
	units_format((double)n->images.workspace_bytes, "B", bytes, sizeof(bytes));
	text_addf(out,
		  "The library computes %zu of %zu plain convolutions and gradients, with a "
		  "workspace of %s.",
		  c.library, c.library + c.slower + c.without_engine, bytes);
	if (c.library > 0)
		text_addf(out,
			  " Its results for these shapes differ from those of the built-in kernels "
			  "by at most %.2g (relative L2; tolerance %g).",
			  c.error, convolution_tolerance(n->setup->precision));
	if (c.slower > 0)
		text_addf(out, " For %zu the built-in kernels are at least as fast.", c.slower);
	if (c.without_engine > 0)
		text_addf(out, " For %zu the library has no engine that can be used.",
			  c.without_engine);
	if (c.failure)
		text_addf(out, " Not used: %s.", c.failure);
}
