/* The order of each stage's operations, and the cost by formula. */
#include "suites/training/models/stages.h"
#include "suites/training/parallel/modes/pipeline/pipeline.h"
#include "suites/training/parallel/modes/pipeline/schedule.h"
#include "suites/training/parallel/ranks/grid.h"

/* Input buffers in addition to those in use: one is received while the last is in use. */
#define SPARE_INPUTS 1

uint64_t pipeline_warmup_all(int stages, int stage, uint64_t micro)
{
	(void)stages;
	(void)stage;
	return micro;
}

uint64_t pipeline_warmup_plain(int stages, int stage, uint64_t micro)
{
	uint64_t later = (uint64_t)(stages - 1 - stage);

	return later < micro ? later : micro;
}

uint64_t pipeline_warmup_eager(int stages, int stage, uint64_t micro)
{
	uint64_t later = 2 * (uint64_t)(stages - 1 - stage);

	return later < micro ? later : micro;
}

uint64_t pipeline_product(const struct setup *setup, bool last_stage, uint64_t turn)
{
	uint64_t shared = setup_wgrad_microbatches(setup), done = turn + 1;

	if (shared > 1 && !last_stage && done + 1 >= setup->microbatches)
		return done == setup->microbatches ? 1 : shared - 1;
	return done % shared == 0 ? shared : 0;
}

static const char *pipeline_plan_parts_refusal(const struct setup *setup)
{
	struct grid grid = grid_of(setup);

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
			return "the inner width of a pair of layers is not divisible by the "
			       "tensor size of the grid";
	return setup->batch % (uint64_t)grid.data
		       ? "the batch is not divisible by the data size of the grid"
		       : NULL;
}

const char *pipeline_refusal(const struct setup *setup)
{
	struct grid grid = grid_of(setup);
	const char *reason = pipeline_plan_parts_refusal(setup);
	uint64_t shared = setup_wgrad_microbatches(setup);

	if (setup->ranks < 2)
		return "a pipeline needs at least two devices";
	if (reason)
		return reason;
	if ((size_t)grid.pipeline > setup->layers)
		return "more devices than layers";
	if (setup->batch / (uint64_t)grid.data % setup->microbatches)
		return "the batch is not divisible by microbatches";
	if (shared > 1 && setup->segments > 0)
		return "wgrad_microbatches above 1 does not work with recompute, which does "
		       "not keep the activations";
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

void pipeline_partition(const struct setup *setup, int rank, struct rank_partition *partition)
{
	struct grid grid = grid_of(setup);
	struct grid_place place = grid_place(setup, rank);
	uint64_t all = setup->batch / (uint64_t)grid.data, rows = all / setup->microbatches;
	uint64_t first = setup->mode->warmup(grid.pipeline, place.stage, setup->microbatches);
	/* Micro-batches whose activations the stage keeps at a time. */
	uint64_t kept = first < setup->microbatches ? first + 1 : setup->microbatches;
	uint64_t inputs = kept + SPARE_INPUTS, shared = setup_wgrad_microbatches(setup);
	size_t bounds[SETUP_MAX_LAYERS + 1];

	kept = pipeline_plan_whole_products(setup, kept + shared - 1);
	inputs = pipeline_plan_whole_products(setup, inputs + shared - 1);
	stages_balance(setup, (size_t)grid.pipeline, bounds);
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

double pipeline_wire_bytes(const struct setup *setup)
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

double pipeline_bubble(const struct setup *setup)
{
	double waits = grid_of(setup).pipeline - 1, micro = (double)setup->microbatches;
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
	schedule_open(&k, setup);
	for (int i = 0; i < k.stages; i++)
		k.stage[i] = (struct schedule_stage){
			.forward = 1, .inputs = 1, .weights = (double)shared, .dgrad_first = i > 0
		};
	return 1 - 3 * micro / schedule_carry_out(&k);
}
