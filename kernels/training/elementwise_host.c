#include "kernels/training/training.h"

#include "kernels/half.h"
#include "kernels/launch/elements.h"
#include "device/host/host_kernel.h"

#define REAL float
#define LOOP(name) name##_float
#include "kernels/training/elementwise_loops.inc"

#define REAL double
#define LOOP(name) name##_double
#include "kernels/training/elementwise_loops.inc"

static void store_doubles(void *to, enum precision precision, const double *from, uint64_t first,
			  uint64_t count)
{
	for (uint64_t i = first; i < first + count; i++) {
		if (precision == PRECISION_FP64)
			((double *)to)[i] = from[i];
		else if (precision == PRECISION_FP16)
			((uint16_t *)to)[i] = half_from_double(from[i]);
		else if (precision == PRECISION_BF16)
			((uint16_t *)to)[i] = bf16_from_double(from[i]);
		else
			((float *)to)[i] = (float)from[i];
	}
}

static void convert_slice(void *context, unsigned part, uint64_t begin, uint64_t end)
{
	const struct convert_arguments *a = context;
	float buffer[ELEMENTS_BLOCK];

	(void)part;
	if (a->from_precision == PRECISION_FP64) {
		store_doubles(a->to, a->to_precision, a->from, begin, end - begin);
		return;
	}
	FOR_BLOCKS (first, count, begin, end)
		elements_store(a->to, a->to_precision, first, count,
			       elements_open(a->from, a->from_precision, first, count, buffer));
}

static enum status convert_run(struct stream *stream, const void *arguments, struct error *err)
{
	struct convert_arguments a = *(const struct convert_arguments *)arguments;

	(void)err;
	host_parallel(stream, a.count, ELEMENTS_GRAIN, convert_slice, &a);
	return STATUS_OK;
}
HOST_KERNEL(convert)

static void scale_slice(void *context, unsigned part, uint64_t begin, uint64_t end)
{
	const struct scale_arguments *a = context;
	float buffer[ELEMENTS_BLOCK];

	(void)part;
	if (a->precision == PRECISION_FP64) {
		scale_double((double *)a->x + begin, end - begin, a->factor);
		return;
	}
	FOR_BLOCKS (first, count, begin, end) {
		float *x = elements_open(a->x, a->precision, first, count, buffer);

		scale_float(x, count, (float)a->factor);
		elements_close(a->x, a->precision, first, count, x);
	}
}

static enum status scale_run(struct stream *stream, const void *arguments, struct error *err)
{
	struct scale_arguments a = *(const struct scale_arguments *)arguments;

	(void)err;
	host_parallel(stream, a.count, ELEMENTS_GRAIN, scale_slice, &a);
	return STATUS_OK;
}
HOST_KERNEL(scale)

static void bias_relu_row(const struct bias_relu_arguments *a, uint64_t row)
{
	float y_buffer[ELEMENTS_BLOCK], bias_buffer[ELEMENTS_BLOCK];

	FOR_BLOCKS (column, count, 0, a->columns) {
		uint64_t at = row * a->columns + column;
		float *y = elements_open(a->y, a->precision, at, count, y_buffer);
		const float *bias =
			elements_open(a->bias, a->precision, column, count, bias_buffer);

		if (a->relu)
			bias_relu_float(y, bias, count);
		else
			bias_float(y, bias, count);
		elements_close(a->y, a->precision, at, count, y);
	}
}

static void bias_relu_slice(void *context, unsigned part, uint64_t begin, uint64_t end)
{
	const struct bias_relu_arguments *a = context;

	(void)part;
	for (uint64_t row = begin; row < end; row++) {
		if (a->precision != PRECISION_FP64)
			bias_relu_row(a, row);
		else if (a->relu)
			bias_relu_double((double *)a->y + row * a->columns, a->bias, a->columns);
		else
			bias_double((double *)a->y + row * a->columns, a->bias, a->columns);
	}
}

static enum status bias_relu_run(struct stream *stream, const void *arguments, struct error *err)
{
	struct bias_relu_arguments a = *(const struct bias_relu_arguments *)arguments;

	(void)err;
	host_parallel(stream, a.rows, elements_grain_rows(a.columns), bias_relu_slice, &a);
	return STATUS_OK;
}
HOST_KERNEL(bias_relu)
