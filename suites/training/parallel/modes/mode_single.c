/* One device computes the whole step: the baseline of every split. */
#include "suites/training/models/gemm/layer.h"
#include "suites/training/parallel/modes/data_parallel.h"

static const char *single_refusal(const struct setup *setup)
{
	if (setup->ranks != 1)
		return "one device only";
	return data_parallel_accumulation_refusal(setup, setup->batch);
}

static void single_partition(const struct setup *setup, int rank, struct rank_partition *partition,
			     uint64_t *step_rows)
{
	(void)rank;
	*step_rows = setup->batch / setup_accumulate(setup);
	*partition = (struct rank_partition){
		.last = setup->layers, .rows = setup->batch, .parts = 1, .kept = *step_rows
	};
}

/*
 * The optimizer comes last. Running each layer's update during the products of lower layers gained
 * nothing on an H200, which is at its power limit then (TF32, 8 layers of 8192 x 8192: 74.2 ms a
 * step in both cases; 78 to 80 with separate multiprocessors).
 */
static enum status single_enqueue(struct trainer *t, unsigned parts, struct error *err)
{
	for (uint64_t i = 0; i < setup_accumulate(t->setup) && parts & STEP_COMPUTE; i++)
		if (data_parallel_forward(t, i, err) != STATUS_OK ||
		    backward_part(t, i, err) != STATUS_OK)
			return err->status;
	return trainer_update(t, parts, err);
}

static unsigned single_commands(const struct trainer *t)
{
	return network_commands(&t->network, setup_accumulate(t->setup));
}

const struct mode mode_single = {
	.name = "single",
	.summary = "one device computes the whole step",
	.replicated = true,
	.transformers = true,
	.images = true,
	.recordable = true,
	.accumulates = true,
	.recomputes = true,
	.aliases_buffers = true,
	.refusal = single_refusal,
	.partition = single_partition,
	.enqueue = single_enqueue,
	.commands = single_commands,
	.wire_bytes = mode_nothing,
	.bubble = mode_nothing,
};
