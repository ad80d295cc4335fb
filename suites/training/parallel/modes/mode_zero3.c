/*
 * ZeRO stage 3: every rank keeps only its slices, including those of the parameters. A layer's
 * parameters are gathered while the layer before is computed, in forward and again in backward
 * (zero3_gathers_again()); gradients are summed into slices while the next layer's are computed.
 * Two buffers of each alternate: layer l uses buffer l modulo 2. With FP32 masters a rank keeps no
 * 16-bit weights: it rounds its slice into the buffer and gathers in place.
 *
 * A gather that becomes due during a product waits for its multiprocessors, and then takes some
 * from the next product: on H200s this is most of the exposed communication (26.7 ms a step on
 * four, of which products take 20). Fewer multiprocessors for the library do not help (16: equal,
 * 8: 34 ms); nor do copies through slots (peer_copy: 28.4 ms), whose second copy, within the
 * device, is also a kernel and waits in the same way, regardless of the hint to
 * cudaMemcpyBatchAsync.
 */
#include <stdlib.h>

#include "base/memory.h"
#include "kernels/training/training.h"
#include "suites/training/models/buffer_alias.h"
#include "suites/training/models/gemm/layer.h"
#include "suites/training/parallel/modes/data_parallel.h"
#include "suites/training/parallel/trainer/trainer.h"
#include "suites/training/parallel/trainer/timeline.h"

#define BUFFERS 2

struct zero3 {
	void *weights[BUFFERS], *gradients[BUFFERS];
	struct event *ready;             /* the preceding computation */
	struct event *gathered[BUFFERS]; /* the weights have arrived */
	struct event *used[BUFFERS];     /* the last product that uses them */
	struct event *reduced[BUFFERS];  /* the gradients have been reduced */
	struct event *updated[SETUP_MAX_LAYERS];
};

static void zero3_hold(const struct setup *setup, int rank, struct parameter_shard *h)
{
	uint64_t ranks = (uint64_t)setup->ranks;
	struct model model;

	model_init(&model, setup);
	h->gradients = h->master = h->elements / ranks;
	h->weights = setup_has_master(setup) ? 0 : h->master;
	h->count = setup->layers;
	for (size_t l = 0; l < setup->layers; l++) {
		uint64_t first = model.layer[l].weight;
		uint64_t slice = (model.layer[l].end - first) / ranks, at = first / ranks;

		h->ranges[l] = (struct shard_range){ .flat = first + (uint64_t)rank * slice,
						     .count = slice,
						     .weights = at,
						     .gradients = at,
						     .master = at };
	}
}

/* Bytes of buffer `b`, determined by its largest layer. */
static uint64_t zero3_buffer_bytes(const struct model *model, size_t b, const struct setup *setup)
{
	uint64_t most = 0;

	for (size_t l = b; l < model->layers; l += BUFFERS) {
		uint64_t elements = model->layer[l].end - model->layer[l].weight;

		most = elements > most ? elements : most;
	}
	return most * precision_bytes(setup->precision);
}

/*
 * The gradients of one buffer may share a transformer's logits: the head uses the other buffer, and
 * when the first gradients are written here, its backward has read those of the logits. Not with
 * alignment gaps, which must stay finite.
 */
static uint64_t zero3_in_logits(const struct setup *setup, size_t *lowest)
{
	size_t b = setup->layers % BUFFERS;
	struct model model;

	*lowest = b;
	model_init(&model, setup);
	for (size_t l = b; l < model.layers; l += BUFFERS)
		if (buffer_alias_has_gaps(&model.layer[l]))
			return 0;
	return zero3_buffer_bytes(&model, b, setup);
}

static uint64_t zero3_buffers(const struct setup *setup, int rank)
{
	struct rank_partition partition;
	struct parameter_shard shard;
	struct model model;

	model_init(&model, setup);
	model_parameter_shard_of(setup, rank, &partition, &shard);
	return 2 * (zero3_buffer_bytes(&model, 0, setup) + zero3_buffer_bytes(&model, 1, setup)) -
	       buffer_alias_logits_overlap(setup, &partition, &shard).mode;
}

static enum status zero3_open_buffers(struct trainer *t, struct zero3 *z, struct error *err)
{
	struct network *n = &t->network;

	for (size_t b = 0; b < BUFFERS; b++) {
		uint64_t bytes = zero3_buffer_bytes(&n->model, b, t->setup);
		bool in_logits = n->room.mode > 0 && b == t->setup->layers % BUFFERS;

		if (bytes == 0)
			continue;
		arena_alloc(&t->arena, MEMORY_COMMUNICATION, bytes, &z->weights[b], err);
		if (!in_logits)
			arena_alloc(&t->arena, MEMORY_COMMUNICATION, bytes, &z->gradients[b], err);
		else
			z->gradients[b] =
				(char *)n->activations[t->setup->layers] + n->room.mode_at;
		if (in_logits && n->room.bytes == 0)
			arena_share(&t->arena, MEMORY_COMMUNICATION, bytes);
	}
	for (size_t l = 0; l < t->setup->layers; l++) {
		n->layer_weights[l] = z->weights[l % BUFFERS];
		n->layer_gradients[l] = z->gradients[l % BUFFERS];
	}
	return err->status;
}

static enum status zero3_open(struct trainer *t, struct error *err)
{
	struct zero3 *z = t->state = xcalloc(1, sizeof(*z));

	if (rank_team_open_events(t->team, &z->ready, 1, err) == STATUS_OK &&
	    rank_team_open_events(t->team, z->gathered, BUFFERS, err) == STATUS_OK &&
	    rank_team_open_events(t->team, z->used, BUFFERS, err) == STATUS_OK &&
	    rank_team_open_events(t->team, z->reduced, BUFFERS, err) == STATUS_OK &&
	    rank_team_open_events(t->team, z->updated, t->setup->layers, err) == STATUS_OK)
		zero3_open_buffers(t, z, err);
	return world_agree(t->team->world, err->status, err);
}

static void zero3_close(struct trainer *t)
{
	struct zero3 *z = t->state;

	if (!z)
		return;
	rank_team_close_events(&z->ready, 1);
	rank_team_close_events(z->gathered, BUFFERS);
	rank_team_close_events(z->used, BUFFERS);
	rank_team_close_events(z->reduced, BUFFERS);
	rank_team_close_events(z->updated, SETUP_MAX_LAYERS);
	free(z);
}

/*
 * Gathers the whole layer into its buffer, as soon as the layer that was there has been used: from
 * the ranks' slices, or from their masters' slices, rounded in place.
 */
static enum status zero3_gather(struct trainer *t, size_t l, struct error *err)
{
	struct stream *stream = t->team->streams[STREAM_PREVIOUS];
	const struct zero3 *z = t->state;
	const struct network *n = &t->network;
	const struct shard_range *range = &n->shard.ranges[l];
	struct convert_arguments convert = {
		.to = network_element(n, z->weights[l % BUFFERS],
				      range->flat - n->model.layer[l].weight),
		.from = (const float *)n->master + range->master,
		.to_precision = t->setup->precision,
		.from_precision = PRECISION_FP32,
		.count = range->count,
	};
	const struct step_collective c = {
		.kind = SPAN_ALL_GATHER,
		.stream = STREAM_PREVIOUS,
		.index = l,
		.communicator = t->team->all,
		.to = z->weights[l % BUFFERS],
		.from = n->weights ? network_element(n, n->weights, range->weights) : convert.to,
		.count = range->count,
		.done = z->gathered[l % BUFFERS],
	};

	if (err->status != STATUS_OK ||
	    backend_stream_wait(stream, z->used[l % BUFFERS], err) != STATUS_OK ||
	    backend_stream_wait(stream, z->updated[l], err) != STATUS_OK ||
	    (!n->weights && backend_launch(stream, "convert", &convert, err) != STATUS_OK))
		return err->status;
	return timeline_collective(t, &c, err);
}

static void zero3_forward(struct trainer *t, struct error *err)
{
	const struct zero3 *z = t->state;
	struct network *n = &t->network;
	uint64_t rows = n->partition.rows;
	bool communicates = trainer_does(t, STEP_COMMUNICATE);

	if (communicates)
		zero3_gather(t, 0, err);
	for (size_t l = 0; l < t->setup->layers; l++) {
		if (communicates && l + 1 < t->setup->layers)
			zero3_gather(t, l + 1, err);
		trainer_wait(t, z->gathered[l % BUFFERS], err);
		timeline_begin(t, STREAM_COMPUTE, SPAN_FORWARD, l);
		gemm_layer_forward(n, l, 0, rows, err);
		timeline_end(t, STREAM_COMPUTE);
		trainer_record(t, z->used[l % BUFFERS], err);
	}
	gemm_layer_loss(n, 0, rows, trainer_gradient_scale(t, rows), err);
}

/*
 * True if a layer's weights are gathered again for backward: those of the last two layers are still
 * in memory, and if the gradient of a layer's input is not needed, only a convolutional layer reads
 * its weights.
 */
static bool zero3_gathers_again(const struct setup *setup, size_t l)
{
	return l + BUFFERS < setup->layers && (l > 0 || setup_has_images(setup));
}

static void zero3_backward_layer(struct trainer *t, size_t l, void *dy, void *dx, struct error *err)
{
	const struct zero3 *z = t->state;
	struct network *n = &t->network;
	const struct shard_range *range = &n->shard.ranges[l];
	const struct step_collective reduce = {
		.kind = SPAN_REDUCE_SCATTER,
		.stream = STREAM_PREVIOUS,
		.index = l,
		.communicator = t->team->all,
		.to = network_element(n, n->gradients, range->gradients),
		.from = z->gradients[l % BUFFERS],
		.count = range->count,
		.reduction = REDUCE_AVERAGE,
		.done = z->reduced[l % BUFFERS],
	};

	trainer_wait(t, z->gathered[l % BUFFERS], err);
	trainer_wait(t, z->reduced[l % BUFFERS], err);
	timeline_begin(t, STREAM_COMPUTE, SPAN_BACKWARD, l);
	gemm_layer_backward(n, l, 0, n->partition.rows, dy, dx, false, err);
	timeline_end(t, STREAM_COMPUTE);
	trainer_record(t, z->used[l % BUFFERS], err);
	trainer_record(t, z->ready, err);
	if (!trainer_does(t, STEP_COMMUNICATE))
		return;
	/* The weights first: the next forward waits for them. */
	if (l >= BUFFERS && zero3_gathers_again(t->setup, l - BUFFERS))
		zero3_gather(t, l - BUFFERS, err);
	if (err->status == STATUS_OK &&
	    backend_stream_wait(t->team->streams[STREAM_PREVIOUS], z->ready, err) == STATUS_OK)
		timeline_collective(t, &reduce, err);
}

static enum status zero3_enqueue(struct trainer *t, struct error *err)
{
	const struct zero3 *z = t->state;
	struct network *n = &t->network;
	void *gradient = network_activation(n, t->setup->layers, 0);

	zero3_forward(t, err);
	for (size_t l = t->setup->layers; l-- > 0;) {
		void *to = l > 0 ? n->transient[network_transient_buffer(n, l)] : NULL;

		zero3_backward_layer(t, l, gradient, to, err);
		gradient = to;
	}
	for (int b = 0; b < BUFFERS; b++)
		trainer_wait(t, z->reduced[b], err);
	if (!trainer_does(t, STEP_UPDATE))
		return err->status;
	trainer_decide_scale(t, err);
	gemm_layer_update_begin(n, err);
	timeline_begin(t, STREAM_COMPUTE, SPAN_OPTIMIZER, 0);
	/* In the order in which the next forward gathers the layers. */
	for (size_t l = 0; l < t->setup->layers; l++) {
		gemm_layer_update_range(n, &n->shard.ranges[l], err);
		trainer_record(t, z->updated[l], err);
	}
	timeline_end(t, STREAM_COMPUTE);
	return err->status;
}

static unsigned zero3_commands(const struct trainer *t)
{
	return gemm_layer_commands(&t->network, 1) + (unsigned)(16 * t->setup->layers);
}

/* A ring: the parameters, the parameters that backward gathers again, the gradients. */
static double zero3_wire_bytes(const struct setup *setup)
{
	double n = setup->ranks, elements;
	struct model model;

	model_init(&model, setup);
	elements = 2 * (double)model.elements;
	for (size_t l = 0; l < setup->layers; l++)
		if (zero3_gathers_again(setup, l))
			elements += (double)(model.layer[l].end - model.layer[l].weight);
	return (n - 1) / n * elements * (double)precision_bytes(setup->precision);
}

const struct mode mode_zero3 = {
	.name = "zero3",
	.transformers = true,
	.images = true,
	.summary =
		"data parallel, parameters, gradients and optimizer state sharded over the ranks",
	.overlap = OVERLAP_FORWARD | OVERLAP_BACKWARD,
	.aliases_buffers = true,
	.in_logits = zero3_in_logits,
	.refusal = data_parallel_refusal,
	.fit = data_parallel_zero_fit,
	.partition = data_parallel_partition,
	.shard = zero3_hold,
	.buffers = zero3_buffers,
	.open = zero3_open,
	.close = zero3_close,
	.enqueue = zero3_enqueue,
	.commands = zero3_commands,
	.wire_bytes = zero3_wire_bytes,
	.bubble = data_parallel_mode_nothing,
};
