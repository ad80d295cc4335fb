#include "suites/training/models/parameter_shard.h"

#include "suites/training/models/mode.h"

void parameter_shard_all(struct parameter_shard *h, uint64_t elements)
{
	*h = (struct parameter_shard){ .elements = elements,
				       .weights = elements,
				       .gradients = elements,
				       .master = elements,
				       .moments = elements,
				       .count = 1 };
	h->ranges[0] = (struct shard_range){ .count = elements };
}

void parameter_shard_of(const struct setup *setup, int rank, struct rank_partition *partition,
			uint64_t *step_rows, struct parameter_shard *shard)
{
	struct model model;

	*partition = (struct rank_partition){ 0 };
	setup->mode->partition(setup, rank, partition, step_rows);
	if (partition->parts == 0)
		partition->parts = 1;
	if (partition->kept == 0)
		partition->kept = partition->rows;
	if (partition->kept_input == 0)
		partition->kept_input = partition->kept;
	if (partition->last == setup->layers && partition->loss_rows == 0 && !partition->no_loss)
		partition->loss_rows = partition->rows;
	model_init_partition(&model, setup, partition);
	parameter_shard_all(shard, model.elements);
	if (setup->mode->shard)
		setup->mode->shard(setup, rank, shard);
}

bool parameter_shard_is_whole(const struct parameter_shard *h)
{
	return h->count == 1 && h->ranges[0].count == h->elements;
}

static bool shard_overlaps(const struct shard_range *range, uint64_t first, uint64_t count)
{
	return range->flat < first + count && first < range->flat + range->count;
}

bool parameter_shard_has_parameters(const struct parameter_shard *h, const struct model *local)
{
	for (size_t i = 0; i < h->count; i++)
		for (size_t l = 0; l < local->layers; l++) {
			const struct model_layer *layer = &local->layer[l];

			for (size_t t = 0; t < layer->tensors; t++)
				if (shard_overlaps(&h->ranges[i], layer->tensor[t].first,
						   layer->tensor[t].count))
					return true;
		}
	return false;
}
