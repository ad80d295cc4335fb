#include "suites/parallel/predict_pipeline.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "suites/parallel/grid.h"
#include "suites/parallel/pipeline.h"

struct stage {
	double forward, inputs, weights, update; /* seconds: of a micro-batch, of the parameters */
	bool inputs_first;
	double replicas; /* of adding up gradients behind the last backward */
	double adding;   /* to the gradients of the micro-batches before */
	double send;     /* of a micro-batch's outputs to the next stage */
	uint64_t warmup, forwards, backwards;
	double free;            /* when it has done what it began */
	double *outputs, *back; /* when micro-batch i has left forward, backward */
};

struct schedule {
	const struct setup *setup;
	int stages;
	bool first_last; /* backwards begin with the last micro-batch */
	struct stage *stage;
};

/* Sums over the parts of a layer, in the way of everything. */
static double sums_of(const struct work *w, const struct share *share, size_t l, double rows,
		      bool forward)
{
	enum cut cut = setup_cut(w->setup, l, share->parts);
	double columns = (double)(forward ? w->setup->widths[l + 1] : w->setup->widths[l]);
	bool sums = forward ? cut == CUT_ROWS : cut == CUT_COLUMNS && l > 0;

	return sums ? work_collective(w, "all_reduce", share->parts, rows * columns) : 0;
}

static void stage_open(struct stage *stage, const struct setup *s, int index, struct curves *curves)
{
	struct grid grid = grid_of(s);
	struct work w;
	struct share share;
	double rows;

	work_open(&w, s, grid_rank(s, (struct place){ .stage = index }), curves);
	share = w.share;
	rows = (double)w.rows;
	stage->inputs_first = s->mode->inputs_first && share.first > 0;
	for (size_t l = share.first; l < share.last; l++) {
		const struct model_layer *layer = &w.model.layer[l];

		stage->forward += work_forward(&w, l, rows) + sums_of(&w, &share, l, rows, true);
		stage->inputs += work_outputs_back(&w, l, rows) + work_inputs_back(&w, l, rows) +
				 sums_of(&w, &share, l, rows, false);
		stage->weights += work_weights_back(&w, l, rows);
		stage->adding += work_adding(&w, l);
		if (grid.data > 1)
			stage->replicas += work_collective(&w, "all_reduce", grid.data,
							   (double)(layer->end - layer->weight));
	}
	if (share.last == s->layers)
		stage->forward += work_loss(&w, rows);
	else
		stage->send =
			2 * work_handover(&w, "send_recv", 2) +
			curves_message(curves, rows * (double)share_width(s, &share, share.last) *
						       (double)precision_bytes(s->precision));
	/* Events behind what is sent, and behind the last use of what was received. */
	stage->forward += share.last < s->layers ? work_mark(&w) : 0;
	stage->inputs += index > 0 ? work_mark(&w) : 0;
	stage->weights += 2 * work_mark(&w);
	stage->update = work_update_begin(&w) + work_update(&w, (double)w.model.elements);
	stage->outputs = xcalloc(s->microbatches, sizeof(double));
	stage->back = xcalloc(s->microbatches, sizeof(double));
}

static uint64_t warmup_of(const struct setup *s, int stages, int stage)
{
	if (strcmp(s->mode->name, "1f1b_eager") == 0)
		return pipeline_warmup_eager(stages, stage, s->microbatches);
	if (strcmp(s->mode->name, "1f1b") == 0 || s->mode->gridded)
		return pipeline_warmup_plain(stages, stage, s->microbatches);
	return pipeline_warmup_all(stages, stage, s->microbatches);
}

/* Carries out the stage's next operation if what it needs is known; false: not yet, or nothing is left. */
static bool advance(struct schedule *k, int index)
{
	struct stage *stage = &k->stage[index], *before = index > 0 ? stage - 1 : NULL,
		     *behind = index + 1 < k->stages ? stage + 1 : NULL;
	uint64_t all = k->setup->microbatches, micro;
	double ready = 0;

	if (stage->backwards == all)
		return false;
	if (stage->forwards < all && stage->forwards <= stage->warmup + stage->backwards) {
		micro = stage->forwards;
		if (before && before->forwards <= micro)
			return false;
		ready = before ? before->outputs[micro] + before->send : 0;
		stage->free = fmax(stage->free, ready) + stage->forward;
		stage->outputs[micro] = stage->free;
		stage->forwards++;
		return true;
	}
	micro = k->first_last ? all - 1 - stage->backwards : stage->backwards;
	if (behind && behind->backwards <= stage->backwards)
		return false;
	ready = behind ? behind->back[micro] + stage->send : stage->outputs[micro];
	stage->back[micro] = fmax(stage->free, ready) + stage->inputs;
	stage->free =
		stage->back[micro] + stage->weights + (stage->backwards > 0 ? stage->adding : 0);
	if (!stage->inputs_first)
		stage->back[micro] = stage->free;
	stage->backwards++;
	return true;
}

/* Layer by layer behind the last backward: hidden by it but for the layer that comes last. */
static double end_of(const struct stage *stage)
{
	double beside = stage->weights + (stage->inputs_first ? 0 : stage->inputs),
	       hidden = fmin(stage->replicas, beside) / 2;

	return stage->free + stage->replicas - hidden + stage->update;
}

double predict_pipeline(const struct setup *setup, struct curves *curves)
{
	struct schedule k = { .setup = setup, .stages = grid_of(setup).pipeline };
	bool moved = true;
	double last = 0;

	k.stage = xcalloc((size_t)k.stages, sizeof(*k.stage));
	for (int i = 0; i < k.stages; i++) {
		stage_open(&k.stage[i], setup, i, curves);
		k.stage[i].warmup = warmup_of(setup, k.stages, i);
	}
	k.first_last = k.stage[0].warmup == setup->microbatches &&
		       warmup_of(setup, k.stages, k.stages - 1) == setup->microbatches;
	while (moved) {
		moved = false;
		for (int i = 0; i < k.stages; i++)
			while (advance(&k, i))
				moved = true;
	}
	for (int i = 0; i < k.stages; i++) {
		/* NaN stays NaN. */
		last = end_of(&k.stage[i]) <= last ? last : end_of(&k.stage[i]);
		free(k.stage[i].outputs);
		free(k.stage[i].back);
	}
	free(k.stage);
	return last;
}
