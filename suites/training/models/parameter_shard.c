#include "suites/training/models/parameter_shard.h"

#include "suites/training/models/mode.h"

void parameter_shard_of(const struct setup *setup, int rank, struct rank_partition *partition,
			struct parameter_shard *shard)
{
	struct model model;

	*partition = (struct rank_partition){ 0 };
	setup->mode->partition(setup, rank, partition);
	if (partition->parts == 0)
		partition->parts = 1;
	if (partition->kept == 0)
		partition->kept = partition->rows;
	if (partition->kept_input == 0)
		partition->kept_input = partition->kept;
	if (partition->step_rows == 0)
		partition->step_rows = partition->kept;
	if (partition->last == setup->layers && partition->loss_rows == 0 && !partition->no_loss)
		partition->loss_rows = partition->rows;
	model_init_partition(&model, setup, partition);
	*shard = (struct parameter_shard){ .elements = model.elements,
					   .weights = model.elements,
					   .gradients = model.elements,
					   .master = model.elements,
					   .moments = model.elements,
					   .ranges = { { .count = model.elements } },
					   .count = 1 };
	if (setup->mode->shard)
		setup->mode->shard(setup, rank, shard);
}

bool parameter_shard_is_whole(const struct parameter_shard *h)
{
	return h->count == 1 && h->ranges[0].count == h->elements;
}

bool parameter_shard_has_parameters(const struct parameter_shard *h, const struct model *local)
{
	for (size_t i = 0; i < h->count; i++)
		for (size_t l = 0; l < local->layers; l++)
			for (size_t t = 0; t < local->layer[l].tensors; t++) {
				const struct shard_range *range = &h->ranges[i];
				const struct model_tensor *tensor = &local->layer[l].tensor[t];

				if (range->flat < tensor->first + tensor->count &&
				    tensor->first < range->flat + range->count)
					return true;
			}
	return false;
}
