#include "suites/parallel/modes/tensor_blocks.h"

#include "suites/parallel/modes/data_parallel.h"
#include "suites/parallel/trainer/parts.h"

const char *tensor_blocks_refusal(const struct setup *setup)
{
	if (setup->kind != MODEL_TRANSFORMER)
		return "sequence parallelism is for model = transformer";
	return setup->ranks < 2 ? "tensor parallel needs at least two devices"
				: accumulation_refusal(setup, setup->batch);
}

void tensor_blocks_partition(const struct setup *setup, int rank, struct rank_partition *partition,
			     uint64_t *step_rows)
{
	*step_rows = setup->batch / setup_accumulate(setup);
	*partition = (struct rank_partition){ .last = setup->layers,
					      .rows = setup->batch,
					      .part = rank,
					      .parts = setup->ranks,
					      .sequence = setup->mode->sequence,
					      .kept = *step_rows };
}

enum status tensor_blocks_open(struct trainer *t, struct error *err)
{
	return parts_open(t, t->team->all, t->setup->no_overlap ? STREAM_COMPUTE : STREAM_PREVIOUS,
			  err);
}

enum status tensor_blocks_enqueue(struct trainer *t, unsigned parts, struct error *err)
{
	parts_begin(t, parts);
	for (uint64_t i = 0; i < setup_accumulate(t->setup); i++)
		if (forward_part(t, i, err) != STATUS_OK || backward_part(t, i, err) != STATUS_OK)
			return err->status;
	if (network_backward_end(&t->network, trainer_stream(t), err) != STATUS_OK)
		return err->status;
	return trainer_update(t, parts, err);
}

/* A collective is a wait, an event and another wait. */
unsigned tensor_blocks_commands(const struct trainer *t)
{
	uint64_t collectives = setup_accumulate(t->setup) * (t->setup->mode->sequence ? 13 : 5);

	return network_commands(&t->network, setup_accumulate(t->setup)) +
	       (unsigned)(4 * (collectives + 2) * t->setup->layers);
}

double tensor_blocks_wire_bytes(const struct setup *setup)
{
	double bytes = 0;

	for (size_t l = 0; l < setup->layers; l++)
		bytes += parts_sent_bytes(setup, l, setup->ranks);
	return (double)setup->batch * bytes;
}

const struct mode mode_tensor_sequence = {
	.name = "tensor_sequence",
	.aliases_buffers = true,
	.summary = "tensor parallel transformer whose norms and residuals are shared by rows",
	.overlap = OVERLAP_BACKWARD,
	.overlaps = true,
	.accumulates = true,
	.transformers = true,
	.shares_layers = true,
	.sequence = true,
	.refusal = tensor_blocks_refusal,
	.partition = tensor_blocks_partition,
	.open = tensor_blocks_open,
	.close = parts_close,
	.enqueue = tensor_blocks_enqueue,
	.commands = tensor_blocks_commands,
	.wire_bytes = tensor_blocks_wire_bytes,
	.bubble = mode_nothing,
};
