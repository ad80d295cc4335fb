#include "suites/models/gemm/fusions.h"

#include "suites/models/gemm/layer_gemm.h"
#include "suites/models/gemm/trial.h"

struct fusion_trial {
	struct network *network;
	size_t layer;
	uint64_t row, rows;
};

enum candidate { SEPARATE, FUSED, CANDIDATES };

static enum status run_candidate(void *context, struct stream *stream, size_t candidate,
				 struct error *err)
{
	const struct fusion_trial *t = context;

	t->network->fusions[t->layer] = candidate == FUSED ? FUSION_ON : FUSION_OFF;
	return network_forward(t->network, stream, t->layer, t->row, t->rows, err);
}

/* Choice of an earlier layer of the same shape; the last layer has another epilogue. */
static enum fusion tuned_like(const struct network *n, size_t layer)
{
	const struct model_layer *mine = &n->local.layer[layer];

	for (size_t l = n->partition.first; l < n->partition.last; l++)
		if (n->fusions[l] != FUSION_AUTO && n->local.layer[l].in == mine->in &&
		    n->local.layer[l].out == mine->out &&
		    (l + 1 == n->setup->layers) == (layer + 1 == n->setup->layers))
			return n->fusions[l];
	return FUSION_AUTO;
}

/* The choice, if it needs no measurement, else FUSION_AUTO. */
static enum fusion fixed_fusion(const struct network *n, size_t layer)
{
	if (n->setup->fusion != FUSION_AUTO)
		return n->setup->fusion;
	/* Every rank computes this layer, and all must get the same bits. */
	if (n->partition.parts > 1 &&
	    setup_layer_split(n->setup, layer, n->partition.parts) == SPLIT_NONE)
		return FUSION_OFF;
	/* On the CPU the fused epilogue works in cache, at no cost; results are repeatable. */
	if (n->device->info.capabilities & DEVICE_SHARES_HOST_MEMORY)
		return FUSION_ON;
	return tuned_like(n, layer);
}

enum status fusion_tune(struct network *n, struct stream *stream, size_t layer, uint64_t row,
			uint64_t rows, struct error *err)
{
	struct fusion_trial trial = { n, layer, row, rows };
	struct error own = ERROR_NONE;
	size_t fastest = SEPARATE;

	n->fusions[layer] = fixed_fusion(n, layer);
	if (n->fusions[layer] != FUSION_AUTO)
		return STATUS_OK;
	/* Not every library fuses epilogues for every precision and shape. */
	if (trial_select(stream, CANDIDATES, run_candidate, &trial, &fastest, &own) ==
	    STATUS_UNSUPPORTED)
		fastest = SEPARATE;
	else if (own.status != STATUS_OK)
		return error_set(err, own.status, "%s", own.message);
	n->fusions[layer] = fastest == FUSED ? FUSION_ON : FUSION_OFF;
	return STATUS_OK;
}
