#include "suites/parallel/predict/predict_work.h"

#include <math.h>

#include "suites/models/parameter_shard.h"
#include "suites/parallel/predict/predict_blocks.h"

void work_open(struct work *w, const struct setup *setup, int rank, struct curves *curves)
{
	struct parameter_shard shard;

	*w = (struct work){ .setup = setup, .curves = curves, .steps = 1 };
	parameter_shard_of(setup, rank, &w->partition, &w->rows, &shard);
	w->copies = setup_has_master(setup) && shard.weights > 0;
	model_init_partition(&w->model, setup, &w->partition);
	segments_make(&w->segments, setup, &w->partition, w->rows);
}

static bool is_linear(const struct work *w, size_t l)
{
	return setup_layer_kind(w->setup, l) == LAYER_LINEAR;
}

static double bytes_of(const struct setup *s)
{
	return (double)precision_bytes(s->precision);
}

double work_forward(const struct work *w, size_t l, double rows)
{
	const struct model_layer *layer = &w->model.layer[l];
	double out = (double)layer->out, product;

	if (!is_linear(w, l))
		return blocks_forward_time(w, l, rows);
	product = curves_product(w->curves, "tn", out, rows, (double)layer->in);
	/* Bias and ReLU are the product's own, unless its result is a summand. */
	if (w->setup->fusion != FUSION_OFF &&
	    setup_layer_split(w->setup, l, w->partition.parts) != ROW_PARALLEL)
		return product;
	return product + work_activation(w, l, rows);
}

double work_activation(const struct work *w, size_t l, double rows)
{
	double out = (double)w->model.layer[l].out;

	return curves_memory(w->curves, 2 * rows * out * bytes_of(w->setup));
}

double work_loss(const struct work *w, double rows)
{
	double classes = (double)partition_width(w->setup, &w->partition, w->setup->layers);
	/* A vocabulary is too long to be held between reading it for sums and for gradients. */
	double tensors = w->setup->kind == MODEL_TRANSFORMER ? 4 : 3;

	return curves_memory(w->curves, tensors * rows * classes * bytes_of(w->setup));
}

double work_adding(const struct work *w, size_t l)
{
	const struct model_layer *layer = &w->model.layer[l];

	return curves_memory(w->curves, (is_linear(w, l) ? (double)layer->in * (double)layer->out
							 : (double)(layer->end - layer->weight)) *
						bytes_of(w->setup));
}

double work_adding_all(const struct work *w)
{
	double seconds = 0;

	for (size_t l = w->partition.first; l < w->partition.last; l++)
		seconds += work_adding(w, l);
	return seconds;
}

/* A kernel with next to nothing to do. */
static double short_kernel(const struct work *w)
{
	return curves_memory(w->curves, 0);
}

/* Bytes of the gradients of the outputs. */
static double outputs_bytes(const struct work *w, size_t l, double rows)
{
	return rows * (double)w->model.layer[l].out * bytes_of(w->setup);
}

static double recompute_time(const struct work *w, size_t l, double rows)
{
	double seconds = 0;

	for (size_t r = segments_recompute_from(&w->segments, l); r < l; r++)
		seconds += work_forward(w, r, rows);
	return seconds;
}

/*
 * One kernel reads them and the outputs and writes those that pass; another joins the parts of
 * their sums.
 */
double work_outputs_back(const struct work *w, size_t l, double rows)
{
	if (!is_linear(w, l))
		return blocks_backward_time(w, l, rows);
	return recompute_time(w, l, rows) +
	       curves_memory(w->curves, 3 * outputs_bytes(w, l, rows)) + short_kernel(w);
}

double work_inputs_back(const struct work *w, size_t l, double rows)
{
	const struct model_layer *layer = &w->model.layer[l];

	if (!is_linear(w, l))
		return blocks_input_time(w, l, rows);
	/* The first layer's input needs no gradient. */
	return l == 0 ? 0
		      : curves_product(w->curves, "nn", (double)layer->in, rows,
				       (double)layer->out);
}

/* As they come, or from a transposed copy where that is faster. */
double work_weights_back(const struct work *w, size_t l, double rows)
{
	const struct model_layer *layer = &w->model.layer[l];
	double in = (double)layer->in, out = (double)layer->out;

	/* Backward of the layer has computed them. */
	if (!is_linear(w, l))
		return 0;
	return fmin(curves_product(w->curves, "nt", in, out, rows),
		    curves_product(w->curves, "nn", in, out, rows) +
			    curves_memory(w->curves, 4 * outputs_bytes(w, l, rows)) -
			    curves_memory(w->curves, 3 * outputs_bytes(w, l, rows)));
}

double work_backward(const struct work *w, size_t l, double rows)
{
	return work_outputs_back(w, l, rows) + work_inputs_back(w, l, rows) +
	       work_weights_back(w, l, rows);
}

double work_update(const struct work *w, double parameters)
{
	const struct setup *s = w->setup;
	double stored = bytes_of(s), master = (double)precision_bytes(setup_master(s));
	double moments =
		(double)(optimizer_moments(s->optimizer) * precision_bytes(setup_moment(s)));
	/* Weights and moments are read and written, the gradient read, the copy written. */
	double each = 2 * master + 2 * moments + stored + (w->copies ? stored : 0);

	return curves_memory(w->curves, parameters * each);
}

double work_rounding(const struct work *w, double parameters)
{
	return curves_memory(w->curves,
			     parameters * (bytes_of(w->setup) +
					   (double)precision_bytes(setup_master(w->setup))));
}

/* The clock of its corrections. */
double work_update_begin(const struct work *w)
{
	return w->setup->optimizer == OPTIMIZER_ADAM ? short_kernel(w) : 0;
}

double work_collective(const struct work *w, const char *operation, int ranks, double elements)
{
	return curves_collective(w->curves, operation, ranks, elements * bytes_of(w->setup));
}

double work_event_record(const struct work *w)
{
	return curves_event_record(w->curves);
}

double work_stream_wait(const struct work *w, const char *operation, int ranks)
{
	double measured = curves_stream_wait(w->curves);

	return isnan(measured) ? curves_latency(w->curves, operation, ranks) / 2 : measured;
}
