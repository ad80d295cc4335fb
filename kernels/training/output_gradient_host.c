#include "kernels/training/training.h"

#include <string.h>

#include "kernels/launch/elements.h"
#include "device/host/host_kernel.h"

#define REAL float
#define LOOP(name) name##_float
#include "kernels/training/output_gradient_loops.inc"

#define REAL double
#define LOOP(name) name##_double
#include "kernels/training/output_gradient_loops.inc"

/* Edge of the squares transposed at a time: both sides fit into the L1 cache. */
#define SQUARE 32

static void mask_slice(void *context, unsigned part, uint64_t begin, uint64_t end)
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

static void output_gradient_copy_element(char *to, const char *from, size_t bytes)
{
	if (bytes == 4)
		memcpy(to, from, 4);
	else if (bytes == 2)
		memcpy(to, from, 2);
	else
		memcpy(to, from, 8);
}

static uint64_t output_gradient_min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* A slice of strips of SQUARE columns. */
static void transpose_slice(void *context, unsigned part, uint64_t begin, uint64_t end)
{
	const struct output_gradient_arguments *a = context;
	size_t bytes = precision_bytes(a->precision);
	uint64_t last = output_gradient_min(end * SQUARE, a->columns);

	(void)part;
	for (uint64_t column = begin * SQUARE; column < last; column += SQUARE)
		for (uint64_t row = 0; row < a->rows; row += SQUARE)
			for (uint64_t c = column; c < output_gradient_min(column + SQUARE, last);
			     c++)
				for (uint64_t r = row;
				     r < output_gradient_min(row + SQUARE, a->rows); r++)
					output_gradient_copy_element(
						(char *)a->transposed + (c * a->ld + r) * bytes,
						(const char *)a->dy + (r * a->columns + c) * bytes,
						bytes);
}

/*
 * Sums a fixed part of the rows into its row of the scratch: the order does not depend on the
 * threads.
 */
static void sum_rows(const struct output_gradient_arguments *a, uint64_t part)
{
	double *sum = (double *)a->scratch + part * a->columns;
	uint64_t begin = a->rows * part / OUTPUT_GRADIENT_PARTS,
		 end = a->rows * (part + 1) / OUTPUT_GRADIENT_PARTS;
	float buffer[ELEMENTS_BLOCK];

	memset(sum, 0, a->columns * sizeof(*sum));
	for (uint64_t row = begin; row < end; row++) {
		if (a->precision == PRECISION_FP64) {
			add_to_double(sum, (const double *)a->dy + row * a->columns, a->columns);
			continue;
		}
		FOR_BLOCKS (column, count, 0, a->columns)
			add_to_float(sum + column,
				     elements_open(a->dy, a->precision, row * a->columns + column,
						   count, buffer),
				     count);
	}
}

static void sum_rows_slice(void *context, unsigned part, uint64_t begin, uint64_t end)
{
	(void)part;
	for (uint64_t i = begin; i < end; i++)
		sum_rows(context, i);
}

/* beta * old value + sum, from column `first` on. */
static void output_gradient_store_sums(const struct output_gradient_arguments *a, double *sum,
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

static void sum_parts_slice(void *context, unsigned part, uint64_t begin, uint64_t end)
{
	const struct output_gradient_arguments *a = context;
	double sum[ELEMENTS_BLOCK];

	(void)part;
	FOR_BLOCKS (first, count, begin, end) {
		memset(sum, 0, sizeof(sum));
		for (uint64_t p = 0; p < OUTPUT_GRADIENT_PARTS; p++)
			add_to_double(sum, (const double *)a->scratch + p * a->columns + first,
				      count);
		output_gradient_store_sums(a, sum, first, count);
	}
}

static enum status output_gradient_run(struct stream *stream, const void *arguments,
				       struct error *err)
{
	struct output_gradient_arguments a = *(const struct output_gradient_arguments *)arguments;
	uint64_t part_elements = a.rows * a.columns / OUTPUT_GRADIENT_PARTS + a.columns;

	(void)err;
	if (a.y)
		host_parallel(stream, a.rows * a.columns, ELEMENTS_GRAIN, mask_slice, &a);
	if (a.transposed)
		host_parallel(stream, (a.columns + SQUARE - 1) / SQUARE,
			      1 + ELEMENTS_GRAIN / (SQUARE * a.rows + 1), transpose_slice, &a);
	if (!a.sum)
		return STATUS_OK;
	host_parallel(stream, OUTPUT_GRADIENT_PARTS, 1 + ELEMENTS_GRAIN / (part_elements + 1),
		      sum_rows_slice, &a);
	host_parallel(stream, a.columns, ELEMENTS_GRAIN / OUTPUT_GRADIENT_PARTS, sum_parts_slice,
		      &a);
	return STATUS_OK;
}
HOST_KERNEL(output_gradient)
