#include "suites/training/parallel/modes/data_parallel.h"

#include <string.h>

#include "suites/training/models/gemm/layer.h"
#include "suites/training/parallel/trainer/timeline.h"

const char *data_parallel_refusal(const struct setup *setup)
{
	if (setup->ranks < 2)
		return "data parallelism needs at least two devices";
	if (setup->batch % (uint64_t)setup->ranks)
		return "the batch is not divisible by the number of devices";
	return data_parallel_accumulation_refusal(setup, setup->batch / (uint64_t)setup->ranks);
}

void data_parallel_partition(const struct setup *setup, int rank, struct rank_partition *partition)
{
	uint64_t rows = setup->batch / (uint64_t)setup->ranks;

	*partition = (struct rank_partition){ .last = setup->layers,
					      .row = (uint64_t)rank * rows,
					      .rows = rows,
					      .parts = 1,
					      .kept = rows / setup_accumulate(setup) };
}

const char *data_parallel_accumulation_refusal(const struct setup *setup, uint64_t rows)
{
	return rows % setup_accumulate(setup)
		       ? "the samples per device are not divisible by accumulate"
		       : NULL;
}

enum status data_parallel_forward(struct trainer *t, uint64_t part, struct error *err)
{
	struct network *n = &t->network;
	uint64_t rows = n->step_rows;

	timeline_begin(t, STREAM_COMPUTE, SPAN_FORWARD, part);
	gemm_layer_forward_all(n, part * rows, rows, err);
	gemm_layer_loss(n, part * rows, rows, trainer_gradient_scale(t, n->partition.rows), err);
	timeline_end(t, STREAM_COMPUTE);
	return err->status;
}

enum status data_parallel_backward(struct trainer *t, uint64_t part, struct error *err)
{
	uint64_t rows = t->network.step_rows;

	timeline_begin(t, STREAM_COMPUTE, SPAN_BACKWARD, part);
	gemm_layer_backward_all(&t->network, part * rows, rows, part > 0, err);
	timeline_end(t, STREAM_COMPUTE);
	return err->status;
}

double data_parallel_mode_nothing(const struct setup *setup)
{
	(void)setup;
	return 0;
}

size_t data_parallel_buckets_make(const struct setup *setup, const struct model *model,
				  struct bucket *out)
{
	uint64_t first = 0;
	size_t made = 0;

	for (size_t l = model->layers; l-- > 0;) {
		uint64_t count = model_elements(model, l, model->layers) - first;

		if (l > 0 && count * precision_bytes(setup->precision) < setup->bucket_bytes)
			continue;
		out[made++] = (struct bucket){
			.layer = l, .outputs = model->layer[l].out, .first = first, .count = count
		};
		first += count;
	}
	return made;
}

/* Cuts `whole` into pieces; returns their number. */
static size_t data_parallel_bucket_cut(const struct setup *setup, const struct model *model,
				       struct bucket whole, struct bucket *out)
{
	const struct model_layer *layer = &model->layer[whole.layer];
	uint64_t bytes = layer->in * layer->out * precision_bytes(setup->precision),
		 pieces = setup->bucket_bytes ? bytes / setup->bucket_bytes : BUCKET_PIECES,
		 first = whole.first, each;

	pieces = pieces < BUCKET_PIECES ? pieces : BUCKET_PIECES;
	/* Backward of other kinds of layers completes all tensors at once. */
	if (layer->kind != LAYER_LINEAR || pieces * MODEL_ALIGN > layer->out || pieces == 0)
		pieces = 1;
	each = layer->out / pieces / MODEL_ALIGN * MODEL_ALIGN;
	for (uint64_t i = 1; i <= pieces; i++) {
		uint64_t outputs = i < pieces ? i * each : layer->out;
		uint64_t end = i < pieces ? layer->weight + outputs * layer->in
					  : whole.first + whole.count;

		out[i - 1] = (struct bucket){ .layer = whole.layer,
					      .outputs = outputs,
					      .first = first,
					      .count = end - first };
		first = end;
	}
	return pieces;
}

size_t data_parallel_buckets_cut(const struct setup *setup, const struct model *model,
				 struct bucket *buckets, size_t count)
{
	struct bucket made[BUCKETS_SPLIT_MAX];
	size_t n = 0;

	for (size_t i = 0; i < count; i++) {
		if (i == 0 || i + 1 == count)
			n += data_parallel_bucket_cut(setup, model, buckets[i], &made[n]);
		else
			made[n++] = buckets[i];
	}
	memcpy(buckets, made, n * sizeof(made[0]));
	return n;
}

/* Weight gradients of a layer, and the buckets that they complete: `*bucket` is the next one. */
static void data_parallel_backward_weights(struct trainer *t, const struct bucket_calls *calls,
					   size_t l, uint64_t row, const void *dy, size_t *bucket,
					   struct error *err)
{
	struct network *n = &t->network;
	uint64_t all = n->local.layer[l].out;

	for (struct outputs some = { 0, 0 }; some.first < all; some.first += some.count) {
		bool completes = calls->buckets[*bucket].layer == l;

		some.count = (completes ? calls->buckets[*bucket].outputs : all) - some.first;
		gemm_layer_weight_gradient_of(n, l, some, row, n->step_rows, dy, row > 0, err);
		if (completes && calls->complete && trainer_does(t, STEP_COMMUNICATE))
			calls->complete(t, *bucket, err);
		*bucket += completes;
	}
}

enum status data_parallel_compute(struct trainer *t, const struct bucket_calls *calls,
				  struct error *err)
{
	struct network *n = &t->network;
	uint64_t last = setup_accumulate(t->setup) - 1, rows = n->step_rows, row = last * rows;
	void *dy = network_activation(n, t->setup->layers, row);
	size_t bucket = 0;

	for (uint64_t i = 0; i <= last && trainer_does(t, STEP_COMPUTE); i++) {
		calls->forward(t, i, err);
		if (i < last)
			data_parallel_backward(t, i, err);
	}
	timeline_begin(t, STREAM_COMPUTE, SPAN_BACKWARD, last);
	for (size_t l = t->setup->layers; l-- > 0;) {
		void *dx = n->transient[network_transient_buffer(n, l)];

		if (calls->before)
			calls->before(t, bucket, err);
		gemm_layer_backward_begin(n, l, row, rows, dy, row > 0, err);
		data_parallel_backward_weights(t, calls, l, row, dy, &bucket, err);
		if (l > 0)
			gemm_layer_input_gradient(n, l, rows, dy, dx, err);
		dy = dx;
	}
	timeline_end(t, STREAM_COMPUTE);
	return err->status;
}

void data_parallel_zero_fit(struct setup *setup)
{
	setup->shards = (uint64_t)setup->ranks;
}
