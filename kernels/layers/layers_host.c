/* Activations, residual additions and embeddings on the CPU. */
#include "kernels/layers/layers.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "kernels/launch/elements.h"
#include "device/host/host_kernel.h"
#include "kernels/layers/activation.h"

/* Columns [column, column + count) of a row. */
static void activate(const struct activation_forward_arguments *a, uint64_t row, uint64_t column,
		     uint64_t count)
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

static void activation_slice(void *context, unsigned part, uint64_t begin, uint64_t end)
{
	const struct activation_forward_arguments *a = context;

	(void)part;
	for (uint64_t row = begin; row < end; row++)
		FOR_BLOCKS (column, count, 0, a->columns)
			activate(a, row, column, count);
}

static enum status activation_forward_run(struct stream *stream, const void *arguments,
					  struct error *err)
{
	struct activation_forward_arguments a =
		*(const struct activation_forward_arguments *)arguments;

	if (layer_check("activation_forward", a.precision, err) != STATUS_OK)
		return err->status;
	host_parallel(stream, a.rows, elements_grain_rows(a.columns), activation_slice, &a);
	return STATUS_OK;
}
HOST_KERNEL(activation_forward)

static void layers_gradient_slice(void *context, unsigned part, uint64_t begin, uint64_t end)
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
	host_parallel(stream, a.count, ELEMENTS_GRAIN, layers_gradient_slice, &a);
	return STATUS_OK;
}
HOST_KERNEL(activation_backward)

static void add_slice(void *context, unsigned part, uint64_t begin, uint64_t end)
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
	host_parallel(stream, a.count, ELEMENTS_GRAIN, add_slice, &a);
	return STATUS_OK;
}
HOST_KERNEL(residual_add)

static void gather_slice(void *context, unsigned part, uint64_t begin, uint64_t end)
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
	host_parallel(stream, a.count, elements_grain_rows(a.columns), gather_slice, &a);
	return STATUS_OK;
}
HOST_KERNEL(embedding_gather)

/* Sorts the positions by id and then by position, and finds the start of each row's. */
static void sort_places(const struct embedding_scatter_add_arguments *a)
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

static void scatter_slice(void *context, unsigned part, uint64_t begin, uint64_t end)
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
	sort_places(&a);
	host_parallel(stream, a.rows, elements_grain_rows(a.columns), scatter_slice, &a);
	return STATUS_OK;
}
HOST_KERNEL(embedding_scatter_add)
