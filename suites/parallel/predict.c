#include "suites/parallel/predict.h"

#include <math.h>
#include <string.h>

#include "suites/parallel/data_parallel.h"
#include "suites/parallel/grid.h"
#include "suites/parallel/predict_pipeline.h"
#include "suites/parallel/predict_reductions.h"
#include "suites/parallel/predict_tensor.h"

static double bytes_of(const struct setup *s)
{
	return (double)precision_bytes(s->precision);
}

double work_forward(const struct work *w, size_t l, double rows)
{
	const struct model_layer *layer = &w->model.layer[l];
	double out = (double)layer->out;
	double product = curves_product(w->curves, "tn", out, rows, (double)layer->in);

	/* Bias and ReLU are the product's own, unless its result is a summand. */
	if (w->setup->fusion != FUSION_OFF && setup_cut(w->setup, l, w->parts) != CUT_ROWS)
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
	double classes = (double)w->setup->widths[w->setup->layers];

	return curves_memory(w->curves, 3 * rows * classes * bytes_of(w->setup));
}

double work_adding(const struct work *w, size_t l)
{
	const struct model_layer *layer = &w->model.layer[l];

	return curves_memory(w->curves, (double)layer->in * (double)layer->out * bytes_of(w->setup));
}

/* Reading or writing the gradients of the outputs once. */
static double pass_of(const struct work *w, size_t l, double rows)
{
	return curves_memory(w->curves, rows * (double)w->model.layer[l].out * bytes_of(w->setup));
}

double work_inputs_back(const struct work *w, size_t l, double rows)
{
	const struct model_layer *layer = &w->model.layer[l];
	double pass = 3 * pass_of(w, l, rows);

	/* The first layer's input needs no gradient. */
	return l == 0 ? pass
		      : pass + curves_product(w->curves, "nn", (double)layer->in, rows,
					      (double)layer->out);
}

/* As they come, or from a transposed copy where that is faster. */
double work_weights_back(const struct work *w, size_t l, double rows)
{
	const struct model_layer *layer = &w->model.layer[l];
	double in = (double)layer->in, out = (double)layer->out;

	return fmin(curves_product(w->curves, "nt", in, out, rows),
		    curves_product(w->curves, "nn", in, out, rows) + pass_of(w, l, rows));
}

double work_backward(const struct work *w, size_t l, double rows)
{
	return work_inputs_back(w, l, rows) + work_weights_back(w, l, rows);
}

double work_update(const struct work *w, double parameters)
{
	const struct setup *s = w->setup;
	double stored = bytes_of(s), master = (double)precision_bytes(setup_master(s));
	double moments = (double)(optimizer_moments(s->optimizer) *
				  precision_bytes(setup_moment(s)));
	/* Weights and moments are read and written, the gradient read, the copy written. */
	double each = 2 * master + 2 * moments + stored + (setup_has_master(s) ? stored : 0);

	return curves_memory(w->curves, parameters * each);
}

double work_collective(const struct work *w, const char *operation, int ranks, double elements)
{
	return curves_collective(w->curves, operation, ranks, elements * bytes_of(w->setup));
}

double work_sum(const struct work *w, const char *operation, double elements)
{
	int ranks = w->setup->ranks;

	return work_collective(w, operation, ranks, elements) +
	       curves_latency(w->curves, operation, ranks);
}

/* All layers of the whole model for these rows: forward and loss, backward. */
static double forward_all(const struct work *w, double rows)
{
	double seconds = work_loss(w, rows);

	for (size_t l = 0; l < w->setup->layers; l++)
		seconds += work_forward(w, l, rows);
	return seconds;
}

static double backward_all(const struct work *w, double rows)
{
	double seconds = 0;

	for (size_t l = 0; l < w->setup->layers; l++)
		seconds += work_backward(w, l, rows);
	return seconds;
}

static double adding_all(const struct work *w)
{
	double seconds = 0;

	for (size_t l = 0; l < w->setup->layers; l++)
		seconds += work_adding(w, l);
	return seconds;
}

/* All parts that accumulate but the last one's backward: the first sets the gradients, the others add. */
static double parts_before(const struct work *w, double rows)
{
	double parts = (double)setup_accumulate(w->setup);

	return (parts - 1) * (forward_all(w, rows) + backward_all(w, rows) + adding_all(w));
}

static double predict_single(const struct work *w)
{
	double rows = (double)w->setup->batch / (double)setup_accumulate(w->setup);

	return parts_before(w, rows) + forward_all(w, rows) + backward_all(w, rows) +
	       work_update(w, (double)w->model.elements);
}

/* Backward of the last part, from time 0 on: each bucket's reduction may start with what completes it. */
static void backward_reduced(const struct work *w, double rows, const char *operation,
			     const struct bucket *buckets, struct reductions *r)
{
	size_t i = 0;

	*r = (struct reductions){ 0 };
	for (size_t l = w->setup->layers; l-- > 0;) {
		double passes = 3 * pass_of(w, l, rows), weights = work_weights_back(w, l, rows);
		double all = (double)w->model.layer[l].out, outputs = 0, done;

		reductions_compute(r, passes, REDUCTION_BESIDE_PRODUCTS);
		for (; outputs < all; outputs = done) {
			bool completes = buckets[i].layer == l;

			done = completes ? (double)buckets[i].outputs : all;
			reductions_compute(r, weights * (done - outputs) / all,
					   REDUCTION_BESIDE_PRODUCTS);
			if (completes)
				reductions_add(r, work_sum(w, operation, (double)buckets[i++].count));
		}
		reductions_compute(r, work_inputs_back(w, l, rows) - passes, REDUCTION_BESIDE_PRODUCTS);
	}
}

/* Each bucket is updated when backward is over and its sum is there; a loss scale waits for all sums. */
static double predict_ddp(const struct work *w)
{
	double rows = (double)w->setup->batch / w->setup->ranks / (double)setup_accumulate(w->setup);
	struct bucket buckets[BUCKETS_CUT_MOST];
	struct reductions r;
	size_t count = buckets_make(w->setup, &w->model, buckets);

	count = buckets_cut(w->setup, &w->model, buckets, count);
	backward_reduced(w, rows, "all_reduce", buckets, &r);
	if (w->setup->dynamic_scale)
		reductions_wait(&r, count - 1);
	for (size_t i = 0; i < count; i++) {
		reductions_wait(&r, i);
		reductions_compute(&r, work_update(w, (double)buckets[i].count),
				   REDUCTION_BESIDE_OPTIMIZER);
	}
	return parts_before(w, rows) + forward_all(w, rows) + r.now;
}

/* Slices are updated and gathered, first layers first; each layer's forward waits for its own. */
static double update_and_forward(const struct work *w, double rows)
{
	struct bucket buckets[SETUP_MAX_LAYERS];
	size_t count = buckets_make(w->setup, &w->model, buckets), next = count;
	double updated = 0, gathered = 0, computed = 0, at[SETUP_MAX_LAYERS];

	for (size_t i = count; i-- > 0;) {
		updated += work_update(w, (double)buckets[i].count / w->setup->ranks);
		gathered = fmax(updated, gathered) + work_collective(w, "all_gather",
								     w->setup->ranks,
								     (double)buckets[i].count);
		at[i] = gathered;
	}
	computed = updated;
	for (size_t l = 0; l < w->setup->layers; l++) {
		if (next > 0 && buckets[next - 1].layer == l)
			computed = fmax(computed, at[--next]);
		computed += work_forward(w, l, rows);
	}
	return computed + work_loss(w, rows);
}

static double predict_zero(const struct work *w)
{
	double rows = (double)w->setup->batch / w->setup->ranks / (double)setup_accumulate(w->setup);
	struct bucket buckets[SETUP_MAX_LAYERS];
	size_t count = buckets_make(w->setup, &w->model, buckets);
	struct reductions r;

	backward_reduced(w, rows, "reduce_scatter", buckets, &r);
	return update_and_forward(w, rows) + parts_before(w, rows) +
	       reductions_wait(&r, count - 1);
}

static double layer_elements(const struct work *w, size_t l)
{
	return (double)(w->model.layer[l].end - w->model.layer[l].weight);
}

/* Starts to gather a layer's weights, or to scatter the sums of its gradients; returns its number. */
static size_t move_layer(const struct work *w, const char *operation, size_t l, struct reductions *r)
{
	reductions_add(r, work_collective(w, operation, w->setup->ranks, layer_elements(w, l)));
	return r->count - 1;
}

/*
 * Two buffers of weights and two of gradients: what is gathered waits until the layer but one before has been used, a
 * backward until the gradients of the layer but one behind have left. The stream of communication takes all in turn.
 */
static double predict_zero3(const struct work *w)
{
	double rows = (double)w->setup->batch / w->setup->ranks;
	size_t gathered[SETUP_MAX_LAYERS], reduced[SETUP_MAX_LAYERS], last = w->setup->layers;
	struct reductions r = { 0 };

	gathered[0] = move_layer(w, "all_gather", 0, &r);
	for (size_t l = 0; l < last; l++) {
		if (l + 1 < last)
			gathered[l + 1] = move_layer(w, "all_gather", l + 1, &r);
		reductions_wait(&r, gathered[l]);
		reductions_compute(&r, work_forward(w, l, rows), REDUCTION_BESIDE_PRODUCTS);
	}
	reductions_compute(&r, work_loss(w, rows), REDUCTION_BESIDE_PRODUCTS);
	for (size_t l = last; l-- > 0;) {
		reductions_wait(&r, gathered[l]);
		if (l + 2 < last)
			reductions_wait(&r, reduced[l + 2]);
		reductions_compute(&r, work_backward(w, l, rows), REDUCTION_BESIDE_PRODUCTS);
		if (l >= 2)
			gathered[l - 2] = move_layer(w, "all_gather", l - 2, &r);
		reduced[l] = move_layer(w, "reduce_scatter", l, &r);
	}
	return reductions_wait(&r, reduced[0]) +
	       work_update(w, (double)w->model.elements / w->setup->ranks);
}

/* One stream, everything in turn. */
static double predict_naive(const struct work *w)
{
	const struct setup *s = w->setup;
	double rows = (double)s->batch / s->ranks, parameters = (double)w->model.elements;
	double others = s->ranks - 1, classes = (double)s->widths[s->layers];
	double seconds = work_collective(w, "broadcast", s->ranks, parameters) +
			 work_collective(w, "reduce", s->ranks, parameters) +
			 others * work_collective(w, "send_recv", 2, rows * (double)s->widths[0]);

	if (s->loss_on_server)
		seconds += 2 * others * work_collective(w, "send_recv", 2, rows * classes) +
			   work_loss(w, (double)s->batch) - work_loss(w, rows);
	return seconds + forward_all(w, rows) + backward_all(w, rows) + work_update(w, parameters);
}

double predict_step(const struct setup *setup, struct curves *curves)
{
	static const struct {
		const char *mode;
		double (*predict)(const struct work *work);
	} table[] = {
		{ "single", predict_single },     { "ddp", predict_ddp },
		{ "zero1", predict_zero },        { "zero2", predict_zero },
		{ "zero3", predict_zero3 },       { "dp_naive", predict_naive },
		{ "tensor", predict_tensor },
	};
	struct work work = { .setup = setup, .curves = curves };
	struct holding holding;
	struct share share;
	uint64_t rows;

	holding_of(setup, 0, &share, &rows, &holding);
	work.parts = share.parts;
	model_init_share(&work.model, setup, &share);
	if (setup->mode->microbatched)
		return predict_pipeline(setup, curves);
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (strcmp(table[i].mode, setup->mode->name) == 0)
			return table[i].predict(&work);
	return NAN;
}

double predict_critical_batch(const struct setup *s, struct curves *curves)
{
	double n = s->ranks;

	return (n - 1) / n * bytes_of(s) * curves_flops(curves) / (2 * curves_bus(curves, s->ranks));
}

double predict_critical_width(const struct setup *s, struct curves *curves)
{
	return (s->ranks - 1) * bytes_of(s) * curves_flops(curves) /
	       (2 * curves_bus(curves, s->ranks));
}
