#include "suites/parallel/routes.h"

#include "suites/parallel/products.h"

/* Timed runs of each route, in turns, behind one that loads kernels; the fastest counts. */
#define RUNS 3

/* Elements of one of the buffers: layers that share it, the widest. */
static uint64_t buffer_elements(const struct network *n, size_t layer)
{
	uint64_t out = 0;

	for (size_t l = n->share.first; l < n->share.last; l++)
		if ((n->share.parts == 1 || l % 2 == layer % 2) && n->local.layer[l].out > out)
			out = n->local.layer[l].out;
	return out * n->step_rows;
}

static void **buffer_of(struct network *n, size_t layer)
{
	return &n->transposed[n->share.parts > 1 ? layer % 2 : 0];
}

static enum status open_buffer(struct network *n, size_t layer, struct error *err)
{
	if (*buffer_of(n, layer))
		return STATUS_OK;
	return arena_alloc(n->arena, MEMORY_TRANSIENT,
			   buffer_elements(n, layer) * precision_bytes(n->setup->precision),
			   buffer_of(n, layer), err);
}

static void close_buffer(struct network *n, size_t layer)
{
	arena_free(n->arena, *buffer_of(n, layer));
	*buffer_of(n, layer) = NULL;
}

struct trial {
	struct network *network;
	struct stream *stream;
	size_t layer;
	void *dy;
	const void *y;
	struct event *start, *end;
};

/* The pass and the product along the route that is set. */
static enum status time_route(struct trial *t, double *seconds, struct error *err)
{
	struct network *n = t->network;

	if (backend_event_record(t->start, t->stream, err) != STATUS_OK ||
	    network_output_pass(n, t->stream, t->layer, n->step_rows, t->dy, t->y, 0, false, err) !=
		    STATUS_OK ||
	    product_weight(n, t->stream, t->layer, t->dy, network_activation(n, t->layer, 0),
			   n->step_rows, 0, err) != STATUS_OK ||
	    backend_event_record(t->end, t->stream, err) != STATUS_OK ||
	    backend_event_synchronize(t->end, err) != STATUS_OK)
		return err->status;
	return backend_event_elapsed(t->start, t->end, seconds, err);
}

static enum status time_both(struct trial *t, enum route *faster, struct error *err)
{
	double best[ROUTE_COUNT] = { 0 };

	for (int run = -1; run < RUNS; run++) {
		for (enum route route = ROUTE_DIRECT; route <= ROUTE_TRANSPOSED; route++) {
			double seconds;

			t->network->routes[t->layer] = route;
			if (time_route(t, &seconds, err) != STATUS_OK)
				return err->status;
			if (run <= 0 || seconds < best[route])
				best[route] = seconds;
		}
	}
	*faster = best[ROUTE_TRANSPOSED] < best[ROUTE_DIRECT] ? ROUTE_TRANSPOSED : ROUTE_DIRECT;
	return STATUS_OK;
}

static enum status try_both(struct trial *t, enum route *faster, struct error *err)
{
	struct device *device = t->network->device;

	if (backend_event_create(device, &t->start, err) == STATUS_OK &&
	    backend_event_create(device, &t->end, err) == STATUS_OK)
		time_both(t, faster, err);
	backend_event_destroy(t->start);
	backend_event_destroy(t->end);
	return err->status;
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
		    (n->share.parts == 1 || l % 2 == layer % 2))
			return true;
	return false;
}

enum status route_settle(struct network *n, struct stream *stream, size_t layer, void *dy,
			 const void *y, struct error *err)
{
	struct trial trial = { n, stream, layer, dy, y, NULL, NULL };
	struct error none = ERROR_NONE;
	enum route route = given_route(n, layer);

	if (route == ROUTE_AUTO) {
		route = ROUTE_DIRECT;
		/* Without the memory there is no choice. */
		if (open_buffer(n, layer, &none) == STATUS_OK &&
		    try_both(&trial, &route, err) != STATUS_OK)
			return err->status;
	} else if (route == ROUTE_TRANSPOSED && open_buffer(n, layer, err) != STATUS_OK) {
		return err->status;
	}
	n->routes[layer] = route;
	if (route == ROUTE_DIRECT && *buffer_of(n, layer) && !used_by_others(n, layer))
		close_buffer(n, layer);
	return STATUS_OK;
}
