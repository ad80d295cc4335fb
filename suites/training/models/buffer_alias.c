#include "suites/training/models/buffer_alias.h"

#include "suites/training/models/mode.h"

static bool buffer_alias_is_asked(const struct setup *s)
{
	return s->mode->aliases_buffers && !s->no_aliasing;
}

bool buffer_alias_changes(const struct setup *s)
{
	return s->kind == MODEL_TRANSFORMER || s->mode->aliases_buffers;
}

bool buffer_alias_possible(const struct network *n)
{
	return n->setup->kind == MODEL_MLP && buffer_alias_is_asked(n->setup) &&
	       setup_accumulate(n->setup) == 1 && n->segments.count == 0 &&
	       n->partition.first == 0 && n->partition.last == n->setup->layers;
}

bool buffer_alias_has_gaps(const struct model_layer *layer)
{
	uint64_t end = layer->weight;

	for (size_t t = 0; t < layer->tensors; t++) {
		if (layer->tensor[t].first != end)
			return true;
		end += layer->tensor[t].count;
	}
	return end != layer->end;
}

/* Offsets of buffers in shared memory. */
#define ROOM_ALIGN 512
static uint64_t buffer_alias_aligned(uint64_t bytes)
{
	return (bytes + ROOM_ALIGN - 1) / ROOM_ALIGN * ROOM_ALIGN;
}

static uint64_t buffer_alias_most_of(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/*
 * Ends of ranges in the array of gradients, whose order is from the last layer to the first: of the
 * head, of the blocks, and of layer `lowest`. 0: the ranges may not be shared, because accumulation
 * adds to them, gaps must stay zero, or slices are not by layer.
 */
struct ends {
	uint64_t head, blocks, lowest;
};
static struct ends buffer_alias_ends(const struct setup *s, const struct rank_partition *partition,
				     const struct parameter_shard *shard, size_t lowest)
{
	const struct ends none = { 0, 0, 0 };
	size_t head = s->layers - 1;
	struct model model;

	model_init_partition(&model, s, partition);
	for (size_t l = 0; l < head; l++)
		if (buffer_alias_has_gaps(&model.layer[l]))
			return none;
	if (setup_accumulate(s) > 1)
		return none;
	if (shard->gradients == model.elements)
		return (struct ends){ model.layer[head].end, model.layer[0].weight,
				      model.layer[lowest].end };
	if (shard->count != s->layers || !s->mode->in_logits)
		return none;
	return (struct ends){ shard->ranges[head - 1].gradients, shard->ranges[0].gradients,
			      shard->ranges[lowest].gradients + shard->ranges[lowest].count };
}

/* Minimum rows of a chunk if their number is chosen automatically: smaller products are slower. */
#define CHUNK_ROWS_LEAST 4096

/*
 * Rows of logits at a time: by setup->loss_chunks if it is set; otherwise all rows, halved until
 * the logits need no more than `rest`, the other buffers in the same memory, or, with `least`, as
 * long as they exceed it.
 */
static uint64_t buffer_alias_logit_rows(const struct setup *s,
					const struct rank_partition *partition, uint64_t row_bytes,
					uint64_t rest, bool least)
{
	uint64_t rows = partition->step_rows;

	/* Sequence parallelism scatters all rows at once. */
	if (partition->sequence)
		return rows;
	if (s->loss_chunks > 0)
		return (rows + s->loss_chunks - 1) / s->loss_chunks;
	while (rows / 2 >= CHUNK_ROWS_LEAST &&
	       (least ? rows / 2 * row_bytes >= rest : rows * row_bytes > rest))
		rows = (rows + 1) / 2;
	return rows;
}

struct logits_overlap buffer_alias_logits_overlap(const struct setup *s,
						  const struct rank_partition *partition,
						  const struct parameter_shard *shard)
{
	size_t bytes = precision_bytes(s->precision), lowest = 0;
	struct logits_overlap room = { 0 };
	uint64_t end = 0, row;
	struct ends ends;

	if (s->kind != MODEL_TRANSFORMER || partition->last < s->layers)
		return room;
	row = model_partition_width(s, partition, s->layers) * bytes;
	if (!buffer_alias_is_asked(s) || partition->first > 0 ||
	    partition->kept != partition->step_rows) {
		room.rows = buffer_alias_logit_rows(s, partition, row, 0, true);
		return room;
	}
	room.narrow = partition->parts == 1 || partition->sequence
			      ? 0
			      : partition->step_rows * s->transformer.hidden * bytes;
	room.mode = s->mode->in_logits ? s->mode->in_logits(s, &lowest) : 0;
	ends = buffer_alias_ends(s, partition, shard, lowest);
	room.at = ends.head * bytes;
	/*
	 * Overlays the gradients of lower layers, which are written after the last read of this
	 * buffer.
	 */
	room.narrow_at = buffer_alias_aligned((ends.blocks - ends.head) * bytes);
	if (room.narrow > 0)
		end = room.narrow_at + room.narrow;
	room.mode_at =
		buffer_alias_aligned(buffer_alias_most_of(end, (ends.lowest - ends.head) * bytes));
	if (room.mode > 0)
		end = room.mode_at + room.mode;
	if (ends.head > 0)
		end = buffer_alias_most_of(end, shard->gradients * bytes - room.at);
	room.rows = buffer_alias_logit_rows(s, partition, row, end, ends.head == 0);
	room.logits = room.rows * row;
	if (ends.head > 0)
		room.bytes = room.at + buffer_alias_most_of(room.logits, end);
	else if (end > room.logits)
		room.mode = 0;
	return ends.head == 0 && room.narrow > room.logits
		       ? (struct logits_overlap){ .rows = room.rows }
		       : room;
}

uint64_t buffer_alias_loss_chunks(const struct setup *s)
{
	struct rank_partition partition;
	struct parameter_shard shard;
	struct logits_overlap room;

	for (int rank = 0; rank < s->ranks; rank++) {
		model_parameter_shard_of(s, rank, &partition, &shard);
		room = buffer_alias_logits_overlap(s, &partition, &shard);
		if (room.rows > 0)
			return (partition.step_rows + room.rows - 1) / room.rows;
	}
	return 1;
}

/* Counts `bytes` of class `tag`; up to `*own` of them belong to no class yet. */
static void buffer_alias_count_in(struct arena *arena, enum memory_class tag, uint64_t bytes,
				  uint64_t *own)
{
	uint64_t moved = bytes < *own ? bytes : *own;

	arena_move(arena, MEMORY_GRADIENTS, tag, moved);
	arena_share(arena, tag, bytes - moved);
	*own -= moved;
}

enum status buffer_alias_open_gradients(struct network *n, struct error *err)
{
	const struct logits_overlap *room = &n->room;
	uint64_t own = room->bytes - n->shard.gradients * precision_bytes(n->setup->precision);
	void *memory;

	if (arena_alloc(n->arena, MEMORY_GRADIENTS, room->bytes, &memory, err) != STATUS_OK)
		return err->status;
	n->gradients = memory;
	n->activations[n->setup->layers] = (char *)memory + room->at;
	buffer_alias_count_in(n->arena, MEMORY_ACTIVATIONS, room->logits, &own);
	buffer_alias_count_in(n->arena, MEMORY_TRANSIENT, room->narrow, &own);
	buffer_alias_count_in(n->arena, MEMORY_COMMUNICATION, room->mode, &own);
	/* Padding for alignment. */
	arena_move(n->arena, MEMORY_GRADIENTS, MEMORY_TRANSIENT, own);
	return STATUS_OK;
}

/* A range in the array of gradients that backward of `layer` completes. */
struct slot {
	uint64_t first, end;
	size_t layer;
	bool gaps;
};

/*
 * If this rank keeps all gradients: one slot per layer, the last layer first. If it keeps shards of
 * the sums: each slot is complete after its lowest layer has been reduced.
 */
static size_t buffer_alias_slots_of(const struct network *n, struct slot *slots)
{
	bool gaps = false, whole = n->shard.gradients == n->local.elements;
	uint64_t shards = n->setup->shards;
	size_t count = 0;

	for (size_t l = n->partition.last; l-- > n->partition.first;) {
		const struct model_layer *layer = &n->local.layer[l];

		gaps |= buffer_alias_has_gaps(layer);
		if (whole) {
			slots[count++] = (struct slot){ layer->weight, layer->end, l, gaps };
			gaps = false;
		}
		for (size_t i = 0; i < n->shard.count && !whole; i++) {
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

/*
 * Places the outputs of late layers first, each at the first possible position: the layers that
 * follow have longer lifetimes.
 */
void buffer_alias_plan(const struct network *n, uint64_t at[SETUP_MAX_LAYERS + 1])
{
	struct slot slots[SETUP_MAX_LAYERS];
	size_t count = buffer_alias_possible(n) ? buffer_alias_slots_of(n, slots) : 0;
	uint64_t from = 0;

	for (size_t l = 0; l <= SETUP_MAX_LAYERS; l++)
		at[l] = BUFFER_ALIAS_NONE;
	for (size_t l = n->partition.last; --l > n->partition.first && count > 0;) {
		uint64_t elements = n->kept[l] * model_partition_width(n->setup, &n->partition, l);

		for (size_t i = 0; i < count && at[l] == BUFFER_ALIAS_NONE; i++) {
			uint64_t first = slots[i].first > from ? slots[i].first : from,
				 end = slots[i].end;

			/* The range without gaps that begins with slot i. */
			for (size_t k = i + 1; k < count && !slots[k].gaps && slots[k].first == end;
			     k++)
				end = slots[k].end;
			if (slots[i].layer < l && !slots[i].gaps && first < slots[i].end &&
			    first + elements <= end)
				at[l] = first;
		}
		if (at[l] != BUFFER_ALIAS_NONE)
			from = (at[l] + elements + MODEL_ALIGN - 1) / MODEL_ALIGN * MODEL_ALIGN;
	}
}

/* Memory of gradients that backward writes later. */
void buffer_alias_outputs(struct network *n, size_t l, uint64_t element, uint64_t bytes)
{
	n->activations[l] = network_element(n, n->gradients, element);
	arena_share(n->arena, MEMORY_ACTIVATIONS, bytes);
}

/* The larger of the two determines the memory class. */
enum status buffer_alias_logits(struct network *n, uint64_t bytes, struct error *err)
{
	uint64_t turn =
		n->step_rows * network_max_hidden_width(n) * precision_bytes(n->setup->precision);
	enum memory_class tag = turn > bytes ? MEMORY_TRANSIENT : MEMORY_ACTIVATIONS;

	if (arena_alloc(n->arena, tag, turn > bytes ? turn : bytes,
			&n->activations[n->setup->layers], err) != STATUS_OK)
		return err->status;
	if (turn > bytes)
		arena_share(n->arena, MEMORY_ACTIVATIONS, bytes);
	else
		arena_share(n->arena, MEMORY_TRANSIENT, turn);
	return STATUS_OK;
}

void buffer_alias_transposed(struct network *n)
{
	uint64_t room = network_max_hidden_width(n);

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

size_t buffer_alias_pairs_layers(const struct setup *setup)
{
	return setup->layers / 2 * 2;
}

uint64_t buffer_alias_pairs_part_bytes(const struct setup *setup)
{
	uint64_t widest = 0;

	for (size_t l = 1; l < setup->layers; l += 2)
		if (setup->widths[l] > widest)
			widest = setup->widths[l];
	return setup->batch * (widest / (uint64_t)setup->ranks) * precision_bytes(setup->precision);
}

/* Bytes of this rank's part of the widest bias among even or odd layers in pairs. */
static uint64_t buffer_alias_bias_bytes(const struct setup *setup, size_t parity)
{
	uint64_t widest = 0;

	for (size_t l = parity; l < buffer_alias_pairs_layers(setup); l += 2) {
		uint64_t out = setup->widths[l + 1] / (parity == 0 ? (uint64_t)setup->ranks : 1);

		widest = out > widest ? out : widest;
	}
	return widest * precision_bytes(setup->precision);
}

uint64_t buffer_alias_pairs_bias_bytes(const struct setup *setup)
{
	return setup->no_aliasing
		       ? 0
		       : buffer_alias_bias_bytes(setup, 0) + buffer_alias_bias_bytes(setup, 1);
}

static bool buffer_alias_any(const struct network *n)
{
	for (size_t l = 0; l <= n->setup->layers; l++)
		if (n->overwritten_in_backward[l])
			return true;
	return false;
}

enum status buffer_alias_pairs_open(struct network *n, struct pair_buffers *p, struct error *err)
{
	arena_alloc(n->arena, MEMORY_TRANSIENT, buffer_alias_pairs_part_bytes(n->setup), &p->part,
		    err);
	for (size_t parity = 0; parity < 2 && buffer_alias_any(n); parity++) {
		void *sums = NULL;

		arena_alloc(n->arena, MEMORY_TRANSIENT, buffer_alias_bias_bytes(n->setup, parity),
			    &sums, err);
		for (size_t l = parity; l < buffer_alias_pairs_layers(n->setup); l += 2)
			n->bias_sums[l] = sums;
	}
	return err->status;
}

/*
 * With aliasing: the outputs of the pair, whose masks are read chunk by chunk beforehand, or the
 * last layer's gradients.
 */
void *buffer_alias_pairs_part(const struct network *n, const struct pair_buffers *p, size_t first)
{
	if (!p->part_aliased)
		return p->part;
	return first + 2 < n->setup->layers ? n->activations[first + 2]
					    : n->layer_gradients[first + 1];
}

static bool buffer_alias_all_transposed(const struct network *n, size_t parity)
{
	for (size_t l = parity; l < buffer_alias_pairs_layers(n->setup); l += 2)
		if (n->wgrad_layouts[l] != WGRAD_TRANSPOSED)
			return false;
	return true;
}

/* A chunk of the part fits into the same rows of the buffer that it replaces. */
static bool buffer_alias_fits_part(const struct network *n)
{
	for (size_t first = 0; first < buffer_alias_pairs_layers(n->setup); first += 2) {
		const struct model_layer *second = &n->local.layer[first + 1];

		if (first + 2 < n->setup->layers ? second->in > n->setup->widths[first + 2]
						 : n->setup->batch > second->out)
			return false;
	}
	/* A whole layer after the pairs also has a copy, which is larger than that of a part. */
	if (buffer_alias_pairs_layers(n->setup) < n->setup->layers &&
	    n->wgrad_layouts[buffer_alias_pairs_layers(n->setup)] == WGRAD_TRANSPOSED)
		return false;
	return buffer_alias_all_transposed(n, 0) && buffer_alias_any(n);
}

void buffer_alias_pairs_transposed(struct network *n, struct pair_buffers *p)
{
	size_t paired = buffer_alias_pairs_layers(n->setup), logits = n->setup->layers % 2;
	bool in_place = buffer_alias_all_transposed(n, 1);

	if (!buffer_alias_possible(n))
		return;
	/*
	 * After the gradient of the part is computed, its transposed copy replaces the gradient of
	 * the outputs.
	 */
	for (size_t first = 0; first < paired; first += 2)
		in_place &= n->local.layer[first + 1].out <= network_max_hidden_width(n) &&
			    (first == 0 || n->setup->widths[first] == n->setup->widths[first + 2]);
	if (in_place) {
		arena_free(n->arena, n->transposed[1]);
		n->transposed[1] = n->transient[paired < n->setup->layers ? logits : 1 - logits];
		p->in_place = true;
	}
	if (buffer_alias_fits_part(n)) {
		arena_free(n->arena, n->transposed[0]);
		n->transposed[0] = p->part;
		p->part_aliased = true;
		for (size_t l = 2; l < n->setup->layers; l += 2)
			n->overwritten_in_backward[l] = true;
	}
}
