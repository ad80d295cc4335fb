#include "suites/training/parallel/verify/compare.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "suites/training/models/reference/values.h"
#include "suites/training/parallel/trainer/trainer.h"

/* Elements compared at a time. */
#define PIECE (UINT64_C(1) << 20)

static double verify_compare_ratio_of(const struct difference_part *s)
{
	if (s->difference == 0)
		return 0;
	return s->expected > 0 ? sqrt(s->difference / s->expected) : INFINITY;
}

/*
 * Partial sums of a piece, each computed in order by one thread: the result does not depend on the
 * number of threads.
 */
#define PARTS 64

static void verify_compare_difference_add_piece(struct difference_part *s, const double *run,
						const double *expected, uint64_t count)
{
	struct difference_part parts[PARTS] = { 0 };

	IN_PARALLEL
	for (uint64_t p = 0; p < PARTS; p++) {
		double difference = 0, sum = 0;

		for (uint64_t i = count * p / PARTS; i < count * (p + 1) / PARTS; i++) {
			double d = run[i] - expected[i];

			difference += d * d;
			sum += expected[i] * expected[i];
		}
		parts[p] = (struct difference_part){ difference, sum };
	}
	for (int p = 0; p < PARTS; p++) {
		s->difference += parts[p].difference;
		s->expected += parts[p].expected;
	}
}

/* Two arrays that are copied to the host piece by piece. */
struct sources {
	gradient_source *run, *expected;
	void *run_context, *expected_context;
	double *run_values, *expected_values; /* PIECE each */
};

static enum status verify_compare_squares_on_host(void *context, uint64_t first, uint64_t count,
						  struct difference_part *out, struct error *err)
{
	struct sources *s = context;

	for (uint64_t done = 0; done < count; done += PIECE) {
		uint64_t piece = count - done < PIECE ? count - done : PIECE;

		if (s->run(s->run_context, first + done, piece, s->run_values, err) != STATUS_OK ||
		    s->expected(s->expected_context, first + done, piece, s->expected_values,
				err) != STATUS_OK)
			return err->status;
		verify_compare_difference_add_piece(out, s->run_values, s->expected_values, piece);
	}
	return STATUS_OK;
}

struct verify_comparison {
	gradient_squares *squares;
	void *context;
	struct difference_part all;
	struct verify_difference *out;
};

static enum status verify_compare_tensor(struct verify_comparison *c, const struct model_tensor *t,
					 size_t layer, struct error *err)
{
	struct difference_part tensor = { 0, 0 };
	double ratio;

	if (c->squares(c->context, t->first, t->count, &tensor, err) != STATUS_OK)
		return err->status;
	c->all.difference += tensor.difference;
	c->all.expected += tensor.expected;
	ratio = verify_compare_ratio_of(&tensor);
	/* Written so that NaN counts as the worst. */
	if (!(ratio <= c->out->worst)) {
		c->out->worst = ratio;
		c->out->worst_layer = layer;
		c->out->worst_tensor = t->name;
	}
	return STATUS_OK;
}

enum status verify_compare_tensors(const struct model *model, gradient_squares *squares,
				   void *context, struct verify_difference *out, struct error *err)
{
	struct verify_comparison c = { .squares = squares, .context = context, .out = out };
	enum status status = STATUS_OK;

	*out = (struct verify_difference){ 0 };
	for (size_t l = 0; l < model->layers && status == STATUS_OK; l++) {
		const struct model_layer *layer = &model->layer[l];

		for (size_t t = 0; t < layer->tensors && status == STATUS_OK; t++)
			status = verify_compare_tensor(&c, &layer->tensor[t], l, err);
	}
	out->overall = verify_compare_ratio_of(&c.all);
	return status;
}

enum status verify_compare_gradients(const struct model *model, gradient_source *run,
				     void *run_context, gradient_source *expected,
				     void *expected_context, struct verify_difference *out,
				     struct error *err)
{
	struct sources sources = {
		.run = run,
		.expected = expected,
		.run_context = run_context,
		.expected_context = expected_context,
		.run_values = xmalloc(PIECE * sizeof(double)),
		.expected_values = xmalloc(PIECE * sizeof(double)),
	};
	enum status status =
		verify_compare_tensors(model, verify_compare_squares_on_host, &sources, out, err);

	free(sources.run_values);
	free(sources.expected_values);
	return status;
}

enum status verify_compare_judge(const struct verify_difference *d, double loss,
				 double expected_loss, const struct tolerance *tolerance,
				 const char *than, struct verify_check *check, struct error *err)
{
	check->gradient_error = d->overall;
	check->loss_error = fabs(loss - expected_loss) / fabs(expected_loss);
	check->loss = loss;
	if (!(check->loss_error <= tolerance->loss))
		return error_set(err, STATUS_MISMATCH,
				 "loss %.9g, %s %.9g: relative difference %.2e, allowed %.2e", loss,
				 than, expected_loss, check->loss_error, tolerance->loss);
	if (!(d->overall <= tolerance->gradient))
		return error_set(err, STATUS_MISMATCH,
				 "gradients differ from the %s by %.2e (relative L2), allowed "
				 "%.2e; worst: %s of layer %zu, %.2e",
				 than, d->overall, tolerance->gradient, d->worst_tensor,
				 d->worst_layer + 1, d->worst);
	if (!(d->worst <= tolerance->tensor))
		return error_set(err, STATUS_MISMATCH,
				 "gradient of the %s of layer %zu differs from the %s by %.2e "
				 "(relative L2), allowed %.2e",
				 d->worst_tensor, d->worst_layer + 1, than, d->worst,
				 tolerance->tensor);
	return STATUS_OK;
}

#define UPDATES 2
/* Results per range; each thread compares one range. */
#define PARTS 64

/* Common to all parameters: Adam's corrections for each update. */
struct formula {
	const struct setup *setup;
	double correction1[UPDATES], correction2[UPDATES];
};

/* PyTorch's formulas; the gradient is the same in both updates. */
static double verify_compare_update_expected_weight(const struct formula *f, double weight,
						    double gradient)
{
	const struct setup *s = f->setup;
	double m = 0, v = 0;

	for (int t = 0; t < UPDATES; t++) {
		weight = value_round(weight, s->storage_only ? s->precision : PRECISION_FP64);
		switch (s->optimizer) {
		case OPTIMIZER_SGD:
			weight -= s->rate * gradient;
			break;
		case OPTIMIZER_MOMENTUM:
			m = s->momentum * m + gradient;
			weight -= s->rate * m;
			break;
		default:
			m = s->beta1 * m + (1 - s->beta1) * gradient;
			v = s->beta2 * v + (1 - s->beta2) * gradient * gradient;
			weight -= s->rate * (m / f->correction1[t]) /
				  (sqrt(v / f->correction2[t]) + s->epsilon);
		}
	}
	return weight;
}

/* Compares one range. */
struct weights {
	double *before, *gradients, *after, *stored;
};

/* Allowed deviation of a parameter. */
struct allowance {
	double epsilon, smallest;
};

/*
 * Each update rounds the weight once; its arithmetic adds a few roundings of smaller values. FP16:
 * a tie may be rounded either way, which is two half units per update; plus half of the smallest
 * step, below the normal numbers.
 */
static struct allowance verify_compare_allowance_of(const struct setup *s)
{
	switch (setup_master(s)) {
	case PRECISION_FP64:
		return (struct allowance){ 0x1p-53, 0 };
	case PRECISION_FP16:
		return (struct allowance){ 0x1p-11, 0x1p-25 };
	default:
		return (struct allowance){ 0x1p-24, 0 };
	}
}

static bool verify_compare_is_updated(const struct formula *f, const struct allowance *a,
				      double scale, const struct weights *w, uint64_t i)
{
	double expected =
		verify_compare_update_expected_weight(f, w->before[i], w->gradients[i] / scale);
	double allowed = 2 * UPDATES * fmax(a->epsilon * fabs(expected), a->smallest) +
			 1e-4 * fabs(expected - w->before[i]);

	return fabs(w->after[i] - expected) <= allowed;
}

/* The first wrong parameter; `count`: none. Parts of the range are compared by one thread each. */
static uint64_t verify_compare_update_first_wrong(const struct formula *f, double scale,
						  const struct weights *w, uint64_t count)
{
	struct allowance allowance = verify_compare_allowance_of(f->setup);
	uint64_t wrong[PARTS], first = count;

	IN_PARALLEL
	for (uint64_t p = 0; p < PARTS; p++) {
		uint64_t i = count * p / PARTS, end = count * (p + 1) / PARTS;

		while (i < end && verify_compare_is_updated(f, &allowance, scale, w, i) &&
		       w->stored[i] == value_round(w->after[i], f->setup->precision))
			i++;
		wrong[p] = i < end ? i : count;
	}
	for (uint64_t p = PARTS; p-- > 0;)
		first = wrong[p] < count ? wrong[p] : first;
	return first;
}

static enum status verify_compare_update_weights(const struct setup *s, double scale,
						 const struct weights *w, uint64_t count,
						 struct error *err)
{
	struct formula formula = { .setup = s };
	struct allowance allowance = verify_compare_allowance_of(s);
	uint64_t i;

	for (int t = 0; t < UPDATES; t++) {
		formula.correction1[t] = 1 - pow(s->beta1, t + 1);
		formula.correction2[t] = 1 - pow(s->beta2, t + 1);
	}
	i = verify_compare_update_first_wrong(&formula, scale, w, count);
	if (i == count)
		return STATUS_OK;
	if (!verify_compare_is_updated(&formula, &allowance, scale, w, i))
		return error_set(err, STATUS_MISMATCH,
				 "%s: parameter %llu is %.9g after %d updates from %.9g; expected "
				 "%.9g",
				 optimizer_names[s->optimizer], (unsigned long long)i, w->after[i],
				 UPDATES, w->before[i],
				 verify_compare_update_expected_weight(&formula, w->before[i],
								       w->gradients[i] / scale));
	return error_set(err, STATUS_MISMATCH,
			 "%s: parameter %llu is %.9g, but its %s copy is %.9g",
			 optimizer_names[s->optimizer], (unsigned long long)i, w->after[i],
			 precision_name(s->precision), w->stored[i]);
}

/* Elements from `first` on of an array of the rank; freed by the caller. */
static double *verify_compare_update_fetch(struct trainer *t, const void *array, uint64_t first,
					   uint64_t count, enum precision precision,
					   struct error *err)
{
	double *out = xcalloc(count, sizeof(*out));

	verify_fetch(t->team, (const char *)array + first * precision_bytes(precision), precision,
		     count, out, err);
	return out;
}

static double *verify_compare_update_fetch_masters(struct trainer *t,
						   const struct shard_range *range,
						   struct error *err)
{
	uint64_t first = setup_has_master(t->setup) ? range->master : range->weights;

	return verify_compare_update_fetch(t, t->network.master, first, range->count,
					   setup_master(t->setup), err);
}

static enum status verify_compare_update_range(struct trainer *t, double scale,
					       const struct shard_range *range, struct weights *w,
					       struct error *err)
{
	const struct network *n = &t->network;
	enum precision stored = t->setup->precision;

	w->after = verify_compare_update_fetch_masters(t, range, err);
	/* If the mode keeps no other weights than the masters, there is no copy to check. */
	w->stored = n->weights ? verify_compare_update_fetch(t, n->weights, range->weights,
							     range->count, stored, err)
			       : xcalloc(range->count, sizeof(double));
	for (uint64_t i = 0; i < range->count && !n->weights; i++)
		w->stored[i] = value_round(w->after[i], stored);
	if (err->status != STATUS_OK)
		return err->status;
	return verify_compare_update_weights(t->setup, scale, w, range->count, err);
}

enum status verify_compare_update(struct trainer *t, struct error *err)
{
	size_t count = t->network.shard.count;
	struct weights *all = xcalloc(count ? count : 1, sizeof(*all));
	const struct shard_range *ranges = t->network.shard.ranges;
	double scale;

	trainer_scale(t, &scale, err);
	for (size_t i = 0; i < count; i++) {
		all[i].before = verify_compare_update_fetch_masters(t, &ranges[i], err);
		all[i].gradients =
			verify_compare_update_fetch(t, t->network.gradients, ranges[i].gradients,
						    ranges[i].count, t->setup->precision, err);
	}
	world_agree(t->team->world, err->status, err);
	for (int i = 0; i < UPDATES; i++)
		trainer_step(t, STEP_UPDATE, err);
	trainer_step(t, STEP_GATHER, err);
	/* After the gather: it must not have changed the data that were sent. */
	for (size_t i = 0; i < count && err->status == STATUS_OK; i++)
		verify_compare_update_range(t, scale, &ranges[i], &all[i], err);
	for (size_t i = 0; i < count; i++) {
		free(all[i].before);
		free(all[i].gradients);
		free(all[i].after);
		free(all[i].stored);
	}
	free(all);
	return world_agree(t->team->world, err->status, err);
}
