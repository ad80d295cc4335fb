#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "kernels/launch/elements.h"
#include "device/host/host_kernel.h"
#include "kernels/layers/layers.h"

/* Rows of a tensor as FP32: in place, or in the n-th buffer of a slice. */
struct row_buffers {
	float *memory;
	uint64_t columns;
};

static struct row_buffers buffers_new(uint64_t columns, unsigned count)
{
	return (struct row_buffers){ xmalloc(columns * count * sizeof(float)), columns };
}

static float *open_row(const struct row_buffers *b, unsigned n, const void *tensor,
		       enum precision precision, uint64_t row)
{
	return elements_open(tensor, precision, row * b->columns, b->columns,
			     b->memory + n * b->columns);
}

HOST_VECTORISED
static void normalise(float *y, const float *x, const float *gamma, const float *beta, float mean,
		      float rstd, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++)
		y[i] = (x[i] - mean) * rstd * gamma[i] + beta[i];
}

static void layer_norm_forward_slice(void *context, unsigned part, uint64_t begin, uint64_t end)
{
	const struct layer_norm_forward_arguments *a = context;
	struct row_buffers b = buffers_new(a->columns, 4);
	const float *gamma = open_row(&b, 0, a->gamma, a->precision, 0),
		    *beta = open_row(&b, 1, a->beta, a->precision, 0);
	float *y = b.memory + 3 * a->columns;

	(void)part;
	for (uint64_t row = begin; row < end; row++) {
		const float *x = open_row(&b, 2, a->x, a->precision, row);
		double sum = 0, squares = 0, mean;

		for (uint64_t c = 0; c < a->columns; c++)
			sum += (double)x[c];
		mean = sum / (double)a->columns;
		for (uint64_t c = 0; c < a->columns; c++)
			squares += ((double)x[c] - mean) * ((double)x[c] - mean);
		a->mean[row] = (float)mean;
		a->rstd[row] = (float)(1 / sqrt(squares / (double)a->columns + (double)a->epsilon));
		normalise(y, x, gamma, beta, a->mean[row], a->rstd[row], a->columns);
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
	host_parallel(stream, a.rows, elements_grain_rows(a.columns), layer_norm_forward_slice, &a);
	return STATUS_OK;
}
HOST_KERNEL(layer_norm_forward)

HOST_VECTORISED
static void layer_norm_add_products(float *gamma, float *beta, const float *x, const float *dy,
				    float mean, float rstd, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		gamma[i] += dy[i] * (x[i] - mean) * rstd;
		beta[i] += dy[i];
	}
}

/*
 * Sums fixed parts of the rows into the scratch, in an order that does not depend on the threads.
 */
static void parts_slice(void *context, unsigned part, uint64_t begin, uint64_t end)
{
	const struct layer_norm_backward_arguments *a = context;
	struct row_buffers b = buffers_new(a->columns, 2);

	(void)part;
	for (uint64_t p = begin; p < end; p++) {
		float *gamma = a->scratch + p * a->columns,
		      *beta = gamma + LAYER_NORM_PARTS * a->columns;

		for (uint64_t c = 0; c < a->columns; c++)
			gamma[c] = beta[c] = 0;
		for (uint64_t row = a->rows * p / LAYER_NORM_PARTS;
		     row < a->rows * (p + 1) / LAYER_NORM_PARTS; row++)
			layer_norm_add_products(gamma, beta,
						open_row(&b, 0, a->x, a->precision, row),
						open_row(&b, 1, a->dy, a->precision, row),
						a->mean[row], a->rstd[row], a->columns);
	}
	free(b.memory);
}

static void layer_norm_join_parts(const struct layer_norm_backward_arguments *a, void *out,
				  const float *parts)
{
	struct row_buffers b = buffers_new(a->columns, 2);
	const float *old = a->keep != 0 ? open_row(&b, 0, out, a->precision, 0) : NULL;
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

static void input_slice(void *context, unsigned part, uint64_t begin, uint64_t end)
{
	const struct layer_norm_backward_arguments *a = context;
	struct row_buffers b = buffers_new(a->columns, 4);
	const float *gamma = open_row(&b, 0, a->gamma, a->precision, 0);
	float *dx = b.memory + 3 * a->columns;

	(void)part;
	for (uint64_t row = begin; row < end; row++) {
		const float *x = open_row(&b, 1, a->x, a->precision, row),
			    *dy = open_row(&b, 2, a->dy, a->precision, row);
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
	host_parallel(stream, LAYER_NORM_PARTS,
		      1 + ELEMENTS_GRAIN * LAYER_NORM_PARTS / (a.rows * a.columns + 1), parts_slice,
		      &a);
	layer_norm_join_parts(&a, a.dgamma, a.scratch);
	layer_norm_join_parts(&a, a.dbeta, a.scratch + LAYER_NORM_PARTS * a.columns);
	host_parallel(stream, a.rows, elements_grain_rows(a.columns), input_slice, &a);
	return STATUS_OK;
}
HOST_KERNEL(layer_norm_backward)
