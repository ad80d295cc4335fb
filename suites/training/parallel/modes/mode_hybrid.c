/*
 * Data x tensor x pipeline parallelism together: every replica of the model is a 1F1B pipeline, the
 * ranks of each stage divide its layers, and the replicas sum their gradients.
 *
 * A stage may begin between the layers of a pair: then the parts of the activations between them
 * cross the edge, each to the rank with the same part. The sums over parts run on the compute
 * stream, because all later operations need them; the gradients of the last micro-batch are sent
 * layer by layer while the layers before are computed.
 */
#include <math.h>

#include "base/memory.h"
#include "suites/training/parallel/modes/pipeline/pipeline.h"
#include "suites/training/models/setup.h"
#include "suites/training/parallel/trainer/trainer.h"

static enum status hybrid_open(struct trainer *t, struct error *err)
{
	if (rank_team_open_grid(t->team, t->setup, err) != STATUS_OK ||
	    world_agree(t->team->world, backend_event_create(t->team->device, &t->layer_done, err),
			err) != STATUS_OK)
		return err->status;
	if (t->team->tensor && t->setup->kind == MODEL_TRANSFORMER &&
	    trainer_parts_open(t, t->team->tensor, STREAM_COMPUTE, err) != STATUS_OK)
		return err->status;
	return pipeline_open(t, err);
}

static void hybrid_close(struct trainer *t)
{
	trainer_parts_close(t);
	backend_event_destroy(t->layer_done);
	t->layer_done = NULL;
	pipeline_close(t);
}

static unsigned hybrid_commands(const struct trainer *t)
{
	uint64_t layers = t->network.partition.last - t->network.partition.first;

	return pipeline_commands(t) + (unsigned)(layers * (2 * t->setup->microbatches + 3));
}

/* Both directions of both edges, the sums over parts, and the sum over replicas (as rings). */
static double mode_hybrid_wire_bytes_of(const struct setup *setup, int rank)
{
	struct grid grid = model_setup_grid_of(setup);
	struct rank_partition partition;
	struct parameter_shard shard;
	double columns = 0, links = 0, sums = 0, t = grid.tensor, n = grid.data;
	double bytes = (double)precision_bytes(setup->precision);

	model_parameter_shard_of(setup, rank, &partition, &shard);
	if (partition.first > 0)
		columns += (double)model_partition_width(setup, &partition, partition.first);
	if (partition.last < setup->layers)
		columns += (double)model_partition_width(setup, &partition, partition.last);
	for (size_t l = partition.first; l < partition.last; l++) {
		enum layer_split split = model_layer_split(setup, l, partition.parts);

		if (partition.parts > 1)
			links += trainer_parts_sent_bytes(setup, l, partition.parts);
		if (split == ROW_PARALLEL)
			sums += (double)setup->widths[l + 1];
		else if (split == COLUMN_PARALLEL && l > 0)
			sums += (double)setup->widths[l];
	}
	return (double)partition.rows * (bytes * (columns + 2 * (t - 1) / t * sums) + links) +
	       bytes * 2 * (n - 1) / n * (double)shard.elements;
}

static double hybrid_wire_bytes(const struct setup *setup)
{
	double most = 0;

	for (int rank = 0; rank < setup->ranks; rank++)
		most = fmax(most, mode_hybrid_wire_bytes_of(setup, rank));
	return most;
}

const struct mode mode_hybrid = {
	.name = "hybrid",
	.summary =
		"data x tensor x pipeline: replicas of 1F1B pipelines with tensor-parallel stages",
	.microbatched = true,
	.gridded = true,
	.recomputes = true,
	.transformers = true,
	.shares_layers = true,
	.dgrad_first = true,
	.refusal = pipeline_plan_refusal,
	.warmup = pipeline_plan_warmup_plain,
	.partition = pipeline_plan_partition,
	.buffers = pipeline_buffers,
	.open = hybrid_open,
	.close = hybrid_close,
	.tuned = pipeline_tuned,
	.enqueue = pipeline_enqueue,
	.commands = hybrid_commands,
	.wire_bytes = hybrid_wire_bytes,
	.bubble = pipeline_plan_bubble,
};
