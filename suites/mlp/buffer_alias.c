#include "suites/mlp/buffer_alias.h"

#include "suites/mlp/mode.h"

bool buffer_alias_possible(const struct network *n)
{
	return n->setup->mode->aliases_buffers && setup_accumulate(n->setup) == 1 &&
	       n->segments.count == 0 && n->partition.first == 0 && n->partition.last == n->setup->layers;
}

static bool has_gaps(const struct model_layer *layer)
{
	return layer->weight + layer->in * layer->out != layer->bias ||
	       layer->bias + layer->out != layer->end;
}

/* A range of the array of gradients that backward of `layer` completes. */
struct slot {
	uint64_t first, end;
	size_t layer;
	bool gaps;
};

/* If this rank keeps all gradients: one slot per layer, the last layer first. */
static size_t slots_of_layers(const struct network *n, struct slot *slots)
{
	size_t count = 0;

	for (size_t l = n->partition.last; l-- > n->partition.first;) {
		const struct model_layer *layer = &n->local.layer[l];

		slots[count++] = (struct slot){ layer->weight, layer->end, l, has_gaps(layer) };
	}
	return count;
}

/* If it keeps shards of the sums: each is complete when its lowest layer has been reduced. */
static size_t slots_of_slices(const struct network *n, struct slot *slots)
{
	uint64_t shards = n->setup->shards;
	size_t count = 0;
	bool gaps = false;

	for (size_t l = n->partition.last; l-- > n->partition.first;) {
		const struct model_layer *layer = &n->local.layer[l];

		gaps |= has_gaps(layer);
		for (size_t i = 0; i < n->shard.count; i++) {
			const struct shard_range *range = &n->shard.ranges[i];
			uint64_t end = range->gradients + range->count;

			if (end * shards != layer->end)
				continue;
			slots[count++] = (struct slot){ range->gradients, end, l, gaps };
			gaps = false;
		}
	}
	return count;
}

/* The end of the contiguous range without gaps that begins with slot `i`. */
static uint64_t run_end(const struct slot *slots, size_t count, size_t i)
{
	uint64_t end = slots[i].end;

	while (++i < count && !slots[i].gaps && slots[i].first == end)
		end = slots[i].end;
	return end;
}

/* The first position from `from` on with room for `elements`, in slots of layer `below` and lower. */
static uint64_t place(const struct slot *slots, size_t count, uint64_t from, size_t below,
		      uint64_t elements)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t at = slots[i].first > from ? slots[i].first : from;

		if (slots[i].layer <= below && !slots[i].gaps && at < slots[i].end &&
		    at + elements <= run_end(slots, count, i))
			return at;
	}
	return BUFFER_ALIAS_NONE;
}

/* Latest outputs first, each at the first position possible: outputs with longer lifetimes come after it. */
void buffer_alias_plan(const struct network *n, uint64_t at[SETUP_MAX_LAYERS + 1])
{
	bool whole = n->shard.gradients == n->local.elements;
	struct slot slots[SETUP_MAX_LAYERS];
	size_t count = 0;
	uint64_t from = 0;

	for (size_t l = 0; l <= SETUP_MAX_LAYERS; l++)
		at[l] = BUFFER_ALIAS_NONE;
	if (buffer_alias_possible(n))
		count = whole ? slots_of_layers(n, slots) : slots_of_slices(n, slots);
	for (size_t l = n->partition.last; --l > n->partition.first && count > 0;) {
		uint64_t elements = n->kept[l] * partition_width(n->setup, &n->partition, l);

		at[l] = place(slots, count, from, l - 1, elements);
		if (at[l] != BUFFER_ALIAS_NONE)
			from = (at[l] + elements + MODEL_ALIGN - 1) / MODEL_ALIGN * MODEL_ALIGN;
	}
}

void buffer_alias_transposed(struct network *n)
{
	uint64_t room = network_inside(n);

	if (!n->transposed[0] || !buffer_alias_possible(n) || n->partition.parts > 1)
		return;
	for (size_t l = n->partition.first; l < n->partition.last; l++)
		if (n->wgrad_layouts[l] == WGRAD_TRANSPOSED && n->local.layer[l].out > room)
			return;
	arena_free(n->arena, n->transposed[0]);
	n->transposed[0] = n->transient[0];
	n->transposed[1] = n->transient[1];
	n->alternate_transposed = true;
}
