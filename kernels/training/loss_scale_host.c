#include "kernels/training/loss_scale.h"

#include <math.h>

#include "kernels/launch/elements.h"
#include "device/host/host_kernel.h"

/* Several threads may find something; all write the same value. */
static void loss_scale_check_slice(void *context, unsigned part, uint64_t begin, uint64_t end)
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
	host_parallel(stream, a.count, ELEMENTS_GRAIN, loss_scale_check_slice, &a);
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
