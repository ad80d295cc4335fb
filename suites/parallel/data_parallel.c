#include "suites/parallel/data_parallel.h"

#include "suites/parallel/timeline.h"

const char *data_parallel_refusal(const struct setup *setup)
{
	if (setup->ranks < 2)
		return "data parallel needs at least two devices";
	if (setup->batch % (uint64_t)setup->ranks)
		return "the batch does not divide by the number of devices";
	return accumulation_refusal(setup, setup->batch / (uint64_t)setup->ranks);
}

void data_parallel_share(const struct setup *setup, int rank, struct share *share,
			 uint64_t *step_rows)
{
	uint64_t rows = setup->batch / (uint64_t)setup->ranks;

	*share = (struct share){
		.last = setup->layers, .row = (uint64_t)rank * rows, .rows = rows, .parts = 1
	};
	*step_rows = share->kept = rows / setup_accumulate(setup);
}

const char *accumulation_refusal(const struct setup *setup, uint64_t rows)
{
	return rows % setup_accumulate(setup)
		       ? "the rows of a device do not divide by the parts that accumulate"
		       : NULL;
}

enum status forward_part(struct trainer *t, uint64_t part, struct error *err)
{
	struct stream *stream = t->team->streams[STREAM_COMPUTE];
	struct network *n = &t->network;
	uint64_t rows = n->share.rows / setup_accumulate(t->setup), row = part * rows;

	timeline_begin(t, STREAM_COMPUTE, SPAN_FORWARD, part);
	if (network_forward_all(n, stream, row, rows, err) == STATUS_OK)
		network_loss(n, stream, row, rows, trainer_gradient_scale(t, n->share.rows), err);
	timeline_end(t, STREAM_COMPUTE);
	return err->status;
}

enum status backward_part(struct trainer *t, uint64_t part, struct error *err)
{
	struct network *n = &t->network;
	uint64_t rows = n->share.rows / setup_accumulate(t->setup);

	timeline_begin(t, STREAM_COMPUTE, SPAN_BACKWARD, part);
	network_backward_all(n, t->team->streams[STREAM_COMPUTE], part * rows, rows, NULL, NULL,
			     part > 0, err);
	timeline_end(t, STREAM_COMPUTE);
	return err->status;
}

double mode_nothing(const struct setup *setup)
{
	(void)setup;
	return 0;
}

size_t buckets_make(const struct setup *setup, const struct model *model, struct bucket *out)
{
	uint64_t first = 0;
	size_t made = 0;

	for (size_t l = model->layers; l-- > 0;) {
		uint64_t count = model_elements(model, l, model->layers) - first;

		if (l > 0 && count * precision_bytes(setup->precision) < setup->bucket_bytes)
			continue;
		out[made++] = (struct bucket){ .layer = l, .first = first, .count = count };
		first += count;
	}
	return made;
}
