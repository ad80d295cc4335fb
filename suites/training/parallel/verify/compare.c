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

static void verify_compare_add_piece(struct difference_part *s, const double *run,
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

/* Unscaled elements from `first` on; `buffer` has room for them. NULL after an error. */
static const double *verify_compare_fetch(const struct gradients *g, uint64_t first, uint64_t count,
					  double *buffer, struct error *err)
{
	enum precision precision = g->setup->precision;

	if (g->on_host)
		return g->on_host + first;
	if (verify_fetch(g->team, (const char *)g->memory + first * precision_bytes(precision),
			 precision, count, buffer, err) != STATUS_OK)
		return NULL;
	IN_PARALLEL
	for (uint64_t i = 0; i < count; i++)
		buffer[i] /= g->scale;
	return buffer;
}

/* Adds the sums of squares over a tensor, piece by piece. */
static enum status verify_compare_on_host(const struct gradients *run,
					  const struct gradients *expected,
					  const struct model_tensor *t, struct difference_part *out,
					  struct error *err)
{
	double *buffer = xmalloc(2 * PIECE * sizeof(*buffer));

	for (uint64_t done = 0; done < t->count && err->status == STATUS_OK; done += PIECE) {
		uint64_t piece = t->count - done < PIECE ? t->count - done : PIECE;
		const double *x = verify_compare_fetch(run, t->first + done, piece, buffer, err),
			     *y = verify_compare_fetch(expected, t->first + done, piece,
						       buffer + PIECE, err);

		if (x && y)
			verify_compare_add_piece(out, x, y, piece);
	}
	free(buffer);
	return err->status;
}

static enum status verify_compare_by_device(const struct gradients *run,
					    const struct gradients *expected,
					    const struct model_tensor *t,
					    struct difference_part *out, struct error *err)
{
	uint64_t offset = t->first * precision_bytes(run->setup->precision);
	struct difference_arguments a = {
		.x = (const char *)run->memory + offset,
		.y = (const char *)expected->memory + offset,
		.precision = setup_storage(run->setup),
		.count = t->count,
		.x_scale = run->scale,
		.y_scale = expected->scale,
	};

	return rank_team_difference(run->team, &a, out, err);
}

enum status verify_compare_gradients(const struct model *model, const struct gradients *run,
				     const struct gradients *expected, bool by_device,
				     struct verify_difference *out, struct error *err)
{
	struct difference_part all = { 0, 0 };

	*out = (struct verify_difference){ 0 };
	for (size_t l = 0; l < model->layers; l++)
		for (size_t i = 0; i < model->layer[l].tensors; i++) {
			const struct model_tensor *t = &model->layer[l].tensor[i];
			struct difference_part tensor = { 0, 0 };
			double ratio;

			if ((by_device ? verify_compare_by_device
				       : verify_compare_on_host)(run, expected, t, &tensor, err) !=
			    STATUS_OK)
				return err->status;
			all.difference += tensor.difference;
			all.expected += tensor.expected;
			ratio = verify_compare_ratio_of(&tensor);
			/* Written so that NaN counts as the worst. */
			if (!(ratio <= out->worst))
				*out = (struct verify_difference){ .worst = ratio,
								   .worst_layer = l,
								   .worst_tensor = t->name };
		}
	out->overall = verify_compare_ratio_of(&all);
	return STATUS_OK;
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
