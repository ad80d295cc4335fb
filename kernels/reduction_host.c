#include "kernels/reduction.h"

#include <math.h>

#include "kernels/generator.h"
#include "kernels/half.h"
#include "device/host/host_kernel.h"
#include "kernels/stored.h"

/* Smaller slices do not justify a second thread. */
#define GRAIN 4096

struct check {
	const struct check_reduction_arguments *a;
	struct reduction_mismatch found[HOST_PARALLEL_MAX];
};

/* `x` rounded to `precision`. */
static double reduction_host_stored(double x, enum precision precision)
{
	switch (precision) {
	case PRECISION_FP64:
		return x;
	case PRECISION_FP16:
		return (double)half_to_float(half_from_double(x));
	case PRECISION_BF16:
		return (double)half_bf16_to_float(half_bf16_from_double(x));
	default:
		return (double)(float)x;
	}
}

static double reduction_host_expected_sum(const struct check_reduction_arguments *a, uint64_t index,
					  double *magnitude)
{
	double sum = 0;

	*magnitude = 0;
	for (int rank = 0; rank < a->ranks; rank++) {
		double x = reduction_host_stored(
			a->scale * (double)generator_uniform(a->seed + (uint64_t)rank, index),
			a->precision);

		sum += x;
		*magnitude += fabs(x);
	}
	return sum;
}

static void reduction_host_check_element(const struct check_reduction_arguments *a, uint64_t i,
					 struct reduction_mismatch *found)
{
	double magnitude, sum = reduction_host_expected_sum(a, a->first + i, &magnitude);
	double got = stored_value(a->memory, a->precision, i), error = fabs(got - sum), relative;

	if (!(error <= a->tolerance * magnitude) && found->count++ == 0) {
		found->index = i;
		found->expected = sum;
		found->got = got;
	}
	/* Written so that NaN counts as infinity. */
	relative = error <= 0 ? 0 : error < magnitude * 1e300 ? error / magnitude : INFINITY;
	found->error = fmax(found->error, relative);
}

static void reduction_host_check_slice(void *context, unsigned part, uint64_t begin, uint64_t end)
{
	struct check *check = context;
	struct reduction_mismatch *found = &check->found[part];

	*found = (struct reduction_mismatch){ .index = UINT64_MAX };
	for (uint64_t i = begin; i < end; i++)
		reduction_host_check_element(check->a, i, found);
}

static enum status check_reduction_run(struct stream *stream, const void *arguments,
				       struct error *err)
{
	struct check check = { .a = arguments };
	unsigned parts = host_stream_parallel(stream, check.a->count, GRAIN,
					      reduction_host_check_slice, &check);

	(void)err;
	/* The parts are in the order of memory. */
	for (unsigned i = 0; i < parts; i++) {
		check.a->out->count += check.found[i].count;
		check.a->out->error = fmax(check.a->out->error, check.found[i].error);
		if (check.found[i].index >= check.a->out->index)
			continue;
		check.a->out->index = check.found[i].index;
		check.a->out->expected = check.found[i].expected;
		check.a->out->got = check.found[i].got;
	}
	return STATUS_OK;
}
HOST_KERNEL(check_reduction)
