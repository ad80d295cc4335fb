/*
 * Data parallel with a divided optimizer (ZeRO, Rajbhandari et al., SC 2020): every layer's
 * parameters are divided into one slice per rank, and each rank updates only its own. Stage 1 keeps
 * all gradients, stage 2 only the sums of its slices.
 */
#include <stdlib.h>

#include "base/memory.h"
#include "suites/training/models/gemm/layer.h"
#include "suites/training/parallel/modes/data_parallel.h"
#include "suites/training/parallel/trainer/scaler.h"
#include "suites/training/parallel/trainer/timeline.h"

/* Stage 2: gradients are computed into one buffer while those in the other are summed. */
#define BUFFERS 2

struct zero {
	struct bucket buckets[SETUP_MAX_LAYERS];
	size_t count;
	struct event *ready;                     /* gradients to sum, or slices to send */
	struct event *reduced[SETUP_MAX_LAYERS]; /* of each bucket */
	/* its parameters have been gathered from all ranks */
	struct event *gathered[SETUP_MAX_LAYERS];
	void *buffers[BUFFERS]; /* stage 2; NULL: gradients stay in their place */
};

static void zero_hold(const struct setup *setup, int rank, int stage, struct parameter_shard *h)
{
	uint64_t ranks = (uint64_t)setup->ranks, mine = (uint64_t)rank;
	struct bucket buckets[SETUP_MAX_LAYERS];
	struct model model;

	model_init(&model, setup);
	h->count = buckets_make(setup, &model, buckets);
	h->master = h->moments = h->elements / ranks;
	h->gradients = stage == 1 ? h->elements : h->elements / ranks;
	for (size_t i = 0; i < h->count; i++) {
		uint64_t slice = buckets[i].count / ranks, compact = buckets[i].first / ranks;
		uint64_t flat = buckets[i].first + mine * slice;

		h->ranges[i] = (struct shard_range){ .flat = flat,
						     .count = slice,
						     .weights = flat,
						     .gradients = stage == 1 ? flat : compact,
						     .master = compact,
						     .moments = compact };
	}
}

/* Bytes of the largest bucket. */
static uint64_t zero_bucket_bytes(const struct setup *setup)
{
	struct bucket buckets[SETUP_MAX_LAYERS];
	struct model model;
	uint64_t most = 0;
	size_t count;

	model_init(&model, setup);
	count = buckets_make(setup, &model, buckets);
	for (size_t b = 0; b < count; b++)
		most = buckets[b].count > most ? buckets[b].count : most;
	return most * precision_bytes(setup->precision);
}

static uint64_t zero_buffers(const struct setup *setup, int stage)
{
	return stage == 1 ? 0 : BUFFERS * zero_bucket_bytes(setup);
}

static enum status zero_open_buffers(struct trainer *t, struct zero *z, struct error *err)
{
	struct network *n = &t->network;
	uint64_t bytes = zero_bucket_bytes(t->setup);
	size_t i = 0;

	for (int b = 0; b < BUFFERS; b++)
		if (arena_alloc(&t->arena, MEMORY_COMMUNICATION, bytes, &z->buffers[b], err) !=
		    STATUS_OK)
			return err->status;
	for (size_t l = t->setup->layers; l-- > 0;) {
		n->layer_gradients[l] =
			network_element(n, z->buffers[i % BUFFERS],
					n->model.layer[l].weight - z->buckets[i].first);
		i += z->buckets[i].layer == l;
	}
	return STATUS_OK;
}

static enum status zero_open_local(struct trainer *t, struct zero *z, int stage, struct error *err)
{
	struct device *device = t->team->device;

	if (backend_event_create(device, &z->ready, err) != STATUS_OK)
		return err->status;
	for (size_t i = 0; i < z->count; i++)
		if (backend_event_create(device, &z->reduced[i], err) != STATUS_OK ||
		    backend_event_create(device, &z->gathered[i], err) != STATUS_OK)
			return err->status;
	return stage == 1 ? STATUS_OK : zero_open_buffers(t, z, err);
}

static enum status zero_open(struct trainer *t, int stage, struct error *err)
{
	struct zero *z = t->state = xcalloc(1, sizeof(*z));

	z->count = buckets_make(t->setup, &t->network.model, z->buckets);
	return world_agree(t->team->world, zero_open_local(t, z, stage, err), err);
}

static void zero_close(struct trainer *t)
{
	struct zero *z = t->state;

	if (!z)
		return;
	backend_event_destroy(z->ready);
	for (size_t i = 0; i < z->count; i++) {
		backend_event_destroy(z->reduced[i]);
		backend_event_destroy(z->gathered[i]);
	}
	free(z);
}

static struct stream *zero_communication_stream(const struct trainer *t)
{
	return t->team->streams[STREAM_PREVIOUS];
}

/* Communication continues after the preceding computation. */
static enum status zero_hand_over(struct trainer *t, struct error *err)
{
	struct zero *z = t->state;

	if (backend_event_record(z->ready, trainer_stream(t), err) != STATUS_OK)
		return err->status;
	return backend_stream_wait(zero_communication_stream(t), z->ready, err);
}

/* The parameters of a layer may still be in transfer from the step before. */
static enum status zero_forward(struct trainer *t, uint64_t row, uint64_t rows, struct error *err)
{
	struct stream *stream = trainer_stream(t);
	struct zero *z = t->state;
	struct network *n = &t->network;
	size_t bucket = row == 0 ? z->count : 0;

	timeline_begin(t, STREAM_COMPUTE, SPAN_FORWARD, row / rows);
	for (size_t l = 0; l < t->setup->layers; l++) {
		if (bucket > 0 && z->buckets[bucket - 1].layer == l &&
		    backend_stream_wait(stream, z->gathered[--bucket], err) != STATUS_OK)
			return err->status;
		if (network_forward(n, stream, l, row, rows, err) != STATUS_OK)
			return err->status;
	}
	network_loss(n, stream, row, rows, trainer_gradient_scale(t, n->partition.rows), err);
	timeline_end(t, STREAM_COMPUTE);
	return err->status;
}

static enum status zero_reduce_bucket(struct trainer *t, size_t i, struct error *err)
{
	struct zero *z = t->state;
	struct network *n = &t->network;
	const struct shard_range *range = &n->shard.ranges[i];
	const void *all = z->buffers[0] ? z->buffers[i % BUFFERS]
					: network_element(n, n->gradients, z->buckets[i].first);

	if (zero_hand_over(t, err) != STATUS_OK)
		return err->status;
	timeline_begin(t, STREAM_PREVIOUS, SPAN_REDUCE_SCATTER, i);
	backend_reduce_scatter(t->team->all, zero_communication_stream(t),
			       network_element(n, n->gradients, range->gradients), all,
			       range->count, setup_storage(t->setup), REDUCE_AVERAGE, err);
	timeline_end(t, STREAM_PREVIOUS);
	if (err->status != STATUS_OK)
		return err->status;
	return backend_event_record(z->reduced[i], zero_communication_stream(t), err);
}

/* The second last bucket used the same buffer. */
static enum status zero_wait_buffer(struct trainer *t, size_t bucket, struct error *err)
{
	struct zero *z = t->state;

	return z->buffers[0] && bucket >= BUFFERS
		       ? backend_stream_wait(trainer_stream(t), z->reduced[bucket - BUFFERS], err)
		       : STATUS_OK;
}

static enum status zero_gather_bucket(struct trainer *t, size_t i, struct error *err)
{
	struct zero *z = t->state;
	struct network *n = &t->network;
	const struct shard_range *range = &n->shard.ranges[i];

	if (zero_hand_over(t, err) != STATUS_OK)
		return err->status;
	timeline_begin(t, STREAM_PREVIOUS, SPAN_ALL_GATHER, i);
	backend_all_gather(t->team->all, zero_communication_stream(t),
			   network_element(n, n->weights, z->buckets[i].first),
			   network_element(n, n->weights, range->weights), range->count,
			   setup_storage(t->setup), err);
	timeline_end(t, STREAM_PREVIOUS);
	if (err->status != STATUS_OK)
		return err->status;
	return backend_event_record(z->gathered[i], zero_communication_stream(t), err);
}

/* The decision to skip the step needs all gradients. */
static enum status zero_decide_skip(struct trainer *t, unsigned parts, struct error *err)
{
	struct zero *z = t->state;

	for (size_t i = 0; i < z->count && t->setup->dynamic_scale && parts & STEP_COMMUNICATE; i++)
		if (backend_stream_wait(trainer_stream(t), z->reduced[i], err) != STATUS_OK)
			return err->status;
	return scaler_decide(t, parts, err);
}

/* In the order in which the next forward needs the layers. */
static enum status zero_update(struct trainer *t, unsigned parts, struct error *err)
{
	struct zero *z = t->state;
	struct network *n = &t->network;

	if (parts & STEP_UPDATE) {
		if (zero_decide_skip(t, parts, err) != STATUS_OK ||
		    network_update_begin(n, trainer_stream(t), err) != STATUS_OK)
			return err->status;
	}
	for (size_t i = z->count; i-- > 0;) {
		if (parts & STEP_COMMUNICATE &&
		    backend_stream_wait(trainer_stream(t), z->reduced[i], err) != STATUS_OK)
			return err->status;
		timeline_begin(t, STREAM_COMPUTE, SPAN_OPTIMIZER, i);
		if (parts & STEP_UPDATE &&
		    network_update_shard_range(n, trainer_stream(t), i, err) != STATUS_OK)
			return err->status;
		timeline_end(t, STREAM_COMPUTE);
		if (parts & STEP_GATHER && zero_gather_bucket(t, i, err) != STATUS_OK)
			return err->status;
	}
	return STATUS_OK;
}

static enum status zero_enqueue(struct trainer *t, unsigned parts, struct error *err)
{
	uint64_t last = setup_accumulate(t->setup) - 1,
		 rows = t->network.partition.rows / (last + 1);
	const struct zero *z = t->state;
	const struct backward backward = { .row = last * rows,
					   .rows = rows,
					   .buckets = z->buckets,
					   .before = zero_wait_buffer,
					   .complete = zero_reduce_bucket };

	for (uint64_t i = 0; i <= last && parts & STEP_COMPUTE; i++)
		if (zero_forward(t, i * rows, rows, err) != STATUS_OK ||
		    (i < last && backward_part(t, i, err) != STATUS_OK))
			return err->status;
	if (backward_buckets(t, &backward, parts, err) != STATUS_OK)
		return err->status;
	return zero_update(t, parts, err);
}

static unsigned zero_commands(const struct trainer *t)
{
	const struct zero *z = t->state;

	return network_commands(&t->network, setup_accumulate(t->setup)) +
	       (unsigned)(t->setup->layers + 8 * z->count);
}

/*
 * A ring: (n - 1) / n of the gradients to the ranks of their slices, and the same share of the
 * parameters back.
 */
static double zero_wire_bytes(const struct setup *setup)
{
	struct model model;
	double n = setup->ranks;

	model_init(&model, setup);
	return 2 * (n - 1) / n * (double)model.elements * (double)precision_bytes(setup->precision);
}

#define ZERO_MODE(stage_, summary_)                                                       \
	static void shard_of_rank_##stage_(const struct setup *setup, int rank,           \
					   struct parameter_shard *shard)                 \
	{                                                                                 \
		zero_hold(setup, rank, stage_, shard);                                    \
	}                                                                                 \
	static uint64_t buffers_##stage_(const struct setup *setup, int rank)             \
	{                                                                                 \
		(void)rank;                                                               \
		return zero_buffers(setup, stage_);                                       \
	}                                                                                 \
	static enum status open_mode_##stage_(struct trainer *trainer, struct error *err) \
	{                                                                                 \
		return zero_open(trainer, stage_, err);                                   \
	}                                                                                 \
	const struct mode mode_zero##stage_ = {                                           \
		.name = "zero" #stage_,                                                   \
		.summary = summary_,                                                      \
		.bucketed = true,                                                         \
		.overlap = OVERLAP_FORWARD | OVERLAP_BACKWARD,                            \
		.aliases_buffers = true,                                                  \
		.runs_on = true,                                                          \
		.replicated = true,                                                       \
		.transformers = true,                                                     \
		.images = true,                                                           \
		.accumulates = (stage_) == 1,                                             \
		.recomputes = true,                                                       \
		.refusal = data_parallel_refusal,                                         \
		.fit = data_parallel_zero_fit,                                            \
		.partition = data_parallel_partition,                                     \
		.shard = shard_of_rank_##stage_,                                          \
		.buffers = buffers_##stage_,                                              \
		.open = open_mode_##stage_,                                               \
		.close = zero_close,                                                      \
		.enqueue = zero_enqueue,                                                  \
		.commands = zero_commands,                                                \
		.wire_bytes = zero_wire_bytes,                                            \
		.bubble = mode_nothing,                                                   \
	}

ZERO_MODE(1, "data parallel, optimizer state sharded over the ranks");
ZERO_MODE(2, "data parallel, optimizer state and gradients sharded over the ranks");
