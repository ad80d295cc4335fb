#include "suites/mlp/holding.h"

#include "suites/mlp/mode.h"

void holding_all(struct holding *h, uint64_t elements)
{
	*h = (struct holding){ .elements = elements,
			       .weights = elements,
			       .gradients = elements,
			       .master = elements,
			       .moments = elements,
			       .count = 1 };
	h->spans[0] = (struct span){ .count = elements };
}

void holding_of(const struct setup *setup, int rank, struct share *share, uint64_t *step_rows,
		struct holding *holding)
{
	struct model model;

	*share = (struct share){ 0 };
	setup->mode->share(setup, rank, share, step_rows);
	if (share->parts == 0)
		share->parts = 1;
	if (share->kept == 0)
		share->kept = share->rows;
	if (share->kept_input == 0)
		share->kept_input = share->kept;
	if (share->last == setup->layers && share->loss_rows == 0 && !share->no_loss)
		share->loss_rows = share->rows;
	model_init_share(&model, setup, share);
	holding_all(holding, model.elements);
	if (setup->mode->hold)
		setup->mode->hold(setup, rank, holding);
}

bool holding_is_whole(const struct holding *h)
{
	return h->count == 1 && h->spans[0].count == h->elements;
}

static bool overlap(const struct span *span, uint64_t first, uint64_t count)
{
	return span->flat < first + count && first < span->flat + span->count;
}

bool holding_has_parameters(const struct holding *h, const struct model *local)
{
	for (size_t i = 0; i < h->count; i++)
		for (size_t l = 0; l < local->layers; l++) {
			const struct model_layer *layer = &local->layer[l];

			if (overlap(&h->spans[i], layer->weight, layer->in * layer->out) ||
			    overlap(&h->spans[i], layer->bias, layer->out))
				return true;
		}
	return false;
}
