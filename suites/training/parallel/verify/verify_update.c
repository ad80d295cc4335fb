#include "suites/training/parallel/verify/verify_update.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "suites/training/models/reference/threads.h"
#include "suites/training/models/reference/values.h"
#include "suites/training/parallel/trainer/scaler.h"

#define UPDATES 2
/* Results per range; each thread compares one range. */
#define PARTS 64

/* Common to all parameters: Adam's corrections for each update. */
struct formula {
	const struct setup *setup;
	double correction1[UPDATES], correction2[UPDATES];
};

static struct formula formula_of(const struct setup *s)
{
	struct formula f = { .setup = s };

	for (int t = 0; t < UPDATES; t++) {
		f.correction1[t] = 1 - pow(s->beta1, t + 1);
		f.correction2[t] = 1 - pow(s->beta2, t + 1);
	}
	return f;
}

/* PyTorch's formulas; the gradient is the same in both updates. */
static double verify_update_expected_weight(const struct formula *f, double weight, double gradient)
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

static enum status update_fetch(struct trainer *t, const void *array, uint64_t first,
				uint64_t count, enum precision precision, double *out,
				struct error *err)
{
	size_t bytes = precision_bytes(precision);
	void *raw = xmalloc(count * bytes);

	if (team_fetch(t->team, raw, (const char *)array + first * bytes, count * bytes, err) ==
	    STATUS_OK)
		values_decode(out, raw, precision, count);
	free(raw);
	return err->status;
}

/* Compares one range. */
struct weights {
	double *before, *gradients, *after, *stored;
};

static void verify_update_weights_release(struct weights *w)
{
	free(w->before);
	free(w->gradients);
	free(w->after);
	free(w->stored);
}

/* Allowed deviation of a parameter. */
struct allowance {
	double epsilon, smallest;
};

/*
 * Each update rounds the weight once; its arithmetic adds a few roundings of smaller values. FP16:
 * a tie may be rounded either way, which is two half units per update; plus half of the smallest
 * step, below the normal numbers.
 */
static struct allowance allowance_of(const struct setup *s)
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

static bool is_updated(const struct formula *f, const struct allowance *a, double scale,
		       const struct weights *w, uint64_t i)
{
	double expected = verify_update_expected_weight(f, w->before[i], w->gradients[i] / scale);
	double allowed = 2 * UPDATES * fmax(a->epsilon * fabs(expected), a->smallest) +
			 1e-4 * fabs(expected - w->before[i]);

	return fabs(w->after[i] - expected) <= allowed;
}

/* The first wrong parameter; `count`: none. Parts of the range are compared by one thread each. */
static uint64_t verify_update_first_wrong(const struct formula *f, double scale,
					  const struct weights *w, uint64_t count)
{
	struct allowance allowance = allowance_of(f->setup);
	uint64_t wrong[PARTS], first = count;

	IN_PARALLEL
	for (uint64_t p = 0; p < PARTS; p++) {
		uint64_t i = count * p / PARTS, end = count * (p + 1) / PARTS;

		while (i < end && is_updated(f, &allowance, scale, w, i) &&
		       w->stored[i] == value_round(w->after[i], f->setup->precision))
			i++;
		wrong[p] = i < end ? i : count;
	}
	for (uint64_t p = PARTS; p-- > 0;)
		first = wrong[p] < count ? wrong[p] : first;
	return first;
}

static enum status update_compare_weights(const struct setup *s, double scale,
					  const struct weights *w, uint64_t count,
					  struct error *err)
{
	struct formula formula = formula_of(s);
	struct allowance allowance = allowance_of(s);
	uint64_t i = verify_update_first_wrong(&formula, scale, w, count);

	if (i == count)
		return STATUS_OK;
	if (!is_updated(&formula, &allowance, scale, w, i))
		return error_set(err, STATUS_MISMATCH,
				 "%s: parameter %llu is %.9g after %d updates from %.9g, expected "
				 "%.9g",
				 optimizer_names[s->optimizer], (unsigned long long)i, w->after[i],
				 UPDATES, w->before[i],
				 verify_update_expected_weight(&formula, w->before[i],
							       w->gradients[i] / scale));
	return error_set(err, STATUS_MISMATCH, "%s: parameter %llu is %.9g, its %s copy %.9g",
			 optimizer_names[s->optimizer], (unsigned long long)i, w->after[i],
			 precision_name(s->precision), w->stored[i]);
}

static enum status verify_update_fetch_masters(struct trainer *t, const struct shard_range *range,
					       double **out, struct error *err)
{
	uint64_t first = setup_has_master(t->setup) ? range->master : range->weights;

	*out = xcalloc(range->count, sizeof(**out));
	return update_fetch(t, t->network.master, first, range->count, setup_master(t->setup), *out,
			    err);
}

static enum status verify_update_fetch_before(struct trainer *t, struct weights *all,
					      struct error *err)
{
	const struct network *n = &t->network;

	for (size_t i = 0; i < n->shard.count; i++) {
		const struct shard_range *range = &n->shard.ranges[i];

		all[i].gradients = xcalloc(range->count, sizeof(double));
		if (verify_update_fetch_masters(t, range, &all[i].before, err) != STATUS_OK ||
		    update_fetch(t, n->gradients, range->gradients, range->count,
				 t->setup->precision, all[i].gradients, err) != STATUS_OK)
			return err->status;
	}
	return STATUS_OK;
}

/* Rounds the masters if the mode keeps no other weights: then there is no copy to check. */
static enum status verify_update_fetch_stored(struct trainer *t, const struct shard_range *range,
					      struct weights *w, struct error *err)
{
	const struct network *n = &t->network;

	w->stored = xcalloc(range->count, sizeof(double));
	if (n->weights)
		return update_fetch(t, n->weights, range->weights, range->count,
				    t->setup->precision, w->stored, err);
	for (uint64_t i = 0; i < range->count; i++)
		w->stored[i] = value_round(w->after[i], t->setup->precision);
	return STATUS_OK;
}

static enum status verify_update_compare_after(struct trainer *t, double scale, struct weights *all,
					       struct error *err)
{
	const struct network *n = &t->network;

	for (size_t i = 0; i < n->shard.count; i++) {
		const struct shard_range *range = &n->shard.ranges[i];

		if (verify_update_fetch_masters(t, range, &all[i].after, err) != STATUS_OK ||
		    verify_update_fetch_stored(t, range, &all[i], err) != STATUS_OK ||
		    update_compare_weights(t->setup, scale, &all[i], range->count, err) !=
			    STATUS_OK)
			return err->status;
	}
	return STATUS_OK;
}

enum status verify_update(struct trainer *t, struct error *err)
{
	size_t count = t->network.shard.count;
	struct weights *all = xcalloc(count ? count : 1, sizeof(*all));
	double scale = 1;
	enum status status = scaler_scale(t, &scale, err);

	if (status == STATUS_OK)
		status = verify_update_fetch_before(t, all, err);
	status = world_agree(t->team->world, status, err);

	for (int i = 0; i < UPDATES && status == STATUS_OK; i++)
		status = trainer_step(t, STEP_UPDATE, err);
	if (status == STATUS_OK)
		status = trainer_step(t, STEP_GATHER, err);
	/* After the gather: it must not have changed the data that were sent. */
	if (status == STATUS_OK)
		status = verify_update_compare_after(t, scale, all, err);
	for (size_t i = 0; i < count; i++)
		verify_update_weights_release(&all[i]);
	free(all);
	return world_agree(t->team->world, status, err);
}
