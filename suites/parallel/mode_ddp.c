/*
 * Data parallel: every rank has the whole model and an equal part of the batch. Gradients are
 * averaged over the ranks, in buckets: as soon as backward has filled one, its all-reduce starts on
 * the communication stream, while backward goes on. The flat order (model.h) makes a bucket one
 * range.
 */
#include <stdlib.h>

#include "base/memory.h"
#include "suites/parallel/trainer.h"

struct bucket {
	size_t layer;          /* the layer whose backward completes it */
	uint64_t first, count; /* elements in the flat order */
	struct event *ready;
};

struct ddp {
	struct bucket *buckets;
	size_t count, capacity;
	struct event *reduced;
};

static const char *ddp_refusal(const struct setup *setup)
{
	if (setup->ranks < 2)
		return "data parallel needs at least two devices";
	return setup->batch % (uint64_t)setup->ranks
		       ? "the batch does not divide by the number of devices"
		       : NULL;
}

static void ddp_share(const struct setup *setup, int rank, struct share *share, uint64_t *step_rows)
{
	uint64_t rows = setup->batch / (uint64_t)setup->ranks;

	*share =
		(struct share){ .last = setup->layers, .row = (uint64_t)rank * rows, .rows = rows };
	*step_rows = rows;
}

/* A bucket closes with the first layer that makes it at least bucket_bytes large. */
static void make_buckets(struct ddp *ddp, const struct trainer *t)
{
	const struct model *model = &t->network.model;
	uint64_t first = 0;

	for (size_t l = model->layers; l-- > 0;) {
		uint64_t count = model_elements(model, l, model->layers) - first;

		if (l > 0 && count * precision_bytes(t->setup->precision) < t->setup->bucket_bytes)
			continue;
		ARRAY_GROW(ddp->buckets, ddp->count, ddp->capacity);
		ddp->buckets[ddp->count++] =
			(struct bucket){ .layer = l, .first = first, .count = count };
		first += count;
	}
}

static enum status ddp_open(struct trainer *t, struct error *err)
{
	struct ddp *ddp = t->state = xcalloc(1, sizeof(*ddp));
	enum status status = backend_event_create(t->team->device, &ddp->reduced, err);

	make_buckets(ddp, t);
	for (size_t i = 0; i < ddp->count && status == STATUS_OK; i++)
		status = backend_event_create(t->team->device, &ddp->buckets[i].ready, err);
	return world_agree(t->team->world, status, err);
}

static void ddp_close(struct trainer *t)
{
	struct ddp *ddp = t->state;

	if (!ddp)
		return;
	for (size_t i = 0; i < ddp->count; i++)
		backend_event_destroy(ddp->buckets[i].ready);
	backend_event_destroy(ddp->reduced);
	free(ddp->buckets);
	free(ddp);
}

static enum status reduce_bucket(struct trainer *t, struct bucket *bucket, struct error *err)
{
	struct stream *compute = t->team->streams[STREAM_COMPUTE],
		      *communicate = t->team->streams[STREAM_UP];
	void *gradients = network_gradient(&t->network, bucket->first);

	if (backend_event_record(bucket->ready, compute, err) != STATUS_OK ||
	    backend_stream_wait(communicate, bucket->ready, err) != STATUS_OK)
		return err->status;
	return backend_all_reduce(t->team->all, communicate, gradients, gradients, bucket->count,
				  setup_storage(t->setup), REDUCE_AVERAGE, err);
}

static enum status backward(struct trainer *t, unsigned parts, struct error *err)
{
	struct stream *compute = t->team->streams[STREAM_COMPUTE];
	struct ddp *ddp = t->state;
	struct network *n = &t->network;
	void *gradient = network_activation(n, t->setup->layers, 0);
	struct bucket *bucket = ddp->buckets;

	for (size_t l = t->setup->layers; l-- > 0;) {
		void *to = l > 0 ? n->transient[l % 2] : NULL;

		if (parts & STEP_COMPUTE && network_backward(n, compute, l, 0, n->share.rows,
							     gradient, to, false, err) != STATUS_OK)
			return err->status;
		if (bucket->layer == l && parts & STEP_COMMUNICATE &&
		    reduce_bucket(t, bucket, err) != STATUS_OK)
			return err->status;
		bucket += bucket->layer == l;
		gradient = to;
	}
	return STATUS_OK;
}

static enum status ddp_enqueue(struct trainer *t, unsigned parts, struct error *err)
{
	struct stream *compute = t->team->streams[STREAM_COMPUTE],
		      *communicate = t->team->streams[STREAM_UP];
	struct ddp *ddp = t->state;
	struct network *n = &t->network;
	uint64_t rows = n->share.rows;

	if (parts & STEP_COMPUTE &&
	    (network_forward_all(n, compute, 0, rows, err) != STATUS_OK ||
	     network_loss(n, compute, 0, rows, trainer_gradient_scale(t, rows), err) != STATUS_OK))
		return err->status;
	if (backward(t, parts, err) != STATUS_OK)
		return err->status;
	if (parts & STEP_COMMUNICATE &&
	    (backend_event_record(ddp->reduced, communicate, err) != STATUS_OK ||
	     backend_stream_wait(compute, ddp->reduced, err) != STATUS_OK))
		return err->status;
	return parts & STEP_UPDATE ? network_update(n, compute, err) : STATUS_OK;
}

static unsigned ddp_commands(const struct trainer *t)
{
	const struct ddp *ddp = t->state;

	return network_commands(&t->network, 1) + (unsigned)ddp->count + 1;
}

/* A ring: every rank sends 2 (n - 1) / n of the gradients. */
static double ddp_wire_bytes(const struct setup *setup)
{
	struct model model;
	double n = setup->ranks;

	model_init(&model, setup);
	return 2 * (n - 1) / n * (double)model.elements * (double)precision_bytes(setup->precision);
}

static double no_bubble(const struct setup *setup)
{
	(void)setup;
	return 0;
}

const struct mode mode_ddp = {
	.name = "ddp",
	.summary = "data parallel: gradients averaged in buckets while backward runs",
	.bucketed = true,
	.replicated = true,
	.refusal = ddp_refusal,
	.share = ddp_share,
	.open = ddp_open,
	.close = ddp_close,
	.enqueue = ddp_enqueue,
	.commands = ddp_commands,
	.wire_bytes = ddp_wire_bytes,
	.bubble = no_bubble,
};
