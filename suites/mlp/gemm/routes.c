#include "suites/mlp/gemm/routes.h"

#include <string.h>

#include "base/memory.h"
#include "measure/processes/world.h"
#include "suites/mlp/gemm/products.h"
#include "suites/mlp/gemm/trial.h"
#include "suites/mlp/backward_schedule.h"

static void **buffer_of(struct network *n, size_t layer)
{
	return &n->transposed[backward_transposed_buffer(n, layer)];
}

static enum status open_buffer(struct network *n, size_t layer, struct error *err)
{
	uint64_t elements =
		backward_transposed_columns(n, backward_transposed_buffer(n, layer)) * n->step_rows;

	if (*buffer_of(n, layer))
		return STATUS_OK;
	return arena_alloc(n->arena, MEMORY_TRANSIENT,
			   elements * precision_bytes(n->setup->precision), buffer_of(n, layer),
			   err);
}

static void close_buffer(struct network *n, size_t layer)
{
	arena_free(n->arena, *buffer_of(n, layer));
	*buffer_of(n, layer) = NULL;
}

struct route_trial {
	struct network *network;
	size_t layer;
	void *dy;
	const void *y;
};

static const enum route ways[] = { ROUTE_DIRECT, ROUTE_TRANSPOSED };

/* The pass and the product along one route. */
static enum status run_way(void *context, struct stream *stream, size_t way, struct error *err)
{
	const struct route_trial *t = context;
	struct network *n = t->network;

	n->routes[t->layer] = ways[way];
	if (network_output_pass(n, stream, t->layer, n->step_rows, t->dy, t->y, 0, false, err) !=
	    STATUS_OK)
		return err->status;
	return network_weight_gradient(n, stream, t->layer, 0, n->step_rows, t->dy, false, err);
}

/* A layer of the same shape has the same answer; NULL: there is none before. */
static const enum route *settled_like(const struct network *n, size_t layer)
{
	const struct model_layer *mine = &n->local.layer[layer];

	for (size_t l = n->share.first; l < n->share.last; l++)
		if (n->routes[l] != ROUTE_AUTO && n->local.layer[l].in == mine->in &&
		    n->local.layer[l].out == mine->out)
			return &n->routes[l];
	return NULL;
}

/* Where the answer is no matter of measurement; ROUTE_AUTO: it is. */
static enum route given_route(const struct network *n, size_t layer)
{
	const enum route *like;

	if (n->setup->weight_gradient != ROUTE_AUTO)
		return n->setup->weight_gradient;
	/* Every rank computes this layer, and all must get the same bits. */
	if (n->share.parts > 1 && setup_cut(n->setup, layer, n->share.parts) == CUT_NONE)
		return ROUTE_DIRECT;
	/* The CPU's library copies its operands in any case. */
	if (n->device->info.capabilities & DEVICE_SHARES_HOST_MEMORY)
		return ROUTE_DIRECT;
	like = settled_like(n, layer);
	return like ? *like : ROUTE_AUTO;
}

static bool used_by_others(const struct network *n, size_t layer)
{
	for (size_t l = n->share.first; l < n->share.last; l++)
		if (l != layer && n->routes[l] == ROUTE_TRANSPOSED &&
		    backward_transposed_buffer(n, l) == backward_transposed_buffer(n, layer))
			return true;
	return false;
}

static void take_route(struct network *n, size_t layer, enum route route)
{
	n->routes[layer] = route;
	if (route == ROUTE_DIRECT && *buffer_of(n, layer) && !used_by_others(n, layer))
		close_buffer(n, layer);
}

enum status route_settle(struct network *n, struct stream *stream, size_t layer, void *dy,
			 const void *y, struct error *err)
{
	struct route_trial trial = { n, layer, dy, y };
	struct error none = ERROR_NONE;
	enum route route = given_route(n, layer);

	if (route == ROUTE_AUTO) {
		size_t fastest = 0;

		/* Without the memory there is no choice. */
		if (open_buffer(n, layer, &none) == STATUS_OK &&
		    trial_fastest(stream, ARRAY_SIZE(ways), run_way, &trial, &fastest, err) !=
			    STATUS_OK)
			return err->status;
		route = ways[fastest];
	} else if (route == ROUTE_TRANSPOSED && open_buffer(n, layer, err) != STATUS_OK) {
		return err->status;
	}
	take_route(n, layer, route);
	return STATUS_OK;
}

/* What ranks tell each other: which layers and rows they have, and how they compute these. */
struct chosen {
	size_t first;
	uint64_t row;
	enum route routes[SETUP_MAX_LAYERS];
};

static void follow(struct network *n, const struct chosen *peer)
{
	for (size_t l = n->share.first; l < n->share.last; l++)
		if (setup_cut(n->setup, l, n->share.parts) == CUT_ROWS &&
		    peer->routes[l] == ROUTE_DIRECT && n->routes[l] != ROUTE_DIRECT)
			take_route(n, l, ROUTE_DIRECT);
}

void routes_agree(struct network *n, struct world *world)
{
	struct chosen mine = { .first = n->share.first, .row = n->share.row },
		      all[SETUP_MAX_RANKS];

	/* All ranks have as many parts. */
	if (n->share.parts == 1)
		return;
	memcpy(mine.routes, n->routes, sizeof(mine.routes));
	world_gather(world, &mine, all, sizeof(mine));
	for (int rank = 0; rank < world->size; rank++)
		if (all[rank].first == mine.first && all[rank].row == mine.row)
			follow(n, &all[rank]);
}
