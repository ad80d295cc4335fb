#include "suites/training/models/segments.h"

#include <math.h>

#include "suites/training/models/mode.h"
#include "suites/training/models/model.h"

/*
 * least[s][l]: the largest stage if layers [first, first + l) are divided optimally into s stages;
 * cut: its last bound, also relative to the first layer.
 */
struct stage_table {
	double least[SETUP_MAX_LAYERS + 1][SETUP_MAX_LAYERS + 1];
	size_t cut[SETUP_MAX_LAYERS + 1][SETUP_MAX_LAYERS + 1];
};

void segments_balance(const struct setup *setup, size_t first, size_t last, size_t stages,
		      size_t *bounds)
{
	struct stage_table table = { 0 };
	size_t layers = last - first, at = layers;

	for (size_t l = 1; l <= layers; l++)
		table.least[0][l] = INFINITY;
	for (size_t s = 1; s <= stages; s++)
		for (size_t l = s; l <= layers; l++) {
			double work = 0;

			/* The last stage has from one layer up to all but s - 1. */
			table.least[s][l] = INFINITY;
			for (size_t cut = l; cut-- > s - 1;) {
				double largest;

				work += model_layer_flops(setup, first + cut, setup->batch);
				largest = fmax(table.least[s - 1][cut], work);
				if (largest <= table.least[s][l]) {
					table.least[s][l] = largest;
					table.cut[s][l] = cut;
				}
			}
		}
	bounds[stages] = last;
	for (size_t s = stages; s > 0; s--) {
		at = table.cut[s][at];
		bounds[s - 1] = first + at;
	}
}

void segments_make(struct segments *s, const struct setup *setup,
		   const struct rank_partition *partition)
{
	size_t layers = partition->last - partition->first;

	*s = (struct segments){ .count = (setup->segments * layers + setup->layers - 1) /
					 setup->layers,
				.recompute_last = partition->kept > partition->step_rows };
	if (s->count > layers)
		s->count = layers;
	/*
	 * A pipeline stage groups its layers by segment even if none is recomputed:
	 * network.h.
	 */
	if (!setup->mode->microbatched &&
	    (s->count == layers || (s->count == 1 && !s->recompute_last)))
		s->count = 0;
	if (s->count > 0)
		segments_balance(setup, partition->first, partition->last, s->count, s->bounds);
}

size_t segments_index(const struct segments *s, size_t layer)
{
	size_t segment = 0;

	while (segment + 1 < s->count && s->bounds[segment + 1] <= layer)
		segment++;
	return segment;
}

size_t segments_first(const struct segments *s, size_t layer)
{
	return s->bounds[segments_index(s, layer)];
}

size_t segments_buffer(const struct segments *s, size_t l)
{
	if (s->count == 0 || l < s->bounds[0] || l >= s->bounds[s->count])
		return 0;
	return l - s->bounds[segments_index(s, l)];
}

uint64_t segments_width(const struct segments *s, const struct setup *setup,
			const struct rank_partition *partition, size_t buffer)
{
	uint64_t widest = 0;

	for (size_t l = partition->first; l < partition->last && s->count > 0; l++)
		if (segments_buffer(s, l) == buffer &&
		    model_partition_width(setup, partition, l) > widest)
			widest = model_partition_width(setup, partition, l);
	return widest;
}

size_t segments_recompute_from(const struct segments *s, size_t layer)
{
	size_t segment = segments_index(s, layer);

	if (s->count == 0 || s->bounds[segment + 1] != layer + 1 ||
	    (segment + 1 == s->count && !s->recompute_last))
		return layer;
	return s->bounds[segment];
}

double segments_recompute_flops(const struct setup *setup)
{
	double flops = 0;

	for (size_t l = 0; l < setup->layers && setup_recomputes_blocks(setup); l++)
		flops += model_block_recompute_flops(setup, l, setup->batch);
	if (setup->kind != MODEL_MLP)
		return flops;
	for (int rank = 0; rank < setup->ranks; rank++) {
		struct segments s;
		struct parameter_shard shard;
		struct rank_partition partition;
		struct model local;

		model_parameter_shard_of(setup, rank, &partition, &shard);
		model_init_partition(&local, setup, &partition);
		segments_make(&s, setup, &partition);
		for (size_t l = partition.first; l < partition.last; l++)
			for (size_t r = segments_recompute_from(&s, l); r < l; r++)
				flops += 2 * (double)partition.rows * (double)local.layer[r].in *
					 (double)local.layer[r].out;
	}
	return flops;
}
