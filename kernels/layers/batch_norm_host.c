#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "kernels/launch/elements.h"
#include "device/host/host_kernel.h"
#include "kernels/layers/layers.h"

/*
 * A thread processes a range of columns over all rows: each column's sum has a fixed order,
 * whatever the number of threads.
 */
#define COLUMNS_GRAIN 16

/* Columns [first, first + count) of a row, converted to `buffer` unless they are FP32. */
static float *open_part(const void *tensor, enum precision precision, uint64_t columns,
			uint64_t row, uint64_t first, uint64_t count, float *buffer)
{
	return elements_open(tensor, precision, row * columns + first, count, buffer);
}

static void forward_columns(const struct batch_norm_forward_arguments *a, uint64_t first,
			    uint64_t count)
{
	float x_buffer[ELEMENTS_BLOCK], gamma[ELEMENTS_BLOCK], beta[ELEMENTS_BLOCK],
		y[ELEMENTS_BLOCK];
	double mean[ELEMENTS_BLOCK] = { 0 }, squares[ELEMENTS_BLOCK] = { 0 };
	const float *g = elements_open(a->gamma, a->precision, first, count, gamma),
		    *b = elements_open(a->beta, a->precision, first, count, beta);

	for (uint64_t row = 0; row < a->rows; row++) {
		const float *x =
			open_part(a->x, a->precision, a->columns, row, first, count, x_buffer);

		for (uint64_t c = 0; c < count; c++)
			mean[c] += (double)x[c] / (double)a->rows;
	}
	for (uint64_t row = 0; row < a->rows; row++) {
		const float *x =
			open_part(a->x, a->precision, a->columns, row, first, count, x_buffer);

		for (uint64_t c = 0; c < count; c++)
			squares[c] += ((double)x[c] - mean[c]) * ((double)x[c] - mean[c]);
	}
	for (uint64_t c = 0; c < count; c++) {
		a->mean[first + c] = (float)mean[c];
		a->rstd[first + c] =
			(float)(1 / sqrt(squares[c] / (double)a->rows + (double)a->epsilon));
	}
	for (uint64_t row = 0; row < a->rows; row++) {
		const float *x =
			open_part(a->x, a->precision, a->columns, row, first, count, x_buffer);

		for (uint64_t c = 0; c < count; c++)
			y[c] = (x[c] - a->mean[first + c]) * a->rstd[first + c] * g[c] + b[c];
		elements_store(a->y, a->precision, row * a->columns + first, count, y);
	}
}

static void batch_norm_forward_slice(void *context, unsigned part, uint64_t begin, uint64_t end)
{
	(void)part;
	FOR_BLOCKS (first, count, begin, end)
		forward_columns(context, first, count);
}

static enum status batch_norm_forward_run(struct stream *stream, const void *arguments,
					  struct error *err)
{
	struct batch_norm_forward_arguments a =
		*(const struct batch_norm_forward_arguments *)arguments;

	if (layer_check("batch_norm_forward", a.precision, err) != STATUS_OK)
		return err->status;
	if (a.rows > 0)
		host_parallel(stream, a.columns, COLUMNS_GRAIN, batch_norm_forward_slice, &a);
	return STATUS_OK;
}
HOST_KERNEL(batch_norm_forward)

/* Adds a column's sum to keep * the old value. */
static void batch_norm_store_sums(const struct batch_norm_backward_arguments *a, void *out,
				  const double *sum, uint64_t first, uint64_t count)
{
	float old_buffer[ELEMENTS_BLOCK], total[ELEMENTS_BLOCK];
	const float *old =
		a->keep != 0 ? elements_open(out, a->precision, first, count, old_buffer) : NULL;

	for (uint64_t c = 0; c < count; c++)
		total[c] = (float)(sum[c] + (old ? (double)a->keep * (double)old[c] : 0));
	elements_store(out, a->precision, first, count, total);
}

static void backward_columns(const struct batch_norm_backward_arguments *a, uint64_t first,
			     uint64_t count)
{
	float x_buffer[ELEMENTS_BLOCK], dy_buffer[ELEMENTS_BLOCK], gamma[ELEMENTS_BLOCK],
		dx[ELEMENTS_BLOCK];
	double sum[ELEMENTS_BLOCK] = { 0 }, product[ELEMENTS_BLOCK] = { 0 };
	const float *g = elements_open(a->gamma, a->precision, first, count, gamma);

	for (uint64_t row = 0; row < a->rows; row++) {
		const float *x = open_part(a->x, a->precision, a->columns, row, first, count,
					   x_buffer),
			    *dy = open_part(a->dy, a->precision, a->columns, row, first, count,
					    dy_buffer);

		for (uint64_t c = 0; c < count; c++) {
			sum[c] += (double)dy[c];
			product[c] +=
				(double)(dy[c] * (x[c] - a->mean[first + c]) * a->rstd[first + c]);
		}
	}
	batch_norm_store_sums(a, a->dbeta, sum, first, count);
	batch_norm_store_sums(a, a->dgamma, product, first, count);
	for (uint64_t row = 0; row < a->rows; row++) {
		const float *x = open_part(a->x, a->precision, a->columns, row, first, count,
					   x_buffer),
			    *dy = open_part(a->dy, a->precision, a->columns, row, first, count,
					    dy_buffer);

		for (uint64_t c = 0; c < count; c++) {
			float rstd = a->rstd[first + c], n = (x[c] - a->mean[first + c]) * rstd;

			dx[c] = g[c] * rstd *
				(dy[c] -
				 (float)((sum[c] + (double)n * product[c]) / (double)a->rows));
		}
		elements_store(a->dx, a->precision, row * a->columns + first, count, dx);
	}
}

static void batch_norm_backward_slice(void *context, unsigned part, uint64_t begin, uint64_t end)
{
	(void)part;
	FOR_BLOCKS (first, count, begin, end)
		backward_columns(context, first, count);
}

static enum status batch_norm_backward_run(struct stream *stream, const void *arguments,
					   struct error *err)
{
	struct batch_norm_backward_arguments a =
		*(const struct batch_norm_backward_arguments *)arguments;

	if (layer_check("batch_norm_backward", a.precision, err) != STATUS_OK)
		return err->status;
	if (a.rows > 0)
		host_parallel(stream, a.columns, COLUMNS_GRAIN, batch_norm_backward_slice, &a);
	return STATUS_OK;
}
HOST_KERNEL(batch_norm_backward)
