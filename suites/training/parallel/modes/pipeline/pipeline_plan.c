/* The order of each stage's operations, and the cost by formula. */
#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "suites/training/models/segments.h"
#include "suites/training/models/setup.h"
#include "suites/training/parallel/modes/pipeline/pipeline.h"

/* Input buffers in addition to those in use: one is received while the last is in use. */
#define SPARE_INPUTS 1

uint64_t pipeline_plan_warmup_all(int stages, int stage, uint64_t micro)
{
	(void)stages;
	(void)stage;
	return micro;
}

uint64_t pipeline_plan_warmup_plain(int stages, int stage, uint64_t micro)
{
	uint64_t later = (uint64_t)(stages - 1 - stage);

	return later < micro ? later : micro;
}

static uint64_t pipeline_plan_warmup_eager(int stages, int stage, uint64_t micro)
{
	uint64_t later = 2 * (uint64_t)(stages - 1 - stage);

	return later < micro ? later : micro;
}

uint64_t pipeline_plan_product(const struct setup *setup, bool last_stage, uint64_t turn)
{
	uint64_t shared = setup_wgrad_microbatches(setup), done = turn + 1;

	if (shared > 1 && !last_stage && done + 1 >= setup->microbatches)
		return done == setup->microbatches ? 1 : shared - 1;
	return done % shared == 0 ? shared : 0;
}

static const char *pipeline_plan_parts_refusal(const struct setup *setup)
{
	struct grid grid = model_setup_grid_of(setup);

	if (grid.data * grid.tensor * grid.pipeline != setup->ranks)
		return "data x tensor x pipeline does not equal the number of devices";
	/*
	 * Only pairs of layers are divided: without a pair, every rank would compute the whole
	 * model.
	 */
	if (grid.tensor > 1 && setup->layers < 2)
		return "tensor parallelism splits pairs of layers, and the model has only one "
		       "layer";
	for (size_t l = 1; l < setup->layers; l += 2)
		if (setup->widths[l] % (uint64_t)grid.tensor)
			return "the inner width of a pair of layers is not divisible by the tensor "
			       "size of the grid";
	return setup->batch % (uint64_t)grid.data
		       ? "the batch is not divisible by the data size of the grid"
		       : NULL;
}

const char *pipeline_plan_refusal(const struct setup *setup)
{
	struct grid grid = model_setup_grid_of(setup);
	const char *reason = pipeline_plan_parts_refusal(setup);
	uint64_t shared = setup_wgrad_microbatches(setup);

	if (setup->ranks < 2)
		return "a pipeline needs at least two devices";
	if (reason)
		return reason;
	if ((size_t)grid.pipeline > setup->layers)
		return "the pipeline has more devices than the model has layers";
	if (setup->batch / (uint64_t)grid.data % setup->microbatches)
		return "the batch is not divisible by microbatches";
	if (shared > 1 && setup->segments > 0)
		return "wgrad_microbatches above 1 does not work with recompute, which does not "
		       "keep the activations";
	return setup->microbatches % shared ? "microbatches is not divisible by wgrad_microbatches"
					    : NULL;
}

/*
 * Micro-batches that share a wgrad product are kept until the last of them, in neighbouring rows.
 */
static uint64_t pipeline_plan_whole_products(const struct setup *setup, uint64_t micro)
{
	uint64_t shared = setup_wgrad_microbatches(setup),
		 all = (micro + shared - 1) / shared * shared;

	return all < setup->microbatches ? all : setup->microbatches;
}

void pipeline_plan_partition(const struct setup *setup, int rank, struct rank_partition *partition)
{
	struct grid grid = model_setup_grid_of(setup);
	struct grid_place place = model_setup_grid_place(setup, rank);
	uint64_t all = setup->batch / (uint64_t)grid.data, rows = all / setup->microbatches;
	uint64_t first = setup->mode->warmup(grid.pipeline, place.stage, setup->microbatches);
	/* Micro-batches whose activations the stage keeps at a time. */
	uint64_t kept = first < setup->microbatches ? first + 1 : setup->microbatches;
	uint64_t inputs = kept + SPARE_INPUTS, shared = setup_wgrad_microbatches(setup);
	size_t bounds[SETUP_MAX_LAYERS + 1];

	kept = pipeline_plan_whole_products(setup, kept + shared - 1);
	inputs = pipeline_plan_whole_products(setup, inputs + shared - 1);
	segments_balance(setup, 0, setup->layers, (size_t)grid.pipeline, bounds);
	*partition = (struct rank_partition){ .first = bounds[place.stage],
					      .last = bounds[place.stage + 1],
					      .row = (uint64_t)place.data * all,
					      .rows = all,
					      .part = place.part,
					      .parts = grid.tensor,
					      .kept = kept * rows,
					      .kept_input = inputs * rows,
					      .step_rows = shared * rows };
}

static double pipeline_plan_wire_bytes(const struct setup *setup)
{
	double most = 0, bytes = (double)(setup->batch * precision_bytes(setup->precision));

	for (int rank = 0; rank < setup->ranks; rank++) {
		struct rank_partition partition;
		uint64_t width;

		setup->mode->partition(setup, rank, &partition);
		width = (partition.first > 0 ? setup->widths[partition.first] : 0) +
			(partition.last < setup->layers ? setup->widths[partition.last] : 0);
		most = bytes * (double)width > most ? bytes * (double)width : most;
	}
	return most;
}

double pipeline_plan_bubble(const struct setup *setup)
{
	double waits = model_setup_grid_of(setup).pipeline - 1, micro = (double)setup->microbatches;
	uint64_t shared = setup_wgrad_microbatches(setup);
	struct schedule k;

	/*
	 * A step has 3 products per layer, in forward and backward; a stage waits for 2 of each
	 * stage before and after it.
	 */
	if (shared == 1)
		return setup_dgrad_first(setup) ? 2 * waits / (3 * micro + 2 * waits)
						: waits / (micro + waits);
	/* Simulated: equal stages with shared products, and messages that take no time. */
	pipeline_plan_schedule_open(&k, setup);
	for (int i = 0; i < k.stages; i++)
		k.stage[i] = (struct schedule_stage){
			.forward = 1, .inputs = 1, .weights = (double)shared, .dgrad_first = i > 0
		};
	return 1 - 3 * micro / pipeline_plan_schedule_carry_out(&k);
}

/* State of a stage during the simulation. */
struct stage_progress {
	uint64_t warmup, forwards, backwards;
	double free;     /* time at which its current operation ends */
	double down, up; /* times at which its links to the next and the previous stage are free */
	double *outputs, *back; /* time at which micro-batch i of forward or backward arrives */
};

struct carrying {
	struct schedule *schedule;
	bool first_last; /* backwards begin with the last micro-batch */
	struct stage_progress *progress;
};

void pipeline_plan_schedule_open(struct schedule *schedule, const struct setup *setup)
{
	*schedule =
		(struct schedule){ .setup = setup, .stages = model_setup_grid_of(setup).pipeline };
}

/*
 * Arrival time of data that are ready at `ready` and are sent over the link of `of`, which is free
 * at *link.
 */
static double pipeline_plan_schedule_sent_at(const struct schedule_stage *of, double ready,
					     double *link)
{
	double begins = fmax(ready, *link);

	*link = begins + of->occupied;
	return begins + of->send;
}

static bool pipeline_plan_advance_forward(struct carrying *k, int index)
{
	const struct schedule_stage *stage = &k->schedule->stage[index];
	struct stage_progress *p = &k->progress[index], *before = index > 0 ? p - 1 : NULL;
	uint64_t micro = p->forwards;

	if (before && before->forwards <= micro)
		return false;
	p->free = fmax(p->free, before ? before->outputs[micro] : 0) + stage->forward;
	p->outputs[micro] = index + 1 < k->schedule->stages
				    ? pipeline_plan_schedule_sent_at(stage, p->free, &p->down)
				    : p->free;
	p->forwards++;
	return true;
}

static bool pipeline_plan_advance_backward(struct carrying *k, int index)
{
	const struct schedule_stage *stage = &k->schedule->stage[index];
	struct stage_progress *p = &k->progress[index],
			      *next = index + 1 < k->schedule->stages ? p + 1 : NULL;
	uint64_t all = k->schedule->setup->microbatches;
	uint64_t product = pipeline_plan_product(k->schedule->setup, !next, p->backwards);
	uint64_t micro = k->first_last ? all - 1 - p->backwards : p->backwards;
	double made;

	if (next && next->backwards <= p->backwards)
		return false;
	made = fmax(p->free, next ? next->back[micro] : p->outputs[micro]) + stage->inputs;
	p->free = made;
	if (product > 0)
		p->free += stage->weights * (double)product /
			   (double)setup_wgrad_microbatches(k->schedule->setup);
	if (!stage->dgrad_first)
		made = p->free;
	p->back[micro] = index > 0 ? pipeline_plan_schedule_sent_at(stage - 1, made, &p->up) : made;
	p->backwards++;
	return true;
}

/* Runs the stage's next operation if its inputs are known; false: not yet, or nothing is left. */
static bool pipeline_plan_schedule_advance_stage(struct carrying *k, int index)
{
	const struct stage_progress *p = &k->progress[index];
	uint64_t all = k->schedule->setup->microbatches;

	if (p->backwards == all)
		return false;
	return p->forwards < all && p->forwards <= p->warmup + p->backwards
		       ? pipeline_plan_advance_forward(k, index)
		       : pipeline_plan_advance_backward(k, index);
}

double pipeline_plan_schedule_carry_out(struct schedule *schedule)
{
	struct carrying k = { .schedule = schedule };
	bool moved = true;
	double last;
	const struct setup *s = k.schedule->setup;
	int stages = k.schedule->stages;

	k.progress = xcalloc((size_t)stages, sizeof(*k.progress));
	for (int i = 0; i < stages; i++) {
		k.progress[i].warmup = s->mode->warmup(stages, i, s->microbatches);
		k.progress[i].outputs = xcalloc(s->microbatches, sizeof(double));
		k.progress[i].back = xcalloc(s->microbatches, sizeof(double));
	}
	k.first_last = k.progress[0].warmup == s->microbatches &&
		       k.progress[stages - 1].warmup == s->microbatches;
	while (moved) {
		moved = false;
		for (int i = 0; i < schedule->stages; i++)
			while (pipeline_plan_schedule_advance_stage(&k, i))
				moved = true;
	}
	last = 0;
	for (int i = 0; i < k.schedule->stages; i++) {
		struct stage_progress *p = &k.progress[i];

		k.schedule->stage[i].last = p->free;
		/* NaN stays NaN. */
		last = p->free <= last ? last : p->free;
		free(p->outputs);
		free(p->back);
	}
	free(k.progress);
	return last;
}

/* The modes that divide a model by layers: see pipeline.h. */

/* They differ in the warm-up, and whether gradients of inputs come first. */
#define PIPELINE_ROWS                                                                        \
	.microbatched = true, .recomputes = true, .transformers = true,                      \
	.refusal = pipeline_plan_refusal, .partition = pipeline_plan_partition,              \
	.buffers = pipeline_buffers, .open = pipeline_open, .close = pipeline_close,         \
	.tuned = pipeline_tuned, .enqueue = pipeline_enqueue, .commands = pipeline_commands, \
	.wire_bytes = pipeline_plan_wire_bytes, .bubble = pipeline_plan_bubble

/*
 * One micro-batch: the naive split, in which only one stage works at a time; with more: GPipe's
 * schedule, all forwards and then all backwards. A stage sends nothing back before its backward is
 * complete, as in a model that is split by hand: the comparison with gpipe shows the gain of
 * gpipe's order.
 */
const struct mode mode_layer_split = {
	.name = "layer_split",
	.summary = "pipeline, one stage per device, whole backward passes; one micro-batch: naive "
		   "pipeline, more: GPipe",
	.warmup = pipeline_plan_warmup_all,
	PIPELINE_ROWS,
};

/* All forwards, then all backwards, then one optimizer step (GPipe). */
const struct mode mode_gpipe = {
	.name = "gpipe",
	.summary = "pipeline, one stage per device: all forward passes, then all backward passes",
	.warmup = pipeline_plan_warmup_all,
	.dgrad_first = true,
	PIPELINE_ROWS,
};

/*
 * One forward, one backward: a stage keeps only as many micro-batches as there are stages after it.
 * The idle share equals GPipe's, but the memory is less.
 */
const struct mode mode_1f1b = {
	.name = "1f1b",
	.summary = "pipeline, one stage per device: alternates one forward and one backward pass",
	.warmup = pipeline_plan_warmup_plain,
	.dgrad_first = true,
	PIPELINE_ROWS,
};

/*
 * One forward, one backward, after twice the warm-up: other micro-batches hide the round trip of a
 * micro-batch, at the cost of their memory.
 */
const struct mode mode_1f1b_eager = {
	.name = "1f1b_eager",
	.summary = "1f1b with twice as many warm-up passes, to hide transfers",
	.warmup = pipeline_plan_warmup_eager,
	.dgrad_first = true,
	PIPELINE_ROWS,
};
