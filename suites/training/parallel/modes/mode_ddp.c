/*
 * Data parallel: every rank has the whole model and an equal part of the batch. Gradients are
 * averaged over the ranks in buckets: as soon as backward has completed one, its all-reduce starts
 * on the communication stream while backward continues. The flat order (model.h) makes a bucket one
 * range. Large buckets at both ends are cut into pieces, because no computation is left to overlap
 * with. Without overlap, all buckets are reduced after backward, and updates start after all
 * reductions: the difference is the gain of overlapping.
 */
#include <stdlib.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/stats.h"
#include "suites/training/models/gemm/layer.h"
#include "suites/training/parallel/modes/data_parallel.h"
#include "suites/training/parallel/trainer/timeline.h"

struct ddp {
	struct bucket buckets[BUCKETS_SPLIT_MAX];
	size_t count;
	struct event *ready;
	struct event *reduced[BUCKETS_SPLIT_MAX]; /* of each bucket */
	unsigned blocks; /* of the optimizer during reductions: see kernels/training/training.h */
};

/*
 * An update that uses all of the memory bandwidth halves the speed of a concurrent reduction. If
 * reductions determine the step time, narrower updates shorten it: from 18.1 ms to 17.5 on eight
 * H200s. If products determine it, they lengthen it. So whole steps are tried if an update is long
 * enough to matter.
 */
#define BLOCKS_PER_MULTIPROCESSOR 2
#define TRIED_ELEMENTS ((uint64_t)16 << 20)
#define TRIES 5
/* A variant replaces the default only if it is faster by more than the noise. */
#define WORTHWHILE 0.99

static enum status ddp_open_events(struct trainer *t, struct ddp *ddp, struct error *err)
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
	if (!t->setup->no_overlap)
		ddp->count = buckets_cut(t->setup, &t->network.model, ddp->buckets, ddp->count);
	return world_agree(t->team->world, ddp_open_events(t, ddp, err), err);
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

static enum status ddp_reduce_bucket(struct trainer *t, size_t i, struct error *err)
{
	struct stream *compute = trainer_stream(t),
		      *communicate = t->team->streams[STREAM_PREVIOUS];
	struct ddp *ddp = t->state;
	const struct bucket *bucket = &ddp->buckets[i];
	void *gradients = network_element(&t->network, t->network.gradients, bucket->first);

	if (backend_event_record(ddp->ready, compute, err) != STATUS_OK ||
	    backend_stream_wait(communicate, ddp->ready, err) != STATUS_OK)
		return err->status;
	timeline_begin(t, STREAM_PREVIOUS, SPAN_ALL_REDUCE, i);
	backend_all_reduce(t->team->all, communicate, gradients, gradients, bucket->count,
			   setup_storage(t->setup), REDUCE_AVERAGE, err);
	timeline_end(t, STREAM_PREVIOUS);
	return backend_event_record(ddp->reduced[i], communicate, err);
}

static enum status wait_reduced(struct trainer *t, size_t bucket, unsigned parts, struct error *err)
{
	const struct ddp *ddp = t->state;

	return parts & STEP_COMMUNICATE
		       ? backend_stream_wait(trainer_stream(t), ddp->reduced[bucket], err)
		       : STATUS_OK;
}

static enum status ddp_update_bucket(struct trainer *t, size_t i, unsigned parts, struct error *err)
{
	const struct ddp *ddp = t->state;
	const struct bucket *bucket = &ddp->buckets[i];

	if (wait_reduced(t, i, parts, err) != STATUS_OK || !(parts & STEP_UPDATE))
		return err->status;
	t->network.update_blocks = i + 1 < ddp->count ? ddp->blocks : 0;
	timeline_begin(t, STREAM_COMPUTE, SPAN_OPTIMIZER, i);
	network_update_range(&t->network, trainer_stream(t), bucket->first, bucket->count, err);
	timeline_end(t, STREAM_COMPUTE);
	return err->status;
}

/* The first buckets are updated while the last ones are still being reduced. */
static enum status ddp_update_buckets(struct trainer *t, unsigned parts, struct error *err)
{
	struct ddp *ddp = t->state;

	if (parts & STEP_UPDATE &&
	    network_update_begin(&t->network, trainer_stream(t), err) != STATUS_OK)
		return err->status;
	for (size_t i = 0; i < ddp->count; i++)
		if (ddp_update_bucket(t, i, parts, err) != STATUS_OK)
			return err->status;
	return STATUS_OK;
}

/* Reduces all buckets after backward; the compute stream continues after the last. */
static enum status ddp_reduce_buckets(struct trainer *t, struct error *err)
{
	const struct ddp *ddp = t->state;

	for (size_t i = 0; i < ddp->count; i++)
		if (ddp_reduce_bucket(t, i, err) != STATUS_OK)
			return err->status;
	return wait_reduced(t, ddp->count - 1, STEP_COMMUNICATE, err);
}

static enum status ddp_enqueue(struct trainer *t, unsigned parts, struct error *err)
{
	struct ddp *ddp = t->state;
	uint64_t last = setup_accumulate(t->setup) - 1,
		 rows = t->network.partition.rows / (last + 1);
	const struct backward backward = { .row = last * rows,
					   .rows = rows,
					   .buckets = ddp->buckets,
					   .complete = t->setup->no_overlap ? NULL
									    : ddp_reduce_bucket };

	for (uint64_t i = 0; i <= last && parts & STEP_COMPUTE; i++)
		if (data_parallel_forward(t, i, err) != STATUS_OK ||
		    (i < last && backward_part(t, i, err) != STATUS_OK))
			return err->status;
	if (backward_buckets(t, &backward, parts, err) != STATUS_OK ||
	    (t->setup->no_overlap && parts & STEP_COMMUNICATE &&
	     ddp_reduce_buckets(t, err) != STATUS_OK))
		return err->status;
	if (!t->network.loss_scale)
		return ddp_update_buckets(t, parts, err);
	/* All gradients decide whether this step is applied. */
	if (wait_reduced(t, ddp->count - 1, parts, err) != STATUS_OK)
		return err->status;
	return trainer_update(t, parts, err);
}

/* Seconds of one step on the slowest rank. */
static enum status ddp_time_step(struct trainer *t, double *seconds, struct error *err)
{
	double begin;

	world_barrier(t->team->world);
	begin = clock_seconds();
	if (trainer_step(t, STEP_ALL, err) != STATUS_OK)
		return err->status;
	*seconds = world_max(t->team->world, clock_seconds() - begin);
	return STATUS_OK;
}

/* Times wide and narrow updates alternately, each after an untimed step. */
static enum status ddp_tune_collective(struct trainer *t, struct error *err)
{
	struct ddp *ddp = t->state;
	unsigned narrow =
		BLOCKS_PER_MULTIPROCESSOR * (unsigned)t->team->device->info.multiprocessors;
	double seconds[2][TRIES + 1];

	if (t->network.loss_scale || t->setup->no_overlap || ddp->count < 2 ||
	    t->network.model.elements < TRIED_ELEMENTS ||
	    t->team->device->info.capabilities & DEVICE_SHARES_HOST_MEMORY ||
	    team_phase(t->team, "steps tried", err) != STATUS_OK)
		return err->status;
	for (int i = 0; i <= TRIES; i++)
		for (int variant = 0; variant < 2; variant++) {
			ddp->blocks = variant ? narrow : 0;
			if (ddp_time_step(t, &seconds[variant][i], err) != STATUS_OK)
				return err->status;
		}
	ddp->blocks =
		median_of(seconds[1] + 1, TRIES) < WORTHWHILE * median_of(seconds[0] + 1, TRIES)
			? narrow
			: 0;
	t->network.narrow_updates = ddp->blocks > 0;
	return STATUS_OK;
}

static unsigned ddp_commands(const struct trainer *t)
{
	const struct ddp *ddp = t->state;

	return network_commands(&t->network, setup_accumulate(t->setup)) +
	       5 * (unsigned)ddp->count + 1;
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
	.summary = "data parallel: gradients are averaged in buckets during backward",
	.bucketed = true,
	.overlap = OVERLAP_BACKWARD,
	.accumulates = true,
	.recomputes = true,
	.overlaps = true,
	.replicated = true,
	.transformers = true,
	.images = true,
	.aliases_buffers = true,
	.recordable = true,
	.refusal = data_parallel_refusal,
	.partition = data_parallel_partition,
	.open = ddp_open,
	.tune_collective = ddp_tune_collective,
	.close = ddp_close,
	.enqueue = ddp_enqueue,
	.commands = ddp_commands,
	.wire_bytes = ddp_wire_bytes,
	.bubble = mode_nothing,
};
