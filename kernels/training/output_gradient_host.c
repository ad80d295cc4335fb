#include <string.h>

#include "device/host/host_kernel.h"
#include "kernels/half.h"
#include "kernels/launch/elements.h"
#include "kernels/training/training.h"

#define REAL float
#define LOOP(name) name##_float
#include "kernels/training/output_gradient_loops.inc"

#define REAL double
#define LOOP(name) name##_double
#include "kernels/training/output_gradient_loops.inc"

/* Edge of the squares transposed at a time: both sides fit into the L1 cache. */
#define SQUARE 32

static void output_gradient_host_mask_slice(void *context, unsigned part, uint64_t begin,
					    uint64_t end)
{
	const struct output_gradient_arguments *a = context;
	float dy_buffer[ELEMENTS_BLOCK], y_buffer[ELEMENTS_BLOCK];

	(void)part;
	if (a->precision == PRECISION_FP64) {
		mask_double((double *)a->dy + begin, (const double *)a->y + begin, end - begin);
		return;
	}
	FOR_BLOCKS (first, count, begin, end) {
		float *dy = elements_open(a->dy, a->precision, first, count, dy_buffer);

		mask_float(dy, elements_open(a->y, a->precision, first, count, y_buffer), count);
		elements_close(a->dy, a->precision, first, count, dy);
	}
}

static void output_gradient_host_copy_element(char *to, const char *from, size_t bytes)
{
	if (bytes == 4)
		memcpy(to, from, 4);
	else if (bytes == 2)
		memcpy(to, from, 2);
	else
		memcpy(to, from, 8);
}

static uint64_t output_gradient_host_min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* A slice of strips of SQUARE columns. */
static void output_gradient_host_transpose_slice(void *context, unsigned part, uint64_t begin,
						 uint64_t end)
{
	const struct output_gradient_arguments *a = context;
	size_t bytes = precision_bytes(a->precision);
	uint64_t last = output_gradient_host_min(end * SQUARE, a->columns);

	(void)part;
	for (uint64_t column = begin * SQUARE; column < last; column += SQUARE)
		for (uint64_t row = 0; row < a->rows; row += SQUARE)
			for (uint64_t c = column;
			     c < output_gradient_host_min(column + SQUARE, last); c++)
				for (uint64_t r = row;
				     r < output_gradient_host_min(row + SQUARE, a->rows); r++)
					output_gradient_host_copy_element(
						(char *)a->transposed + (c * a->ld + r) * bytes,
						(const char *)a->dy + (r * a->columns + c) * bytes,
						bytes);
}

/*
 * Sums fixed parts of the rows, each into its row of the scratch: the order does not depend on the
 * threads.
 */
static void output_gradient_host_sum_rows_slice(void *context, unsigned part, uint64_t begin,
						uint64_t end)
{
	const struct output_gradient_arguments *a = context;
	float buffer[ELEMENTS_BLOCK];

	(void)part;
	for (uint64_t p = begin; p < end; p++) {
		double *sum = (double *)a->scratch + p * a->columns;
		uint64_t row = a->rows * p / OUTPUT_GRADIENT_PARTS,
			 last = a->rows * (p + 1) / OUTPUT_GRADIENT_PARTS;

		memset(sum, 0, a->columns * sizeof(*sum));
		for (; row < last && a->precision == PRECISION_FP64; row++)
			add_to_double(sum, (const double *)a->dy + row * a->columns, a->columns);
		for (; row < last; row++)
			FOR_BLOCKS (column, count, 0, a->columns)
				add_to_float(sum + column,
					     elements_open(a->dy, a->precision,
							   row * a->columns + column, count,
							   buffer),
					     count);
	}
}

/* beta * old value + sum, from column `first` on. */
static void output_gradient_host_store_sums(const struct output_gradient_arguments *a, double *sum,
					    uint64_t first, uint64_t count)
{
	float buffer[ELEMENTS_BLOCK];

	if (a->precision == PRECISION_FP64) {
		double *out = (double *)a->sum + first;

		for (uint64_t i = 0; i < count; i++)
			out[i] = a->beta != 0 ? a->beta * out[i] + sum[i] : sum[i];
		return;
	}
	if (a->beta != 0) {
		const float *old = elements_open(a->sum, a->precision, first, count, buffer);

		for (uint64_t i = 0; i < count; i++)
			sum[i] += a->beta * (double)old[i];
	}
	for (uint64_t i = 0; i < count; i++)
		buffer[i] = (float)sum[i];
	elements_store(a->sum, a->precision, first, count, buffer);
}

static void output_gradient_host_sum_parts_slice(void *context, unsigned part, uint64_t begin,
						 uint64_t end)
{
	const struct output_gradient_arguments *a = context;
	double sum[ELEMENTS_BLOCK];

	(void)part;
	FOR_BLOCKS (first, count, begin, end) {
		memset(sum, 0, sizeof(sum));
		for (uint64_t p = 0; p < OUTPUT_GRADIENT_PARTS; p++)
			add_to_double(sum, (const double *)a->scratch + p * a->columns + first,
				      count);
		output_gradient_host_store_sums(a, sum, first, count);
	}
}

static enum status output_gradient_run(struct stream *stream, const void *arguments,
				       struct error *err)
{
	struct output_gradient_arguments a = *(const struct output_gradient_arguments *)arguments;
	uint64_t part_elements = a.rows * a.columns / OUTPUT_GRADIENT_PARTS + a.columns;

	(void)err;
	if (a.y)
		host_stream_parallel(stream, a.rows * a.columns, ELEMENTS_GRAIN,
				     output_gradient_host_mask_slice, &a);
	if (a.transposed)
		host_stream_parallel(stream, (a.columns + SQUARE - 1) / SQUARE,
				     1 + ELEMENTS_GRAIN / (SQUARE * a.rows + 1),
				     output_gradient_host_transpose_slice, &a);
	if (!a.sum)
		return STATUS_OK;
	host_stream_parallel(stream, OUTPUT_GRADIENT_PARTS,
			     1 + ELEMENTS_GRAIN / (part_elements + 1),
			     output_gradient_host_sum_rows_slice, &a);
	host_stream_parallel(stream, a.columns, ELEMENTS_GRAIN / OUTPUT_GRADIENT_PARTS,
			     output_gradient_host_sum_parts_slice, &a);
	return STATUS_OK;
}
HOST_KERNEL(output_gradient)

#define REAL float
#define LOOP(name) name##_float
#include "kernels/training/elementwise_loops.inc"

#define REAL double
#define LOOP(name) name##_double
#include "kernels/training/elementwise_loops.inc"

static void output_gradient_host_store_doubles(void *to, enum precision precision,
					       const double *from, uint64_t first, uint64_t count)
{
	for (uint64_t i = first; i < first + count; i++) {
		if (precision == PRECISION_FP64)
			((double *)to)[i] = from[i];
		else if (precision == PRECISION_FP16)
			((uint16_t *)to)[i] = half_from_double(from[i]);
		else if (precision == PRECISION_BF16)
			((uint16_t *)to)[i] = half_bf16_from_double(from[i]);
		else
			((float *)to)[i] = (float)from[i];
	}
}

static void output_gradient_host_convert_slice(void *context, unsigned part, uint64_t begin,
					       uint64_t end)
{
	const struct convert_arguments *a = context;
	float buffer[ELEMENTS_BLOCK];

	(void)part;
	if (a->from_precision == PRECISION_FP64) {
		output_gradient_host_store_doubles(a->to, a->to_precision, a->from, begin,
						   end - begin);
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
	host_stream_parallel(stream, a.count, ELEMENTS_GRAIN, output_gradient_host_convert_slice,
			     &a);
	return STATUS_OK;
}
HOST_KERNEL(convert)

static void output_gradient_host_bias_relu_row(const struct bias_relu_arguments *a, uint64_t row)
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

static void output_gradient_host_bias_relu_slice(void *context, unsigned part, uint64_t begin,
						 uint64_t end)
{
	const struct bias_relu_arguments *a = context;

	(void)part;
	for (uint64_t row = begin; row < end; row++) {
		if (a->precision != PRECISION_FP64)
			output_gradient_host_bias_relu_row(a, row);
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
	host_stream_parallel(stream, a.rows, elements_grain_rows(a.columns),
			     output_gradient_host_bias_relu_slice, &a);
	return STATUS_OK;
}
HOST_KERNEL(bias_relu)
