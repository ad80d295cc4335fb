#include "suites/parallel/predict/predict.h"

#include <math.h>
#include <string.h>

#include "suites/parallel/modes/data_parallel.h"
#include "suites/parallel/predict/predict_blocks.h"
#include "suites/parallel/predict/predict_reductions.h"
#include "suites/parallel/predict/predict_work.h"

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

/*
 * All parts that accumulate but the last one's backward: the first sets the gradients, the others
 * add.
 */
static double parts_before(const struct work *w, double rows)
{
	double parts = (double)setup_accumulate(w->setup);

	return (parts - 1) * (forward_all(w, rows) + backward_all(w, rows) + work_adding_all(w));
}

static double predict_single(const struct work *w)
{
	double rows = (double)w->setup->batch / (double)setup_accumulate(w->setup);

	return parts_before(w, rows) + forward_all(w, rows) + backward_all(w, rows) +
	       work_update_begin(w) + work_update(w, (double)w->model.elements);
}

/* None yet, of all ranks. */
static struct reductions reductions_of(const struct work *w, const char *operation)
{
	return (struct reductions){ .no_contention = w->curves->no_contention,
				    .event_record = work_event_record(w),
				    .stream_wait =
					    work_stream_wait(w, operation, w->setup->ranks) };
}

/*
 * Backward of the last part, from time 0 on: each bucket's reduction may start with what completes
 * it. `in_turn`: buffers of gradients, so that a bucket waits for one before; 0: all have their
 * place.
 */
static void backward_reduced(const struct work *w, double rows, const char *operation,
			     const struct bucket *buckets, size_t in_turn, struct reductions *r)
{
	size_t i = 0;

	*r = reductions_of(w, operation);
	for (size_t l = w->setup->layers; l-- > 0;) {
		double weights = work_weights_back(w, l, rows);
		double all = (double)w->model.layer[l].out, outputs = 0, done;

		if (in_turn > 0 && i >= in_turn)
			reductions_wait(r, i - in_turn);
		reductions_compute(r, work_outputs_back(w, l, rows), REDUCTION_DURING_GEMM);
		for (; outputs < all; outputs = done) {
			bool completes = buckets[i].layer == l;

			done = completes ? (double)buckets[i].outputs : all;
			reductions_compute(r, weights * (done - outputs) / all,
					   REDUCTION_DURING_GEMM);
			if (completes)
				reductions_add(r, work_collective(w, operation, w->setup->ranks,
								  (double)buckets[i++].count));
		}
		reductions_compute(r, work_inputs_back(w, l, rows), REDUCTION_DURING_GEMM);
	}
}

/* One thing after the other: backward, all reductions, all updates. */
static void reduced_after(const struct work *w, double rows, const struct bucket *buckets,
			  size_t count, struct reductions *r)
{
	*r = reductions_of(w, "all_reduce");
	reductions_compute(r, backward_all(w, rows), REDUCTION_DURING_GEMM);
	for (size_t i = 0; i < count; i++)
		reductions_add(r, work_collective(w, "all_reduce", w->setup->ranks,
						  (double)buckets[i].count));
	reductions_wait(r, count - 1);
}

/*
 * Each bucket is updated when backward is over and its sum is there; a loss scale waits for all
 * sums.
 */
static double predict_ddp(const struct work *w)
{
	double rows =
		(double)w->setup->batch / w->setup->ranks / (double)setup_accumulate(w->setup);
	struct bucket buckets[BUCKETS_SPLIT_MAX];
	struct reductions r;
	size_t count = buckets_make(w->setup, &w->model, buckets);

	if (w->setup->no_overlap) {
		reduced_after(w, rows, buckets, count, &r);
	} else {
		count = buckets_cut(w->setup, &w->model, buckets, count);
		backward_reduced(w, rows, "all_reduce", buckets, 0, &r);
	}
	reductions_compute(&r, work_update_begin(w), REDUCTION_DURING_OPTIMIZER);
	if (w->setup->dynamic_scale)
		reductions_wait(&r, count - 1);
	for (size_t i = 0; i < count; i++) {
		reductions_wait(&r, i);
		reductions_compute(&r, work_update(w, (double)buckets[i].count),
				   REDUCTION_DURING_OPTIMIZER);
	}
	return parts_before(w, rows) + forward_all(w, rows) + r.now;
}

/*
 * Slices are updated and gathered, first layers first, during the forward of the next step, each of
 * whose layers waits for its own; the last step of a sample has no next one. Seconds of one of
 * `steps`.
 */
static double predict_zero(const struct work *w)
{
	double rows =
		(double)w->setup->batch / w->setup->ranks / (double)setup_accumulate(w->setup);
	double steps = w->steps;
	struct bucket buckets[SETUP_MAX_LAYERS];
	size_t count = buckets_make(w->setup, &w->model, buckets), gathered = count;
	struct reductions r, both, last;

	backward_reduced(w, rows, "reduce_scatter", buckets,
			 strcmp(w->setup->mode->name, "zero2") == 0 ? 2 : 0, &r);
	reductions_compute(&r, work_update_begin(w), REDUCTION_DURING_OPTIMIZER);
	for (size_t i = count; i-- > 0;) {
		reductions_wait(&r, i);
		reductions_compute(&r, work_update(w, (double)buckets[i].count / w->setup->ranks),
				   REDUCTION_DURING_OPTIMIZER);
		reductions_add(&r, work_collective(w, "all_gather", w->setup->ranks,
						   (double)buckets[i].count));
	}
	last = both = r;
	reductions_wait(&last, last.count - 1);
	for (size_t l = 0; l < w->setup->layers; l++) {
		if (gathered > 0 && buckets[gathered - 1].layer == l)
			reductions_wait(&both, 2 * count - gathered--);
		reductions_compute(&both, work_forward(w, l, rows), REDUCTION_DURING_GEMM);
	}
	reductions_compute(&both, work_loss(w, rows), REDUCTION_DURING_GEMM);
	return parts_before(w, rows) +
	       ((steps - 1) * both.now + forward_all(w, rows) + last.now) / steps;
}

static double layer_elements(const struct work *w, size_t l)
{
	return (double)(w->model.layer[l].end - w->model.layer[l].weight);
}

/*
 * Starts to gather a layer's weights, which a rank first rounds from its masters, or to scatter the
 * sums of its gradients; returns its number.
 */
static size_t move_layer(const struct work *w, const char *operation, size_t l,
			 struct reductions *r)
{
	double slice = layer_elements(w, l) / w->setup->ranks;
	bool rounds =
		setup_has_master(w->setup) && !w->copies && strcmp(operation, "all_gather") == 0;

	reductions_add(r, work_collective(w, operation, w->setup->ranks, layer_elements(w, l)) +
				  (rounds ? work_rounding(w, slice) : 0));
	return r->count - 1;
}

/*
 * Two buffers of weights and two of gradients: what is gathered waits until the layer but one
 * before has been used, a backward until the gradients of the layer two later have left. The stream
 * of communication takes all in turn.
 */
static double predict_zero3(const struct work *w)
{
	double rows = (double)w->setup->batch / w->setup->ranks;
	size_t gathered[SETUP_MAX_LAYERS] = { 0 }, reduced[SETUP_MAX_LAYERS] = { 0 };
	size_t last = w->setup->layers;
	struct reductions r = reductions_of(w, "all_gather");

	gathered[0] = move_layer(w, "all_gather", 0, &r);
	for (size_t l = 0; l < last; l++) {
		if (l + 1 < last)
			gathered[l + 1] = move_layer(w, "all_gather", l + 1, &r);
		reductions_wait(&r, gathered[l]);
		reductions_compute(&r, work_forward(w, l, rows) + work_event_record(w),
				   REDUCTION_DURING_GEMM);
	}
	reductions_compute(&r, work_loss(w, rows), REDUCTION_DURING_GEMM);
	for (size_t l = last; l-- > 0;) {
		reductions_wait(&r, gathered[l]);
		if (l + 2 < last)
			reductions_wait(&r, reduced[l + 2]);
		reductions_compute(&r, work_backward(w, l, rows) + work_event_record(w),
				   REDUCTION_DURING_GEMM);
		if (l >= 2 && zero3_gathers_again(w->setup, l - 2))
			gathered[l - 2] = move_layer(w, "all_gather", l - 2, &r);
		reduced[l] = move_layer(w, "reduce_scatter", l, &r);
	}
	reductions_wait(&r, reduced[0]);
	reductions_compute(&r, work_update_begin(w), REDUCTION_DURING_OPTIMIZER);
	for (size_t l = 0; l < last; l++)
		reductions_compute(&r,
				   work_event_record(w) +
					   work_update(w, layer_elements(w, l) / w->setup->ranks),
				   REDUCTION_DURING_OPTIMIZER);
	return r.now;
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
	return seconds + forward_all(w, rows) + backward_all(w, rows) + work_update_begin(w) +
	       work_update(w, parameters);
}

static double predict_by_mode(const struct setup *setup, unsigned steps, struct curves *curves)
{
	static const struct {
		const char *mode;
		double (*predict)(const struct work *work);
	} table[] = {
		{ "single", predict_single }, { "ddp", predict_ddp },
		{ "zero1", predict_zero },    { "zero2", predict_zero },
		{ "zero3", predict_zero3 },   { "dp_naive", predict_naive },
		{ "tensor", predict_tensor },
	};
	struct work work;

	work_open(&work, setup, 0, curves);
	work.steps = steps;
	if (setup->kind == MODEL_TRANSFORMER && !setup->mode->microbatched &&
	    work.partition.parts > 1)
		return predict_tensor_blocks(&work);
	if (setup->mode->microbatched)
		return predict_pipeline(setup, curves);
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (strcmp(table[i].mode, setup->mode->name) == 0)
			return table[i].predict(&work);
	return NAN;
}

/*
 * fmax(NaN, x) is x, so a missing input must not be hidden: missing inputs are reported in
 * curves->missing.
 */
double predict_step(const struct setup *setup, unsigned steps, struct curves *curves)
{
	double seconds;

	curves->missing[0] = '\0';
	seconds = predict_by_mode(setup, steps, curves);
	return curves->missing[0] ? NAN : seconds;
}

double predict_contention_share(const struct setup *setup, unsigned steps, struct curves *curves)
{
	double slowed = predict_step(setup, steps, curves), no_contention;

	curves->no_contention = true;
	no_contention = predict_step(setup, steps, curves);
	curves->no_contention = false;
	return 1 - no_contention / slowed;
}

double predict_critical_batch(const struct setup *s, struct curves *curves)
{
	double n = s->ranks;

	return (n - 1) / n * (double)precision_bytes(s->precision) * curves_flops(curves) /
	       (2 * curves_bus(curves, s->ranks));
}

double predict_critical_width(const struct setup *s, struct curves *curves)
{
	return (s->ranks - 1) * (double)precision_bytes(s->precision) * curves_flops(curves) /
	       (2 * curves_bus(curves, s->ranks));
}
