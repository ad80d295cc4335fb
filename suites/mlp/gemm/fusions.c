#include "suites/mlp/gemm/fusions.h"

#include "suites/mlp/gemm/products.h"
#include "suites/mlp/gemm/trial.h"

struct fusion_trial {
	struct network *network;
	size_t layer;
	uint64_t row, rows;
};

enum way { WAY_APART, WAY_FUSED, WAYS };

static enum status run_way(void *context, struct stream *stream, size_t way, struct error *err)
{
	const struct fusion_trial *t = context;

	t->network->fusions[t->layer] = way == WAY_FUSED ? FUSION_ON : FUSION_OFF;
	return network_forward(t->network, stream, t->layer, t->row, t->rows, err);
}

/* A layer of the same shape has the same answer; the last one has another epilogue. */
static enum fusion settled_like(const struct network *n, size_t layer)
{
	const struct model_layer *mine = &n->local.layer[layer];

	for (size_t l = n->share.first; l < n->share.last; l++)
		if (n->fusions[l] != FUSION_AUTO && n->local.layer[l].in == mine->in &&
		    n->local.layer[l].out == mine->out &&
		    (l + 1 == n->setup->layers) == (layer + 1 == n->setup->layers))
			return n->fusions[l];
	return FUSION_AUTO;
}

/* Where the answer is no matter of measurement; FUSION_AUTO: it is. */
static enum fusion given_fusion(const struct network *n, size_t layer)
{
	if (n->setup->fusion != FUSION_AUTO)
		return n->setup->fusion;
	/* Every rank computes this layer, and all must get the same bits. */
	if (n->share.parts > 1 && setup_layer_split(n->setup, layer, n->share.parts) == SPLIT_NONE)
		return FUSION_OFF;
	/* The CPU adds them to what is in its cache, at no time: and a result repeats. */
	if (n->device->info.capabilities & DEVICE_SHARES_HOST_MEMORY)
		return FUSION_ON;
	return settled_like(n, layer);
}

enum status fusion_settle(struct network *n, struct stream *stream, size_t layer, uint64_t row,
			  uint64_t rows, struct error *err)
{
	struct fusion_trial trial = { n, layer, row, rows };
	struct error own = ERROR_NONE;
	size_t fastest = WAY_APART;

	n->fusions[layer] = given_fusion(n, layer);
	if (n->fusions[layer] != FUSION_AUTO)
		return STATUS_OK;
	/* Not every library has such products for every precision and shape. */
	if (trial_fastest(stream, WAYS, run_way, &trial, &fastest, &own) == STATUS_UNSUPPORTED)
		fastest = WAY_APART;
	else if (own.status != STATUS_OK)
		return error_set(err, own.status, "%s", own.message);
	n->fusions[layer] = fastest == WAY_FUSED ? FUSION_ON : FUSION_OFF;
	return STATUS_OK;
}
