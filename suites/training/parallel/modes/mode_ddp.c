/*
 * Data parallel: every rank has the whole model and an equal part of the batch. Gradients are
 * averaged over the ranks in buckets: as soon as backward has completed one, its reduction starts
 * on the communication stream while backward continues. The flat order (model.h) makes a bucket one
 * range.
 *
 * DDP: an all-reduce for each bucket, then every rank updates everything. Large buckets at both
 * ends are cut into pieces, because no computation is left to overlap with. Without overlap, all
 * buckets are reduced after backward, and updates start after all reductions: the difference is the
 * gain of overlapping.
 *
 * ZeRO (Rajbhandari et al., SC 2020): every layer's parameters are divided into one slice per rank;
 * each rank updates only its own, and gathers the others while the next forward begins. Stage 1
 * keeps all gradients, stage 2 only the sums of its slices.
 */
#include <stdlib.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/stats.h"
#include "suites/training/models/gemm/layer.h"
#include "suites/training/parallel/modes/data_parallel.h"
#include "suites/training/parallel/trainer/trainer.h"
#include "suites/training/parallel/trainer/timeline.h"

/* Stage 2: gradients are computed into one buffer while those in the other are summed. */
#define BUFFERS 2

struct ddp {
	struct bucket buckets[BUCKETS_SPLIT_MAX];
	size_t count;
	struct event *ready; /* gradients to reduce, or slices to send */
	/* of each bucket; with ZeRO also: its parameters have been gathered from all ranks */
	struct event *reduced[BUCKETS_SPLIT_MAX], *gathered[BUCKETS_SPLIT_MAX];
	void *buffers[BUFFERS]; /* stage 2; NULL: gradients stay in their place */
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

static void mode_ddp_zero_hold(const struct setup *setup, int rank, struct parameter_shard *h)
{
	uint64_t ranks = (uint64_t)setup->ranks, mine = (uint64_t)rank;
	struct bucket buckets[SETUP_MAX_LAYERS];
	bool whole = setup->mode->zero_stage == 1;
	struct model model;

	model_init(&model, setup);
	h->count = data_parallel_buckets_make(setup, &model, buckets);
	h->master = h->elements / ranks;
	h->gradients = whole ? h->elements : h->elements / ranks;
	for (size_t i = 0; i < h->count; i++) {
		uint64_t slice = buckets[i].count / ranks, compact = buckets[i].first / ranks;
		uint64_t flat = buckets[i].first + mine * slice;

		h->ranges[i] = (struct shard_range){ .flat = flat,
						     .count = slice,
						     .weights = flat,
						     .gradients = whole ? flat : compact,
						     .master = compact };
	}
}

/* Bytes of the largest bucket. */
static uint64_t mode_ddp_zero_bucket_bytes(const struct setup *setup)
{
	struct bucket buckets[SETUP_MAX_LAYERS];
	struct model model;
	uint64_t most = 0;
	size_t count;

	model_init(&model, setup);
	count = data_parallel_buckets_make(setup, &model, buckets);
	for (size_t b = 0; b < count; b++)
		most = buckets[b].count > most ? buckets[b].count : most;
	return most * precision_bytes(setup->precision);
}

static uint64_t mode_ddp_zero_buffers(const struct setup *setup, int rank)
{
	(void)rank;
	return setup->mode->zero_stage == 1 ? 0 : BUFFERS * mode_ddp_zero_bucket_bytes(setup);
}

static enum status mode_ddp_zero_open_buffers(struct trainer *t, struct ddp *ddp, struct error *err)
{
	struct network *n = &t->network;
	uint64_t bytes = mode_ddp_zero_bucket_bytes(t->setup);
	size_t i = 0;

	for (int b = 0; b < BUFFERS; b++)
		if (arena_alloc(&t->arena, MEMORY_COMMUNICATION, bytes, &ddp->buffers[b], err) !=
		    STATUS_OK)
			return err->status;
	for (size_t l = t->setup->layers; l-- > 0;) {
		n->layer_gradients[l] =
			network_element(n, ddp->buffers[i % BUFFERS],
					n->model.layer[l].weight - ddp->buckets[i].first);
		i += ddp->buckets[i].layer == l;
	}
	return STATUS_OK;
}

static enum status ddp_open(struct trainer *t, struct error *err)
{
	struct ddp *ddp = t->state = xcalloc(1, sizeof(*ddp));
	int stage = t->mode->zero_stage;

	ddp->count = data_parallel_buckets_make(t->setup, &t->network.model, ddp->buckets);
	if (stage == 0 && !t->setup->no_overlap)
		ddp->count = data_parallel_buckets_cut(t->setup, &t->network.model, ddp->buckets,
						       ddp->count);
	if (rank_team_open_events(t->team, &ddp->ready, 1, err) == STATUS_OK &&
	    rank_team_open_events(t->team, ddp->reduced, ddp->count, err) == STATUS_OK && stage > 0)
		rank_team_open_events(t->team, ddp->gathered, ddp->count, err);
	if (err->status == STATUS_OK && stage == 2)
		mode_ddp_zero_open_buffers(t, ddp, err);
	return world_agree(t->team->world, err->status, err);
}

static void ddp_close(struct trainer *t)
{
	struct ddp *ddp = t->state;

	if (!ddp)
		return;
	rank_team_close_events(&ddp->ready, 1);
	rank_team_close_events(ddp->reduced, ddp->count);
	rank_team_close_events(ddp->gathered, ddp->count);
	free(ddp);
}

/* Averages a bucket over the ranks; with ZeRO only the slices of each rank. */
static enum status ddp_reduce_bucket(struct trainer *t, size_t i, struct error *err)
{
	const struct ddp *ddp = t->state;
	const struct network *n = &t->network;
	const struct bucket *bucket = &ddp->buckets[i];
	void *all = ddp->buffers[0] ? ddp->buffers[i % BUFFERS]
				    : network_element(n, n->gradients, bucket->first);
	struct step_collective c = { .kind = SPAN_ALL_REDUCE,
				     .stream = STREAM_PREVIOUS,
				     .index = i,
				     .communicator = t->team->all,
				     .to = all,
				     .from = all,
				     .count = bucket->count,
				     .reduction = REDUCE_AVERAGE,
				     .ready = ddp->ready,
				     .done = ddp->reduced[i] };

	if (t->mode->zero_stage > 0) {
		c.kind = SPAN_REDUCE_SCATTER;
		c.to = network_element(n, n->gradients, n->shard.ranges[i].gradients);
		c.count = n->shard.ranges[i].count;
	}
	return timeline_collective(t, &c, err);
}

static enum status ddp_wait_reduced(struct trainer *t, size_t bucket, struct error *err)
{
	const struct ddp *ddp = t->state;

	return trainer_does(t, STEP_COMMUNICATE) ? trainer_wait(t, ddp->reduced[bucket], err)
						 : err->status;
}

/* The second last bucket used the same buffer. */
static enum status mode_ddp_zero_wait_buffer(struct trainer *t, size_t bucket, struct error *err)
{
	const struct ddp *ddp = t->state;

	return ddp->buffers[0] && bucket >= BUFFERS
		       ? trainer_wait(t, ddp->reduced[bucket - BUFFERS], err)
		       : err->status;
}

static enum status mode_ddp_zero_gather_bucket(struct trainer *t, size_t i, struct error *err)
{
	const struct ddp *ddp = t->state;
	const struct network *n = &t->network;
	const struct shard_range *range = &n->shard.ranges[i];
	const struct step_collective c = {
		.kind = SPAN_ALL_GATHER,
		.stream = STREAM_PREVIOUS,
		.index = i,
		.communicator = t->team->all,
		.to = network_element(n, n->weights, ddp->buckets[i].first),
		.from = network_element(n, n->weights, range->weights),
		.count = range->count,
		.ready = ddp->ready,
		.done = ddp->gathered[i],
	};

	return timeline_collective(t, &c, err);
}

/* The parameters of a layer may still be in transfer from the step before. */
static enum status mode_ddp_zero_forward(struct trainer *t, uint64_t part, struct error *err)
{
	const struct ddp *ddp = t->state;
	struct network *n = &t->network;
	uint64_t rows = n->step_rows;
	size_t bucket = part == 0 ? ddp->count : 0;

	timeline_begin(t, STREAM_COMPUTE, SPAN_FORWARD, part);
	for (size_t l = 0; l < t->setup->layers; l++) {
		if (bucket > 0 && ddp->buckets[bucket - 1].layer == l)
			trainer_wait(t, ddp->gathered[--bucket], err);
		gemm_layer_forward(n, l, part * rows, rows, err);
	}
	gemm_layer_loss(n, part * rows, rows, trainer_gradient_scale(t, n->partition.rows), err);
	timeline_end(t, STREAM_COMPUTE);
	return err->status;
}

/*
 * Updates bucket by bucket. DDP: the first are updated while the last are still being reduced.
 * ZeRO: in the order in which the next forward needs the layers.
 */
static enum status ddp_update_buckets(struct trainer *t, struct error *err)
{
	const struct ddp *ddp = t->state;
	struct network *n = &t->network;
	bool updates = trainer_does(t, STEP_UPDATE), zero = t->mode->zero_stage > 0;

	/* The decision to skip the step needs all gradients. */
	for (size_t i = 0; i < ddp->count && updates && t->setup->dynamic_scale; i++)
		ddp_wait_reduced(t, i, err);
	if (updates && trainer_decide_scale(t, err) == STATUS_OK)
		gemm_layer_update_begin(n, err);
	for (size_t k = 0; k < ddp->count; k++) {
		size_t i = zero ? ddp->count - 1 - k : k;
		uint64_t first = ddp->buckets[i].first;
		/* Every rank has all parameters, in the flat order. */
		const struct shard_range whole = { first, ddp->buckets[i].count, first, first,
						   first };

		ddp_wait_reduced(t, i, err);
		n->update_blocks = i + 1 < ddp->count ? ddp->blocks : 0;
		timeline_begin(t, STREAM_COMPUTE, SPAN_OPTIMIZER, i);
		if (updates)
			gemm_layer_update_range(n, zero ? &n->shard.ranges[i] : &whole, err);
		timeline_end(t, STREAM_COMPUTE);
		if (zero && trainer_does(t, STEP_GATHER))
			mode_ddp_zero_gather_bucket(t, i, err);
	}
	return err->status;
}

static enum status ddp_enqueue(struct trainer *t, struct error *err)
{
	const struct ddp *ddp = t->state;
	bool zero = t->mode->zero_stage > 0, late = t->setup->no_overlap;
	const struct bucket_calls calls = { .buckets = ddp->buckets,
					    .forward = zero ? mode_ddp_zero_forward
							    : data_parallel_forward,
					    .before = zero ? mode_ddp_zero_wait_buffer : NULL,
					    .complete = late ? NULL : ddp_reduce_bucket };

	data_parallel_compute(t, &calls, err);
	for (size_t i = 0; i < ddp->count && late && trainer_does(t, STEP_COMMUNICATE); i++)
		ddp_reduce_bucket(t, i, err);
	if (late)
		ddp_wait_reduced(t, ddp->count - 1, err);
	if (zero || !t->network.loss_scale)
		return ddp_update_buckets(t, err);
	/* All gradients decide whether this step is applied. */
	ddp_wait_reduced(t, ddp->count - 1, err);
	return trainer_update(t, err);
}

/* Times wide and narrow updates alternately, each after an untimed step. */
static enum status ddp_tune_collective(struct trainer *t, struct error *err)
{
	struct ddp *ddp = t->state;
	unsigned narrow =
		BLOCKS_PER_MULTIPROCESSOR * (unsigned)t->team->device->info.multiprocessors;
	double seconds[2][TRIES + 1], begin;

	if (t->network.loss_scale || t->setup->no_overlap || ddp->count < 2 ||
	    t->network.model.elements < TRIED_ELEMENTS ||
	    t->team->device->info.capabilities & DEVICE_SHARES_HOST_MEMORY ||
	    rank_team_phase(t->team, "steps tried", err) != STATUS_OK)
		return err->status;
	for (int i = 0; i <= TRIES; i++)
		for (int variant = 0; variant < 2; variant++) {
			ddp->blocks = variant ? narrow : 0;
			world_barrier(t->team->world);
			begin = clock_seconds();
			if (trainer_step(t, STEP_ALL, err) != STATUS_OK)
				return err->status;
			/* On the slowest rank. */
			seconds[variant][i] = world_max(t->team->world, clock_seconds() - begin);
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
	size_t own =
		t->mode->zero_stage > 0 ? t->setup->layers + 8 * ddp->count : 5 * ddp->count + 1;

	return gemm_layer_commands(&t->network, setup_accumulate(t->setup)) + (unsigned)own;
}

/*
 * A ring: every rank sends 2 (n - 1) / n of the gradients; with ZeRO half of it is gradients to the
 * ranks of their slices, and half the parameters back.
 */
static double ddp_wire_bytes(const struct setup *setup)
{
	struct model model;
	double n = setup->ranks;

	model_init(&model, setup);
	return 2 * (n - 1) / n * (double)model.elements * (double)precision_bytes(setup->precision);
}

static const char *mode_ddp_single_refusal(const struct setup *setup)
{
	if (setup->ranks != 1)
		return "one device only";
	return data_parallel_accumulation_refusal(setup, setup->batch);
}

/*
 * The optimizer comes last. Running each layer's update during the products of lower layers gained
 * nothing on an H200, which is at its power limit then (TF32, 8 layers of 8192 x 8192: 74.2 ms a
 * step in both cases; 78 to 80 with separate multiprocessors).
 */
static enum status mode_ddp_single_enqueue(struct trainer *t, struct error *err)
{
	for (uint64_t i = 0; i < setup_accumulate(t->setup) && trainer_does(t, STEP_COMPUTE); i++) {
		data_parallel_forward(t, i, err);
		data_parallel_backward(t, i, err);
	}
	return trainer_update(t, err);
}

static unsigned mode_ddp_single_commands(const struct trainer *t)
{
	return gemm_layer_commands(&t->network, setup_accumulate(t->setup));
}

const struct mode mode_single = {
	.name = "single",
	.summary = "one device computes the whole step",
	.replicated = true,
	.transformers = true,
	.images = true,
	.recordable = true,
	.accumulates = true,
	.recomputes = true,
	.aliases_buffers = true,
	.refusal = mode_ddp_single_refusal,
	.partition = data_parallel_partition,
	.enqueue = mode_ddp_single_enqueue,
	.commands = mode_ddp_single_commands,
	.wire_bytes = data_parallel_mode_nothing,
	.bubble = data_parallel_mode_nothing,
};

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
	.bubble = data_parallel_mode_nothing,
};

/* The rows of the ZeRO stages differ in the stage. */
#define ZERO_ROWS                                                                                 \
	.bucketed = true, .overlap = OVERLAP_FORWARD | OVERLAP_BACKWARD, .aliases_buffers = true, \
	.runs_on = true, .replicated = true, .transformers = true, .images = true,                \
	.recomputes = true, .refusal = data_parallel_refusal, .fit = data_parallel_zero_fit,      \
	.partition = data_parallel_partition, .shard = mode_ddp_zero_hold,                        \
	.buffers = mode_ddp_zero_buffers, .open = ddp_open, .close = ddp_close,                   \
	.enqueue = ddp_enqueue, .commands = ddp_commands, .wire_bytes = ddp_wire_bytes,           \
	.bubble = data_parallel_mode_nothing

const struct mode mode_zero1 = {
	.name = "zero1",
	.summary = "data parallel, optimizer state sharded over the ranks",
	.zero_stage = 1,
	.accumulates = true,
	ZERO_ROWS,
};

const struct mode mode_zero2 = {
	.name = "zero2",
	.summary = "data parallel, optimizer state and gradients sharded over the ranks",
	.zero_stage = 2,
	ZERO_ROWS,
};
