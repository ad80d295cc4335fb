/* Activations, residual additions, embeddings and norms on the CPU. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "device/host/host_kernel.h"
#include "kernels/launch/elements.h"
#include "kernels/layers/activation.h"
#include "kernels/layers/layers.h"

/* Columns [column, column + count) of a row. */
static void layers_host_activate(const struct activation_forward_arguments *a, uint64_t row,
				 uint64_t column, uint64_t count)
{
	float x_buffer[ELEMENTS_BLOCK], bias_buffer[ELEMENTS_BLOCK], y[ELEMENTS_BLOCK];
	uint64_t at = row * a->columns + column;
	float *x = elements_open(a->x, a->precision, at, count, x_buffer);

	if (a->bias) {
		const float *bias =
			elements_open(a->bias, a->precision, column, count, bias_buffer);

		for (uint64_t i = 0; i < count; i++)
			x[i] += bias[i];
		elements_close(a->x, a->precision, at, count, x);
		x = elements_open(a->x, a->precision, at, count,
				  x_buffer); /* as backward reads it */
	}
	for (uint64_t i = 0; i < count; i++)
		y[i] = activation_value(a->activation, x[i]);
	elements_store(a->y, a->precision, at, count, y);
}

static void layers_host_activation_slice(void *context, unsigned part, uint64_t begin, uint64_t end)
{
	const struct activation_forward_arguments *a = context;

	(void)part;
	for (uint64_t row = begin; row < end; row++)
		FOR_BLOCKS (column, count, 0, a->columns)
			layers_host_activate(a, row, column, count);
}

static enum status activation_forward_run(struct stream *stream, const void *arguments,
					  struct error *err)
{
	struct activation_forward_arguments a =
		*(const struct activation_forward_arguments *)arguments;

	if (layer_check("activation_forward", a.precision, err) != STATUS_OK)
		return err->status;
	host_stream_parallel(stream, a.rows, elements_grain_rows(a.columns),
			     layers_host_activation_slice, &a);
	return STATUS_OK;
}
HOST_KERNEL(activation_forward)

static void layers_host_gradient_slice(void *context, unsigned part, uint64_t begin, uint64_t end)
{
	const struct activation_backward_arguments *a = context;
	float x_buffer[ELEMENTS_BLOCK], dy_buffer[ELEMENTS_BLOCK], dx[ELEMENTS_BLOCK];

	(void)part;
	FOR_BLOCKS (first, count, begin, end) {
		const float *x = elements_open(a->x, a->precision, first, count, x_buffer),
			    *dy = elements_open(a->dy, a->precision, first, count, dy_buffer);

		for (uint64_t i = 0; i < count; i++)
			dx[i] = activation_gradient(a->activation, x[i], dy[i]);
		elements_store(a->dx, a->precision, first, count, dx);
	}
}

static enum status activation_backward_run(struct stream *stream, const void *arguments,
					   struct error *err)
{
	struct activation_backward_arguments a =
		*(const struct activation_backward_arguments *)arguments;

	if (layer_check("activation_backward", a.precision, err) != STATUS_OK)
		return err->status;
	host_stream_parallel(stream, a.count, ELEMENTS_GRAIN, layers_host_gradient_slice, &a);
	return STATUS_OK;
}
HOST_KERNEL(activation_backward)

static void layers_host_add_slice(void *context, unsigned part, uint64_t begin, uint64_t end)
{
	const struct residual_add_arguments *a = context;
	float a_buffer[ELEMENTS_BLOCK], b_buffer[ELEMENTS_BLOCK], y[ELEMENTS_BLOCK];

	(void)part;
	FOR_BLOCKS (first, count, begin, end) {
		const float *x = elements_open(a->a, a->precision, first, count, a_buffer),
			    *z = elements_open(a->b, a->precision, first, count, b_buffer);

		for (uint64_t i = 0; i < count; i++)
			y[i] = x[i] + z[i];
		elements_store(a->y, a->precision, first, count, y);
	}
}

static enum status residual_add_run(struct stream *stream, const void *arguments, struct error *err)
{
	struct residual_add_arguments a = *(const struct residual_add_arguments *)arguments;

	if (layer_check("residual_add", a.precision, err) != STATUS_OK)
		return err->status;
	host_stream_parallel(stream, a.count, ELEMENTS_GRAIN, layers_host_add_slice, &a);
	return STATUS_OK;
}
HOST_KERNEL(residual_add)

static void layers_host_gather_slice(void *context, unsigned part, uint64_t begin, uint64_t end)
{
	static const float zeros[ELEMENTS_BLOCK];
	const struct embedding_gather_arguments *a = context;
	float row_buffer[ELEMENTS_BLOCK], position_buffer[ELEMENTS_BLOCK], y[ELEMENTS_BLOCK];

	(void)part;
	for (uint64_t i = begin; i < end; i++)
		FOR_BLOCKS (column, count, 0, a->columns) {
			uint64_t id = (uint64_t)a->ids[i] - a->first;
			const float *row =
				a->rows == 0 || id < a->rows
					? elements_open(a->table, a->precision,
							id * a->columns + column, count, row_buffer)
					: zeros;
			const float *position =
				a->position ? elements_open(a->position, a->precision,
							    i % a->positions * a->columns + column,
							    count, position_buffer)
					    : NULL;

			for (uint64_t c = 0; c < count; c++)
				y[c] = position ? row[c] + position[c] : row[c];
			elements_store(a->y, a->precision, i * a->columns + column, count, y);
		}
}

static enum status embedding_gather_run(struct stream *stream, const void *arguments,
					struct error *err)
{
	struct embedding_gather_arguments a = *(const struct embedding_gather_arguments *)arguments;

	if (layer_check("embedding_gather", a.precision, err) != STATUS_OK)
		return err->status;
	host_stream_parallel(stream, a.count, elements_grain_rows(a.columns),
			     layers_host_gather_slice, &a);
	return STATUS_OK;
}
HOST_KERNEL(embedding_gather)

/* Sorts the positions by id and then by position, and finds the start of each row's. */
static void layers_host_sort_places(const struct embedding_scatter_add_arguments *a)
{
	uint32_t *firsts = a->scratch, *places = firsts + a->rows + 1;
	uint32_t sum = 0;

	memset(firsts, 0, (a->rows + 1) * sizeof(*firsts));
	for (uint64_t i = 0; i < a->count; i++)
		if ((uint64_t)a->ids[i] - a->first < a->rows)
			firsts[(uint64_t)a->ids[i] - a->first]++;
	for (uint64_t row = 0; row <= a->rows; row++) {
		uint32_t own = firsts[row];

		firsts[row] = sum;
		sum += own;
	}
	for (uint64_t i = 0; i < a->count; i++)
		if ((uint64_t)a->ids[i] - a->first < a->rows)
			places[firsts[(uint64_t)a->ids[i] - a->first]++] = (uint32_t)i;
	/* Each entry is now the end of its row, which is the start of the next. */
	memmove(firsts + 1, firsts, a->rows * sizeof(*firsts));
	firsts[0] = 0;
}

static void layers_host_scatter_slice(void *context, unsigned part, uint64_t begin, uint64_t end)
{
	const struct embedding_scatter_add_arguments *a = context;
	const uint32_t *firsts = a->scratch, *places = firsts + a->rows + 1;
	float buffer[ELEMENTS_BLOCK], old_buffer[ELEMENTS_BLOCK], sum[ELEMENTS_BLOCK];

	(void)part;
	for (uint64_t row = begin; row < end; row++)
		FOR_BLOCKS (column, count, 0, a->columns) {
			uint64_t at = row * a->columns + column;

			memset(sum, 0, sizeof(sum));
			for (uint32_t p = firsts[row]; p < firsts[row + 1]; p++) {
				const float *dy = elements_open(a->dy, a->precision,
								places[p] * a->columns + column,
								count, buffer);

				for (uint64_t c = 0; c < count; c++)
					sum[c] += dy[c];
			}
			if (a->keep != 0) {
				const float *old = elements_open(a->dtable, a->precision, at, count,
								 old_buffer);

				for (uint64_t c = 0; c < count; c++)
					sum[c] += a->keep * old[c];
			}
			elements_store(a->dtable, a->precision, at, count, sum);
		}
}

static enum status embedding_scatter_add_run(struct stream *stream, const void *arguments,
					     struct error *err)
{
	struct embedding_scatter_add_arguments a =
		*(const struct embedding_scatter_add_arguments *)arguments;

	if (layer_check("embedding_scatter_add", a.precision, err) != STATUS_OK)
		return err->status;
	if (a.rows == 0)
		return STATUS_OK;
	layers_host_sort_places(&a);
	host_stream_parallel(stream, a.rows, elements_grain_rows(a.columns),
			     layers_host_scatter_slice, &a);
	return STATUS_OK;
}
HOST_KERNEL(embedding_scatter_add)

/* Rows of a tensor as FP32: in place, or in the n-th buffer of a slice. */
struct row_buffers {
	float *memory;
	uint64_t columns;
};

static struct row_buffers layers_host_buffers_new(uint64_t columns, unsigned count)
{
	return (struct row_buffers){ xmalloc(columns * count * sizeof(float)), columns };
}

static float *layers_host_open_row(const struct row_buffers *b, unsigned n, const void *tensor,
				   enum precision precision, uint64_t row)
{
	return elements_open(tensor, precision, row * b->columns, b->columns,
			     b->memory + n * b->columns);
}

HOST_VECTORISED
static void layers_host_normalise(float *y, const float *x, const float *gamma, const float *beta,
				  float mean, float rstd, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++)
		y[i] = (x[i] - mean) * rstd * gamma[i] + beta[i];
}

static void layers_host_norm_forward_slice(void *context, unsigned part, uint64_t begin,
					   uint64_t end)
{
	const struct layer_norm_forward_arguments *a = context;
	struct row_buffers b = layers_host_buffers_new(a->columns, 4);
	const float *gamma = layers_host_open_row(&b, 0, a->gamma, a->precision, 0),
		    *beta = layers_host_open_row(&b, 1, a->beta, a->precision, 0);
	float *y = b.memory + 3 * a->columns;

	(void)part;
	for (uint64_t row = begin; row < end; row++) {
		const float *x = layers_host_open_row(&b, 2, a->x, a->precision, row);
		double sum = 0, squares = 0, mean;

		for (uint64_t c = 0; c < a->columns; c++)
			sum += (double)x[c];
		mean = sum / (double)a->columns;
		for (uint64_t c = 0; c < a->columns; c++)
			squares += ((double)x[c] - mean) * ((double)x[c] - mean);
		a->mean[row] = (float)mean;
		a->rstd[row] = (float)(1 / sqrt(squares / (double)a->columns + (double)a->epsilon));
		layers_host_normalise(y, x, gamma, beta, a->mean[row], a->rstd[row], a->columns);
		elements_store(a->y, a->precision, row * a->columns, a->columns, y);
	}
	free(b.memory);
}

static enum status layer_norm_forward_run(struct stream *stream, const void *arguments,
					  struct error *err)
{
	struct layer_norm_forward_arguments a =
		*(const struct layer_norm_forward_arguments *)arguments;

	if (layer_check("layer_norm_forward", a.precision, err) != STATUS_OK)
		return err->status;
	host_stream_parallel(stream, a.rows, elements_grain_rows(a.columns),
			     layers_host_norm_forward_slice, &a);
	return STATUS_OK;
}
HOST_KERNEL(layer_norm_forward)

HOST_VECTORISED
static void layers_host_norm_add_products(float *gamma, float *beta, const float *x,
					  const float *dy, float mean, float rstd, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		gamma[i] += dy[i] * (x[i] - mean) * rstd;
		beta[i] += dy[i];
	}
}

/*
 * Sums fixed parts of the rows into the scratch, in an order that does not depend on the threads.
 */
static void layers_host_parts_slice(void *context, unsigned part, uint64_t begin, uint64_t end)
{
	const struct layer_norm_backward_arguments *a = context;
	struct row_buffers b = layers_host_buffers_new(a->columns, 2);

	(void)part;
	for (uint64_t p = begin; p < end; p++) {
		float *gamma = a->scratch + p * a->columns,
		      *beta = gamma + LAYER_NORM_PARTS * a->columns;

		for (uint64_t c = 0; c < a->columns; c++)
			gamma[c] = beta[c] = 0;
		for (uint64_t row = a->rows * p / LAYER_NORM_PARTS;
		     row < a->rows * (p + 1) / LAYER_NORM_PARTS; row++)
			layers_host_norm_add_products(
				gamma, beta, layers_host_open_row(&b, 0, a->x, a->precision, row),
				layers_host_open_row(&b, 1, a->dy, a->precision, row), a->mean[row],
				a->rstd[row], a->columns);
	}
	free(b.memory);
}

static void layers_host_norm_join_parts(const struct layer_norm_backward_arguments *a, void *out,
					const float *parts)
{
	struct row_buffers b = layers_host_buffers_new(a->columns, 2);
	const float *old = a->keep != 0 ? layers_host_open_row(&b, 0, out, a->precision, 0) : NULL;
	float *sum = b.memory + a->columns;

	for (uint64_t c = 0; c < a->columns; c++) {
		double total = old ? (double)a->keep * (double)old[c] : 0;

		for (uint64_t p = 0; p < LAYER_NORM_PARTS; p++)
			total += (double)parts[p * a->columns + c];
		sum[c] = (float)total;
	}
	elements_store(out, a->precision, 0, a->columns, sum);
	free(b.memory);
}

static void layers_host_input_slice(void *context, unsigned part, uint64_t begin, uint64_t end)
{
	const struct layer_norm_backward_arguments *a = context;
	struct row_buffers b = layers_host_buffers_new(a->columns, 4);
	const float *gamma = layers_host_open_row(&b, 0, a->gamma, a->precision, 0);
	float *dx = b.memory + 3 * a->columns;

	(void)part;
	for (uint64_t row = begin; row < end; row++) {
		const float *x = layers_host_open_row(&b, 1, a->x, a->precision, row),
			    *dy = layers_host_open_row(&b, 2, a->dy, a->precision, row);
		float mean = a->mean[row], rstd = a->rstd[row], mean_gradient, mean_product;
		double sum = 0, product = 0;

		for (uint64_t c = 0; c < a->columns; c++) {
			float g = dy[c] * gamma[c];

			sum += (double)g;
			product += (double)(g * (x[c] - mean) * rstd);
		}
		mean_gradient = (float)(sum / (double)a->columns);
		mean_product = (float)(product / (double)a->columns);
		for (uint64_t c = 0; c < a->columns; c++)
			dx[c] = rstd * (dy[c] * gamma[c] - mean_gradient -
					(x[c] - mean) * rstd * mean_product);
		elements_store(a->dx, a->precision, row * a->columns, a->columns, dx);
	}
	free(b.memory);
}

static enum status layer_norm_backward_run(struct stream *stream, const void *arguments,
					   struct error *err)
{
	struct layer_norm_backward_arguments a =
		*(const struct layer_norm_backward_arguments *)arguments;

	if (layer_check("layer_norm_backward", a.precision, err) != STATUS_OK)
		return err->status;
	/* The sums first, because dx may be dy. */
	host_stream_parallel(stream, LAYER_NORM_PARTS,
			     1 + ELEMENTS_GRAIN * LAYER_NORM_PARTS / (a.rows * a.columns + 1),
			     layers_host_parts_slice, &a);
	layers_host_norm_join_parts(&a, a.dgamma, a.scratch);
	layers_host_norm_join_parts(&a, a.dbeta, a.scratch + LAYER_NORM_PARTS * a.columns);
	host_stream_parallel(stream, a.rows, elements_grain_rows(a.columns),
			     layers_host_input_slice, &a);
	return STATUS_OK;
}
HOST_KERNEL(layer_norm_backward)

/*
 * A thread processes a range of columns over all rows, so the order of each column's sum does not
 * depend on the number of threads.
 */
#define COLUMNS_GRAIN 16

/* Both passes call it, so that backward finds the same sign. */
static float layers_host_batch_norm_value(float x, float mean, float rstd, float gamma, float beta)
{
	return (x - mean) * rstd * gamma + beta;
}

static void layers_host_forward_columns(const struct batch_norm_forward_arguments *a,
					uint64_t first, uint64_t count)
{
	float x_buffer[ELEMENTS_BLOCK], gamma[ELEMENTS_BLOCK], beta[ELEMENTS_BLOCK],
		y[ELEMENTS_BLOCK], residual_buffer[ELEMENTS_BLOCK];
	double mean[ELEMENTS_BLOCK] = { 0 }, squares[ELEMENTS_BLOCK] = { 0 };
	const float *g = elements_open(a->gamma, a->precision, first, count, gamma),
		    *b = elements_open(a->beta, a->precision, first, count, beta);

	for (uint64_t row = 0; row < a->rows; row++) {
		const float *x = elements_open(a->x, a->precision, row * a->columns + first, count,
					       x_buffer);

		for (uint64_t c = 0; c < count; c++)
			mean[c] += (double)x[c] / (double)a->rows;
	}
	for (uint64_t row = 0; row < a->rows; row++) {
		const float *x = elements_open(a->x, a->precision, row * a->columns + first, count,
					       x_buffer);

		for (uint64_t c = 0; c < count; c++)
			squares[c] += ((double)x[c] - mean[c]) * ((double)x[c] - mean[c]);
	}
	for (uint64_t c = 0; c < count; c++) {
		a->mean[first + c] = (float)mean[c];
		a->rstd[first + c] =
			(float)(1 / sqrt(squares[c] / (double)a->rows + (double)a->epsilon));
	}
	for (uint64_t row = 0; row < a->rows; row++) {
		const float *x = elements_open(a->x, a->precision, row * a->columns + first, count,
					       x_buffer);

		const float *residual = a->residual ? elements_open(a->residual, a->precision,
								    row * a->columns + first, count,
								    residual_buffer)
						    : NULL;

		for (uint64_t c = 0; c < count; c++) {
			y[c] = layers_host_batch_norm_value(x[c], a->mean[first + c],
							    a->rstd[first + c], g[c], b[c]);
			if (residual)
				y[c] += residual[c];
			if (a->relu && y[c] <= 0)
				y[c] = 0;
		}
		elements_store(a->y, a->precision, row * a->columns + first, count, y);
	}
}

static void layers_host_batch_norm_forward_slice(void *context, unsigned part, uint64_t begin,
						 uint64_t end)
{
	(void)part;
	FOR_BLOCKS (first, count, begin, end)
		layers_host_forward_columns(context, first, count);
}

static enum status batch_norm_forward_run(struct stream *stream, const void *arguments,
					  struct error *err)
{
	struct batch_norm_forward_arguments a =
		*(const struct batch_norm_forward_arguments *)arguments;

	if (layer_check("batch_norm_forward", a.precision, err) != STATUS_OK)
		return err->status;
	if (a.rows > 0)
		host_stream_parallel(stream, a.columns, COLUMNS_GRAIN,
				     layers_host_batch_norm_forward_slice, &a);
	return STATUS_OK;
}
HOST_KERNEL(batch_norm_forward)

/* Adds a column's sum to keep * the old value. */
static void layers_host_batch_norm_store_sums(const struct batch_norm_backward_arguments *a,
					      void *out, const double *sum, uint64_t first,
					      uint64_t count)
{
	float old_buffer[ELEMENTS_BLOCK], total[ELEMENTS_BLOCK];
	const float *old =
		a->keep != 0 ? elements_open(out, a->precision, first, count, old_buffer) : NULL;

	for (uint64_t c = 0; c < count; c++)
		total[c] = (float)(sum[c] + (old ? (double)a->keep * (double)old[c] : 0));
	elements_store(out, a->precision, first, count, total);
}

/* Stores dy + other where the residual's ReLU was on, for some columns of all rows. */
static void layers_host_batch_norm_sum_gradients(const struct batch_norm_backward_arguments *a,
						 uint64_t first, uint64_t count)
{
	float dy_buffer[ELEMENTS_BLOCK], y_buffer[ELEMENTS_BLOCK], other_buffer[ELEMENTS_BLOCK],
		sum[ELEMENTS_BLOCK];

	for (uint64_t row = 0; row < a->rows; row++) {
		uint64_t at = row * a->columns + first;
		const float *dy = elements_open(a->dy, a->precision, at, count, dy_buffer),
			    *y = elements_open(a->y, a->precision, at, count, y_buffer),
			    *other = a->other ? elements_open(a->other, a->precision, at, count,
							      other_buffer)
					      : NULL;

		for (uint64_t c = 0; c < count; c++)
			sum[c] = y[c] > 0 ? dy[c] + (other ? other[c] : 0) : 0;
		elements_store(a->sum, a->precision, at, count, sum);
	}
}

/* dy of some columns of a row, 0 where the ReLU after the norm was off; in `out`. */
static void layers_host_batch_norm_masked(const struct batch_norm_backward_arguments *a,
					  uint64_t row, uint64_t first, uint64_t count,
					  const float *x, const float *gamma, const float *beta,
					  float *out)
{
	float buffer[ELEMENTS_BLOCK];
	const float *dy = elements_open(a->y ? a->sum : a->dy, a->precision,
					row * a->columns + first, count, buffer);

	for (uint64_t c = 0; c < count; c++)
		out[c] = beta && !(layers_host_batch_norm_value(x[c], a->mean[first + c],
								a->rstd[first + c], gamma[c],
								beta[c]) > 0)
				 ? 0
				 : dy[c];
}

static void layers_host_backward_columns(const struct batch_norm_backward_arguments *a,
					 uint64_t first, uint64_t count)
{
	float x_buffer[ELEMENTS_BLOCK], dy[ELEMENTS_BLOCK], gamma[ELEMENTS_BLOCK],
		beta[ELEMENTS_BLOCK], dx[ELEMENTS_BLOCK];
	double sum[ELEMENTS_BLOCK] = { 0 }, product[ELEMENTS_BLOCK] = { 0 };
	const float *g = elements_open(a->gamma, a->precision, first, count, gamma),
		    *b = a->beta ? elements_open(a->beta, a->precision, first, count, beta) : NULL;

	if (a->y)
		layers_host_batch_norm_sum_gradients(a, first, count);
	for (uint64_t row = 0; row < a->rows; row++) {
		const float *x = elements_open(a->x, a->precision, row * a->columns + first, count,
					       x_buffer);

		layers_host_batch_norm_masked(a, row, first, count, x, g, b, dy);
		for (uint64_t c = 0; c < count; c++) {
			sum[c] += (double)dy[c];
			product[c] +=
				(double)(dy[c] * (x[c] - a->mean[first + c]) * a->rstd[first + c]);
		}
	}
	layers_host_batch_norm_store_sums(a, a->dbeta, sum, first, count);
	layers_host_batch_norm_store_sums(a, a->dgamma, product, first, count);
	for (uint64_t row = 0; row < a->rows; row++) {
		const float *x = elements_open(a->x, a->precision, row * a->columns + first, count,
					       x_buffer);

		layers_host_batch_norm_masked(a, row, first, count, x, g, b, dy);
		for (uint64_t c = 0; c < count; c++) {
			float rstd = a->rstd[first + c], n = (x[c] - a->mean[first + c]) * rstd;

			dx[c] = g[c] * rstd *
				(dy[c] -
				 (float)((sum[c] + (double)n * product[c]) / (double)a->rows));
		}
		elements_store(a->dx, a->precision, row * a->columns + first, count, dx);
	}
}

static void layers_host_batch_norm_backward_slice(void *context, unsigned part, uint64_t begin,
						  uint64_t end)
{
	(void)part;
	FOR_BLOCKS (first, count, begin, end)
		layers_host_backward_columns(context, first, count);
}

static enum status batch_norm_backward_run(struct stream *stream, const void *arguments,
					   struct error *err)
{
	struct batch_norm_backward_arguments a =
		*(const struct batch_norm_backward_arguments *)arguments;

	if (layer_check("batch_norm_backward", a.precision, err) != STATUS_OK)
		return err->status;
	if (a.rows > 0)
		host_stream_parallel(stream, a.columns, COLUMNS_GRAIN,
				     layers_host_batch_norm_backward_slice, &a);
	return STATUS_OK;
}
HOST_KERNEL(batch_norm_backward)
