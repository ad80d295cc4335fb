#include "suites/mlp/buffer_alias.h"
#include "suites/parallel/modes/tensor.h"

size_t tensor_paired(const struct trainer *t)
{
	return t->setup->layers / 2 * 2;
}

uint64_t tensor_part_bytes(const struct setup *setup)
{
	uint64_t widest = 0;

	for (size_t l = 1; l < setup->layers; l += 2)
		if (setup->widths[l] > widest)
			widest = setup->widths[l];
	return setup->batch * (widest / (uint64_t)setup->ranks) * precision_bytes(setup->precision);
}

/* Size of the widest bias of even or odd layers in pairs, as this rank has it. */
static uint64_t bias_bytes(const struct setup *setup, size_t parity)
{
	uint64_t widest = 0;

	for (size_t l = parity; l < setup->layers / 2 * 2; l += 2) {
		uint64_t out = setup->widths[l + 1] / (parity == 0 ? (uint64_t)setup->ranks : 1);

		widest = out > widest ? out : widest;
	}
	return widest * precision_bytes(setup->precision);
}

uint64_t tensor_buffers(const struct setup *setup, int rank)
{
	(void)rank;
	return tensor_part_bytes(setup) + bias_bytes(setup, 0) + bias_bytes(setup, 1);
}

static bool any_alias(const struct network *n)
{
	for (size_t l = 0; l <= n->setup->layers; l++)
		if (n->overwritten_in_backward[l])
			return true;
	return false;
}

/*
 * Bias gradients are complete before the last chunk has read the masks and before the wgrad GEMM has read the inputs,
 * either of which may alias their memory: so they need temporary buffers. One for even, one for odd layers.
 */
enum status tensor_open_bias_sums(struct trainer *t, struct error *err)
{
	struct network *n = &t->network;

	for (size_t parity = 0; parity < 2 && any_alias(n); parity++) {
		void *sums;

		if (arena_alloc(&t->arena, MEMORY_TRANSIENT, bias_bytes(t->setup, parity), &sums,
				err) != STATUS_OK)
			return err->status;
		for (size_t l = parity; l < tensor_paired(t); l += 2)
			n->bias_sums[l] = sums;
	}
	return STATUS_OK;
}

enum status tensor_place_bias_sum(struct trainer *t, size_t l, struct error *err)
{
	struct network *n = &t->network;

	if (!n->bias_sums[l])
		return STATUS_OK;
	return backend_copy(t->team->streams[STREAM_COMPUTE],
			    network_bias(n, l, n->layer_gradients[l]), n->bias_sums[l],
			    n->local.layer[l].out * precision_bytes(t->setup->precision), err);
}

/*
 * The gradients between the layers of the pair. If aliased: in the outputs of the pair, whose masks are read chunk by
 * chunk before, or in the memory of the last layer's gradients.
 */
void *tensor_part(const struct trainer *t, size_t first)
{
	const struct tensor *s = t->state;
	const struct network *n = &t->network;

	if (!s->part_aliased)
		return s->part;
	return first + 2 < t->setup->layers ? n->activations[first + 2]
					    : n->layer_gradients[first + 1];
}

static bool all_transposed(const struct trainer *t, size_t parity)
{
	for (size_t l = parity; l < tensor_paired(t); l += 2)
		if (t->network.wgrad_layouts[l] != WGRAD_TRANSPOSED)
			return false;
	return true;
}

/* Once the gradient of the part is computed, the transposed copy replaces the gradient of the outputs. */
static bool fits_in_place(const struct trainer *t)
{
	const struct network *n = &t->network;

	for (size_t first = 0; first < tensor_paired(t); first += 2)
		if (n->local.layer[first + 1].out > network_inside(n) ||
		    (first > 0 && t->setup->widths[first] != t->setup->widths[first + 2]))
			return false;
	return all_transposed(t, 1);
}

/* A chunk of the part is no longer than the same rows of what it replaces. */
static bool fits_part(const struct trainer *t)
{
	const struct network *n = &t->network;

	for (size_t first = 0; first < tensor_paired(t); first += 2) {
		const struct model_layer *second = &n->local.layer[first + 1];

		if (first + 2 < t->setup->layers ? second->in > t->setup->widths[first + 2]
						 : t->setup->batch > second->out)
			return false;
	}
	/* A whole layer after the pairs has a copy as well, larger than that of a part. */
	if (tensor_paired(t) < t->setup->layers &&
	    n->wgrad_layouts[tensor_paired(t)] == WGRAD_TRANSPOSED)
		return false;
	return all_transposed(t, 0) && any_alias(n);
}

void tensor_tuned(struct trainer *t)
{
	struct tensor *s = t->state;
	struct network *n = &t->network;
	size_t logits = t->setup->layers % 2;

	if (!buffer_alias_possible(n))
		return;
	if (fits_in_place(t)) {
		arena_free(&t->arena, n->transposed[1]);
		n->transposed[1] =
			n->transient[tensor_paired(t) < t->setup->layers ? logits : 1 - logits];
		s->in_place = true;
	}
	if (fits_part(t)) {
		arena_free(&t->arena, n->transposed[0]);
		n->transposed[0] = s->part;
		s->part_aliased = true;
		for (size_t l = 2; l < t->setup->layers; l += 2)
			n->overwritten_in_backward[l] = true;
	}
}
