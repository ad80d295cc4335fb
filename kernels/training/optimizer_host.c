#include <math.h>
#include <string.h>

#include "device/host/host_kernel.h"
#include "kernels/launch/elements.h"
#include "kernels/training/loss_scale.h"
#include "kernels/training/training.h"

#define REAL float
#define LOOP(name) name##_float
#define REAL_SQRT sqrtf
#include "kernels/training/optimizer_loops.inc"

#define REAL double
#define LOOP(name) name##_double
#define REAL_SQRT sqrt
#include "kernels/training/optimizer_loops.inc"

/* True if the step is skipped; else copies the decision of the loss scale to the arguments. */
static bool optimizer_host_skips(const struct loss_scale *scale, double *gradient_scale)
{
	if (scale)
		*gradient_scale *= (double)scale->inverse;
	return scale && scale->inverse == 0;
}

/* The weights; if there are no separate ones, those of the copy, in `buffer`. */
static float *optimizer_host_weights_open(void *weights, const void *copy, enum precision precision,
					  uint64_t first, uint64_t count, float *buffer)
{
	return weights ? (float *)weights + first
		       : elements_open(copy, precision, first, count, buffer);
}

static void optimizer_host_sgd_slice(void *context, unsigned part, uint64_t begin, uint64_t end)
{
	const struct optimizer_sgd_arguments *a = context;
	float *velocity = a->velocity, buffer[ELEMENTS_BLOCK], stored[ELEMENTS_BLOCK];

	(void)part;
	FOR_BLOCKS (first, count, begin, end) {
		const float *g = elements_open(a->gradient, a->precision, first, count, buffer);
		float *w = optimizer_host_weights_open(a->weights, a->copy, a->precision, first,
						       count, stored);

		if (velocity)
			sgd_momentum_float(w, velocity + first, g, count, (float)a->rate,
					   (float)a->momentum, (float)a->gradient_scale);
		else
			sgd_float(w, g, count, (float)a->rate, (float)a->gradient_scale);
		if (a->copy)
			elements_store(a->copy, a->precision, first, count, w);
	}
}

static void optimizer_host_sgd_slice_fp64(void *context, unsigned part, uint64_t begin,
					  uint64_t end)
{
	const struct optimizer_sgd_arguments *a = context;
	double *w = (double *)a->weights + begin, *velocity = a->velocity;
	const double *g = (const double *)a->gradient + begin;

	(void)part;
	if (velocity)
		sgd_momentum_double(w, velocity + begin, g, end - begin, a->rate, a->momentum,
				    a->gradient_scale);
	else
		sgd_double(w, g, end - begin, a->rate, a->gradient_scale);
	if (a->copy)
		memcpy((double *)a->copy + begin, w, (end - begin) * sizeof(*w));
}

static enum status optimizer_sgd_run(struct stream *stream, const void *arguments,
				     struct error *err)
{
	struct optimizer_sgd_arguments a = *(const struct optimizer_sgd_arguments *)arguments;

	(void)err;
	if (optimizer_host_skips(a.loss_scale, &a.gradient_scale))
		return STATUS_OK;
	host_stream_parallel(stream, a.count, ELEMENTS_GRAIN,
			     a.precision == PRECISION_FP64 ? optimizer_host_sgd_slice_fp64
							   : optimizer_host_sgd_slice,
			     &a);
	return STATUS_OK;
}
HOST_KERNEL(optimizer_sgd)

static void optimizer_host_adam_slice(void *context, unsigned part, uint64_t begin, uint64_t end)
{
	const struct optimizer_adam_arguments *a = context;
	float *m = a->m, *v = a->v, buffer[ELEMENTS_BLOCK], stored[ELEMENTS_BLOCK];

	(void)part;
	FOR_BLOCKS (first, count, begin, end) {
		float *w = optimizer_host_weights_open(a->weights, a->copy, a->precision, first,
						       count, stored);

		adam_float(w, m + first, v + first,
			   elements_open(a->gradient, a->precision, first, count, buffer), count,
			   a);
		if (a->copy)
			elements_store(a->copy, a->precision, first, count, w);
	}
}

static void optimizer_host_adam_slice_fp64(void *context, unsigned part, uint64_t begin,
					   uint64_t end)
{
	const struct optimizer_adam_arguments *a = context;
	double *w = (double *)a->weights + begin;

	(void)part;
	adam_double(w, (double *)a->m + begin, (double *)a->v + begin,
		    (const double *)a->gradient + begin, end - begin, a);
	if (a->copy)
		memcpy((double *)a->copy + begin, w, (end - begin) * sizeof(*w));
}

static enum status optimizer_adam_run(struct stream *stream, const void *arguments,
				      struct error *err)
{
	struct optimizer_adam_arguments a = *(const struct optimizer_adam_arguments *)arguments;

	(void)err;
	if (optimizer_host_skips(a.loss_scale, &a.gradient_scale))
		return STATUS_OK;
	if (a.loss_scale) {
		a.correction1 = (double)a.loss_scale->correction1;
		a.correction2 = (double)a.loss_scale->correction2;
	}
	if (a.clock) {
		a.correction1 = a.clock->correction1;
		a.correction2 = a.clock->correction2;
	}
	host_stream_parallel(stream, a.count, ELEMENTS_GRAIN,
			     a.precision == PRECISION_FP64 ? optimizer_host_adam_slice_fp64
							   : optimizer_host_adam_slice,
			     &a);
	return STATUS_OK;
}
HOST_KERNEL(optimizer_adam)

static enum status optimizer_tick_run(struct stream *stream, const void *arguments,
				      struct error *err)
{
	const struct optimizer_tick_arguments *a = arguments;
	struct optimizer_clock *clock = a->clock;
	uint64_t pair;

	(void)stream;
	(void)err;
	clock->updates++;
	pair = (clock->updates < a->count ? clock->updates : a->count) - 1;
	clock->correction1 = a->corrections[2 * pair];
	clock->correction2 = a->corrections[2 * pair + 1];
	return STATUS_OK;
}
HOST_KERNEL(optimizer_tick)

/* Several threads may find something; all write the same value. */
static void optimizer_host_loss_scale_check_slice(void *context, unsigned part, uint64_t begin,
						  uint64_t end)
{
	const struct loss_scale_check_arguments *a = context;
	float buffer[ELEMENTS_BLOCK];
	bool bad = false;

	(void)part;
	FOR_BLOCKS (first, count, begin, end) {
		const double *doubles = (const double *)a->gradient + first;
		const float *g =
			a->precision == PRECISION_FP64
				? NULL
				: elements_open(a->gradient, a->precision, first, count, buffer);

		for (uint64_t i = 0; i < count; i++)
			bad |= !(g ? isfinite(g[i]) : isfinite(doubles[i]));
	}
	if (bad)
		__atomic_store(&a->state->found, &(float){ 1 }, __ATOMIC_RELAXED);
}

static enum status loss_scale_check_run(struct stream *stream, const void *arguments,
					struct error *err)
{
	struct loss_scale_check_arguments a = *(const struct loss_scale_check_arguments *)arguments;

	(void)err;
	host_stream_parallel(stream, a.count, ELEMENTS_GRAIN, optimizer_host_loss_scale_check_slice,
			     &a);
	return STATUS_OK;
}
HOST_KERNEL(loss_scale_check)

static enum status loss_scale_decide_run(struct stream *stream, const void *arguments,
					 struct error *err)
{
	const struct loss_scale_decide_arguments *a = arguments;
	struct loss_scale *s = a->state;

	(void)stream;
	(void)err;
	if (s->found != 0) {
		s->inverse = 0;
		s->scale = fmaxf(s->scale / 2, (float)LOSS_SCALE_LEAST);
		s->good = 0;
		s->skipped++;
	} else {
		s->applied++;
		s->inverse = 1 / s->scale;
		s->correction1 = (float)(1 - pow(a->beta1, (double)s->applied));
		s->correction2 = (float)(1 - pow(a->beta2, (double)s->applied));
		if (++s->good == a->interval) {
			s->scale = fminf(s->scale * 2, (float)LOSS_SCALE_MOST);
			s->good = 0;
		}
	}
	s->found = 0;
	return STATUS_OK;
}
HOST_KERNEL(loss_scale_decide)
