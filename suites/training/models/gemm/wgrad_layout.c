#include "suites/training/models/gemm/wgrad_layout.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "measure/processes/world.h"
#include "suites/training/models/backward_schedule.h"
#include "suites/training/models/gemm/layer.h"
#include "suites/training/models/gemm/layer_gemm.h"
#include "suites/training/models/gemm/trial.h"

static void **wgrad_buffer_of(struct network *n, size_t layer)
{
	return &n->transposed[backward_transposed_buffer(n, layer)];
}

static enum status wgrad_open_buffer(struct network *n, size_t layer, struct error *err)
{
	uint64_t elements =
		backward_transposed_columns(n, backward_transposed_buffer(n, layer)) * n->step_rows;

	if (*wgrad_buffer_of(n, layer))
		return STATUS_OK;
	return arena_alloc(n->arena, MEMORY_TRANSIENT,
			   elements * precision_bytes(n->setup->precision),
			   wgrad_buffer_of(n, layer), err);
}

struct wgrad_trial {
	struct network *network;
	size_t layer;
	void *dy;
	const void *y;
};

static const enum wgrad_layout layouts[] = { WGRAD_DIRECT, WGRAD_TRANSPOSED };

/* Runs the output gradient kernel and the wgrad GEMM with one layout. */
static enum status run_layout(void *context, size_t candidate, struct error *err)
{
	const struct wgrad_trial *t = context;
	struct network *n = t->network;

	n->wgrad_layouts[t->layer] = layouts[candidate];
	network_output_pass(n, t->layer, n->step_rows, t->dy, t->y, 0, false, err);
	return network_weight_gradient(n, t->layer, 0, n->step_rows, t->dy, false, err);
}

/* Layout of an earlier layer of the same shape; NULL: none. */
static const enum wgrad_layout *wgrad_tuned_like(const struct network *n, size_t layer)
{
	const struct model_layer *mine = &n->local.layer[layer];

	for (size_t l = n->partition.first; l < n->partition.last; l++)
		if (n->wgrad_layouts[l] != WGRAD_AUTO && n->local.layer[l].in == mine->in &&
		    n->local.layer[l].out == mine->out)
			return &n->wgrad_layouts[l];
	return NULL;
}

/* The layout, if it needs no measurement; otherwise WGRAD_AUTO. */
static enum wgrad_layout fixed_layout(const struct network *n, size_t layer)
{
	const enum wgrad_layout *like;

	if (n->setup->weight_gradient != WGRAD_AUTO)
		return n->setup->weight_gradient;
	/* Every rank computes this layer, and all must get the same bits. */
	if (network_layer_is_replicated(n, layer))
		return WGRAD_DIRECT;
	/* The CPU's BLAS copies its operands in any case. */
	if (n->stream->device->info.capabilities & DEVICE_SHARES_HOST_MEMORY)
		return WGRAD_DIRECT;
	like = wgrad_tuned_like(n, layer);
	return like ? *like : WGRAD_AUTO;
}

static bool wgrad_used_by_others(const struct network *n, size_t layer)
{
	for (size_t l = n->partition.first; l < n->partition.last; l++)
		if (l != layer && n->wgrad_layouts[l] == WGRAD_TRANSPOSED &&
		    backward_transposed_buffer(n, l) == backward_transposed_buffer(n, layer))
			return true;
	return false;
}

static void set_layout(struct network *n, size_t layer, enum wgrad_layout layout)
{
	n->wgrad_layouts[layer] = layout;
	if (layout == WGRAD_DIRECT && *wgrad_buffer_of(n, layer) &&
	    !wgrad_used_by_others(n, layer)) {
		arena_free(n->arena, *wgrad_buffer_of(n, layer));
		*wgrad_buffer_of(n, layer) = NULL;
	}
}

enum status wgrad_layout_tune(struct network *n, size_t layer, void *dy, const void *y,
			      struct error *err)
{
	struct wgrad_trial trial = { n, layer, dy, y };
	struct error none = ERROR_NONE;
	enum wgrad_layout layout = fixed_layout(n, layer);

	if (layout == WGRAD_AUTO) {
		size_t fastest = 0;

		/* The direct layout, if there is no memory for the copy. */
		if (wgrad_open_buffer(n, layer, &none) == STATUS_OK &&
		    trial_select(n->stream, ARRAY_SIZE(layouts), run_layout, &trial, &fastest,
				 err) != STATUS_OK)
			return err->status;
		layout = layouts[fastest];
	} else if (layout == WGRAD_TRANSPOSED && wgrad_open_buffer(n, layer, err) != STATUS_OK) {
		return err->status;
	}
	set_layout(n, layer, layout);
	return STATUS_OK;
}

/* Message between ranks: first layer and row, and the chosen layouts. */
struct chosen {
	size_t first;
	uint64_t row;
	enum wgrad_layout wgrad_layouts[SETUP_MAX_LAYERS];
};

void wgrad_layouts_agree(struct network *n, struct world *world)
{
	struct chosen mine = { .first = n->partition.first, .row = n->partition.row }, *all;

	/* `parts` is equal on all ranks. */
	if (n->partition.parts == 1)
		return;
	memcpy(mine.wgrad_layouts, n->wgrad_layouts, sizeof(mine.wgrad_layouts));
	all = xcalloc((size_t)world->size, sizeof(*all));
	world_gather(world, &mine, all, sizeof(mine));
	for (int rank = 0; rank < world->size; rank++)
		for (size_t l = n->partition.first; l < n->partition.last; l++)
			if (all[rank].first == mine.first && all[rank].row == mine.row &&
			    setup_layer_split(n->setup, l, n->partition.parts) == ROW_PARALLEL &&
			    all[rank].wgrad_layouts[l] == WGRAD_DIRECT &&
			    n->wgrad_layouts[l] != WGRAD_DIRECT)
				set_layout(n, l, WGRAD_DIRECT);
	free(all);
}
