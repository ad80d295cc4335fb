#include "suites/parallel/verify_update.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "suites/parallel/scaler.h"
#include "suites/parallel/values.h"

#define UPDATES 2

/* PyTorch's forms; the gradient is the same in both updates. */
static double expected_weight(const struct setup *s, double weight, double gradient)
{
	double m = 0, v = 0;

	for (int t = 1; t <= UPDATES; t++) {
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
			weight -= s->rate * (m / (1 - pow(s->beta1, t))) /
				  (sqrt(v / (1 - pow(s->beta2, t))) + s->epsilon);
		}
	}
	return weight;
}

static enum status fetch(struct trainer *t, const void *array, uint64_t first, uint64_t count,
			 enum precision precision, double *out, struct error *err)
{
	size_t bytes = precision_bytes(precision);
	void *raw = xmalloc(count * bytes);

	if (team_fetch(t->team, raw, (const char *)array + first * bytes, count * bytes, err) ==
	    STATUS_OK)
		values_decode(out, raw, precision, count);
	free(raw);
	return err->status;
}

/* Of one span. */
struct weights {
	double *before, *gradients, *after, *stored;
};

static void weights_release(struct weights *w)
{
	free(w->before);
	free(w->gradients);
	free(w->after);
	free(w->stored);
}

static enum status compare(const struct setup *s, double scale, const struct weights *w,
			   uint64_t count, struct error *err)
{
	/*
	 * Each update rounds the weight once; its own arithmetic is a few roundings of something
	 * smaller. FP16: a half-way case may go either way, which is two half units each.
	 */
	double epsilon = setup_master(s) == PRECISION_FP64   ? 0x1p-53
			 : setup_master(s) == PRECISION_FP16 ? 0x1p-11
							     : 0x1p-24;

	/* Half of FP16's smallest step, below its normal numbers. */
	double smallest = setup_master(s) == PRECISION_FP16 ? 0x1p-25 : 0;

	for (uint64_t i = 0; i < count; i++) {
		double expected = expected_weight(s, w->before[i], w->gradients[i] / scale);
		double allowed = 2 * UPDATES * fmax(epsilon * fabs(expected), smallest) +
				 1e-4 * fabs(expected - w->before[i]);

		if (!(fabs(w->after[i] - expected) <= allowed))
			return error_set(err, STATUS_MISMATCH,
					 "%s: parameter %llu is %.9g after %d updates from %.9g, "
					 "expected %.9g",
					 optimizer_names[s->optimizer], (unsigned long long)i,
					 w->after[i], UPDATES, w->before[i], expected);
		if (w->stored[i] != value_round(w->after[i], s->precision))
			return error_set(err, STATUS_MISMATCH,
					 "%s: parameter %llu is %.9g, its %s copy %.9g",
					 optimizer_names[s->optimizer], (unsigned long long)i,
					 w->after[i], precision_name(s->precision), w->stored[i]);
	}
	return STATUS_OK;
}

static enum status fetch_masters(struct trainer *t, const struct span *span, double **out,
				 struct error *err)
{
	uint64_t first = setup_has_master(t->setup) ? span->master : span->weights;

	*out = xcalloc(span->count, sizeof(**out));
	return fetch(t, t->network.master, first, span->count, setup_master(t->setup), *out, err);
}

static enum status fetch_before(struct trainer *t, struct weights *all, struct error *err)
{
	const struct network *n = &t->network;

	for (size_t i = 0; i < n->holding.count; i++) {
		const struct span *span = &n->holding.spans[i];

		all[i].gradients = xcalloc(span->count, sizeof(double));
		if (fetch_masters(t, span, &all[i].before, err) != STATUS_OK ||
		    fetch(t, n->gradients, span->gradients, span->count, t->setup->precision,
			  all[i].gradients, err) != STATUS_OK)
			return err->status;
	}
	return STATUS_OK;
}

static enum status compare_after(struct trainer *t, double scale, struct weights *all,
				 struct error *err)
{
	const struct network *n = &t->network;

	for (size_t i = 0; i < n->holding.count; i++) {
		const struct span *span = &n->holding.spans[i];

		all[i].stored = xcalloc(span->count, sizeof(double));
		if (fetch_masters(t, span, &all[i].after, err) != STATUS_OK ||
		    fetch(t, n->weights, span->weights, span->count, t->setup->precision,
			  all[i].stored, err) != STATUS_OK ||
		    compare(t->setup, scale, &all[i], span->count, err) != STATUS_OK)
			return err->status;
	}
	return STATUS_OK;
}

enum status verify_update(struct trainer *t, struct error *err)
{
	size_t count = t->network.holding.count;
	struct weights *all = xcalloc(count ? count : 1, sizeof(*all));
	double scale = 1;
	enum status status = scaler_scale(t, &scale, err);

	if (status == STATUS_OK)
		status = fetch_before(t, all, err);
	status = world_agree(t->team->world, status, err);

	for (int i = 0; i < UPDATES && status == STATUS_OK; i++)
		status = trainer_step(t, STEP_UPDATE, err);
	if (status == STATUS_OK)
		status = trainer_step(t, STEP_GATHER, err);
	/* After the gather: what came back must not have changed what was sent. */
	if (status == STATUS_OK)
		status = compare_after(t, scale, all, err);
	for (size_t i = 0; i < count; i++)
		weights_release(&all[i]);
	free(all);
	return world_agree(t->team->world, status, err);
}
