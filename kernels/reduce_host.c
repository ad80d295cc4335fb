#include "kernels/training.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "device/host/elements.h"
#include "device/host/host_kernel.h"

#define REAL float
#define LOOP(name) name##_float
#define REAL_EXP expf
#include "kernels/reduce_loops.inc"

#define REAL double
#define LOOP(name) name##_double
#define REAL_EXP exp
#include "kernels/reduce_loops.inc"

/*
 * Sums a fixed part of the rows into its row of the scratch: the order does not depend on the
 * threads.
 */
static void sum_rows(const struct column_sum_arguments *a, uint64_t part)
{
	double *sum = (double *)a->scratch + part * a->columns;
	uint64_t begin = a->rows * part / COLUMN_SUM_PARTS,
		 end = a->rows * (part + 1) / COLUMN_SUM_PARTS;
	float buffer[ELEMENTS_BLOCK];

	memset(sum, 0, a->columns * sizeof(*sum));
	for (uint64_t row = begin; row < end; row++) {
		if (a->precision == PRECISION_FP64) {
			add_to_double(sum, (const double *)a->x + row * a->columns, a->columns);
			continue;
		}
		FOR_BLOCKS (column, count, 0, a->columns)
			add_to_float(sum + column,
				     elements_open(a->x, a->precision, row * a->columns + column,
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

static void sum_parts_slice(void *context, unsigned part, uint64_t begin, uint64_t end)
{
	const struct column_sum_arguments *a = context;
	double sum[ELEMENTS_BLOCK];
	float buffer[ELEMENTS_BLOCK];

	(void)part;
	FOR_BLOCKS (first, count, begin, end) {
		memset(sum, 0, sizeof(sum));
		for (uint64_t p = 0; p < COLUMN_SUM_PARTS; p++)
			add_to_double(sum, (const double *)a->scratch + p * a->columns + first,
				      count);
		if (a->beta != 0 && a->precision == PRECISION_FP64) {
			for (uint64_t i = 0; i < count; i++)
				sum[i] += a->beta * ((const double *)a->out)[first + i];
		} else if (a->beta != 0) {
			const float *old =
				elements_open(a->out, a->precision, first, count, buffer);

			for (uint64_t i = 0; i < count; i++)
				sum[i] += a->beta * (double)old[i];
		}
		for (uint64_t i = 0; i < count; i++) {
			if (a->precision == PRECISION_FP64)
				((double *)a->out)[first + i] = sum[i];
			else
				buffer[i] = (float)sum[i];
		}
		if (a->precision != PRECISION_FP64)
			elements_store(a->out, a->precision, first, count, buffer);
	}
}

static enum status column_sum_run(struct stream *stream, const void *arguments, struct error *err)
{
	struct column_sum_arguments a = *(const struct column_sum_arguments *)arguments;
	uint64_t part_elements = a.rows * a.columns / COLUMN_SUM_PARTS + a.columns;

	(void)err;
	host_parallel(stream, COLUMN_SUM_PARTS, 1 + ELEMENTS_GRAIN / (part_elements + 1),
		      sum_rows_slice, &a);
	host_parallel(stream, a.columns, ELEMENTS_GRAIN / COLUMN_SUM_PARTS, sum_parts_slice, &a);
	return STATUS_OK;
}
HOST_KERNEL(column_sum)

static void softmax_slice(void *context, unsigned part, uint64_t begin, uint64_t end)
{
	const struct softmax_cross_entropy_arguments *a = context;
	float *buffer =
		precision_bytes(a->precision) == 2 ? xmalloc(a->columns * sizeof(*buffer)) : NULL;

	(void)part;
	for (uint64_t row = begin; row < end; row++) {
		uint64_t at = row * a->columns, label = (uint64_t)a->labels[row];
		float *logits;

		if (a->precision == PRECISION_FP64) {
			a->row_loss[row] = softmax_double((double *)a->logits + at, a->columns,
							  label, a->gradient_scale);
			continue;
		}
		logits = elements_open(a->logits, a->precision, at, a->columns, buffer);
		a->row_loss[row] =
			softmax_float(logits, a->columns, label, (float)a->gradient_scale);
		elements_close(a->logits, a->precision, at, a->columns, logits);
	}
	free(buffer);
}

static enum status softmax_cross_entropy_run(struct stream *stream, const void *arguments,
					     struct error *err)
{
	struct softmax_cross_entropy_arguments a =
		*(const struct softmax_cross_entropy_arguments *)arguments;

	if (a.loss_scale)
		a.gradient_scale *= (double)a.loss_scale->scale;
	for (uint64_t row = 0; row < a.rows; row++) {
		if (a.labels[row] < 0 || (uint64_t)a.labels[row] >= a.columns)
			return error_set(
				err, STATUS_INTERNAL,
				"softmax_cross_entropy: label %d of row %llu, %llu columns",
				a.labels[row], (unsigned long long)row,
				(unsigned long long)a.columns);
	}
	host_parallel(stream, a.rows, 1 + elements_grain_rows(a.columns) / 16, softmax_slice, &a);
	return STATUS_OK;
}
HOST_KERNEL(softmax_cross_entropy)
