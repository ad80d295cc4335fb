/*
 * Data parallel: every rank has the whole model and an equal part of the batch. Gradients are
 * averaged over the ranks, in buckets: as soon as backward has filled one, its all-reduce starts on
 * the communication stream, while backward goes on. The flat order (model.h) makes a bucket one
 * range. Large buckets at both ends come in pieces: nothing is left to hide behind there.
 */
#include <stdlib.h>

#include "base/memory.h"
#include "suites/parallel/data_parallel.h"
#include "suites/parallel/timeline.h"

struct ddp {
	struct bucket buckets[BUCKETS_CUT_MOST];
	size_t count;
	struct event *ready;
	struct event *reduced[BUCKETS_CUT_MOST]; /* of each bucket */
};

static enum status open_events(struct trainer *t, struct ddp *ddp, struct error *err)
{
	if (backend_event_create(t->team->device, &ddp->ready, err) != STATUS_OK)
		return err->status;
	for (size_t i = 0; i < ddp->count; i++)
		if (backend_event_create(t->team->device, &ddp->reduced[i], err) != STATUS_OK)
			return err->status;
	return STATUS_OK;
}

static enum status ddp_open(struct trainer *t, struct error *err)
{
	struct ddp *ddp = t->state = xcalloc(1, sizeof(*ddp));

	ddp->count = buckets_make(t->setup, &t->network.model, ddp->buckets);
	ddp->count = buckets_cut(t->setup, &t->network.model, ddp->buckets, ddp->count);
	return world_agree(t->team->world, open_events(t, ddp, err), err);
}

static void ddp_close(struct trainer *t)
{
	struct ddp *ddp = t->state;

	if (!ddp)
		return;
	backend_event_destroy(ddp->ready);
	for (size_t i = 0; i < ddp->count; i++)
		backend_event_destroy(ddp->reduced[i]);
	free(ddp);
}

static enum status reduce_bucket(struct trainer *t, size_t i, struct error *err)
{
	struct stream *compute = t->team->streams[STREAM_COMPUTE],
		      *communicate = t->team->streams[STREAM_UP];
	struct ddp *ddp = t->state;
	const struct bucket *bucket = &ddp->buckets[i];
	void *gradients = network_element(&t->network, t->network.gradients, bucket->first);

	if (backend_event_record(ddp->ready, compute, err) != STATUS_OK ||
	    backend_stream_wait(communicate, ddp->ready, err) != STATUS_OK)
		return err->status;
	timeline_begin(t, STREAM_UP, SPAN_ALL_REDUCE, i);
	backend_all_reduce(t->team->all, communicate, gradients, gradients, bucket->count,
			   setup_storage(t->setup), REDUCE_AVERAGE, err);
	timeline_end(t, STREAM_UP);
	return backend_event_record(ddp->reduced[i], communicate, err);
}

static enum status wait_reduced(struct trainer *t, size_t bucket, unsigned parts, struct error *err)
{
	const struct ddp *ddp = t->state;

	return parts & STEP_COMMUNICATE ? backend_stream_wait(t->team->streams[STREAM_COMPUTE],
							      ddp->reduced[bucket], err)
					: STATUS_OK;
}

static enum status update_bucket(struct trainer *t, size_t i, unsigned parts, struct error *err)
{
	const struct ddp *ddp = t->state;
	const struct bucket *bucket = &ddp->buckets[i];

	if (wait_reduced(t, i, parts, err) != STATUS_OK || !(parts & STEP_UPDATE))
		return err->status;
	timeline_begin(t, STREAM_COMPUTE, SPAN_OPTIMIZER, i);
	network_update_range(&t->network, t->team->streams[STREAM_COMPUTE], bucket->first,
			     bucket->count, err);
	timeline_end(t, STREAM_COMPUTE);
	return err->status;
}

/* The first buckets are updated while the last ones are still on their way. */
static enum status update_buckets(struct trainer *t, unsigned parts, struct error *err)
{
	struct ddp *ddp = t->state;

	if (parts & STEP_UPDATE &&
	    network_update_begin(&t->network, t->team->streams[STREAM_COMPUTE], err) != STATUS_OK)
		return err->status;
	for (size_t i = 0; i < ddp->count; i++)
		if (update_bucket(t, i, parts, err) != STATUS_OK)
			return err->status;
	return STATUS_OK;
}

static enum status ddp_enqueue(struct trainer *t, unsigned parts, struct error *err)
{
	struct ddp *ddp = t->state;
	uint64_t last = setup_accumulate(t->setup) - 1, rows = t->network.share.rows / (last + 1);
	const struct backward backward = { .row = last * rows,
					   .rows = rows,
					   .buckets = ddp->buckets,
					   .complete = reduce_bucket };

	for (uint64_t i = 0; i <= last && parts & STEP_COMPUTE; i++)
		if (forward_part(t, i, err) != STATUS_OK ||
		    (i < last && backward_part(t, i, err) != STATUS_OK))
			return err->status;
	if (backward_buckets(t, &backward, parts, err) != STATUS_OK)
		return err->status;
	if (!t->network.loss_scale)
		return update_buckets(t, parts, err);
	/* Whether this step is applied depends on all gradients. */
	if (wait_reduced(t, ddp->count - 1, parts, err) != STATUS_OK)
		return err->status;
	return trainer_update(t, parts, err);
}

static unsigned ddp_commands(const struct trainer *t)
{
	const struct ddp *ddp = t->state;

	return network_commands(&t->network, setup_accumulate(t->setup)) + 5 * (unsigned)ddp->count + 1;
}

/* A ring: every rank sends 2 (n - 1) / n of the gradients. */
static double ddp_wire_bytes(const struct setup *setup)
{
	struct model model;
	double n = setup->ranks;

	model_init(&model, setup);
	return 2 * (n - 1) / n * (double)model.elements * (double)precision_bytes(setup->precision);
}

const struct mode mode_ddp = {
	.name = "ddp",
	.summary = "data parallel: gradients averaged in buckets while backward runs",
	.bucketed = true,
	.beside = BESIDE_BACKWARD,
	.accumulates = true,
	.recomputes = true,
	.replicated = true,
	.lodges = true,
	.recordable = true,
	.refusal = data_parallel_refusal,
	.share = data_parallel_share,
	.open = ddp_open,
	.close = ddp_close,
	.enqueue = ddp_enqueue,
	.commands = ddp_commands,
	.wire_bytes = ddp_wire_bytes,
	.bubble = mode_nothing,
};
