#include "kernels/training/training.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "kernels/launch/elements.h"
#include "device/host/host_kernel.h"

#define REAL float
#define LOOP(name) name##_float
#define REAL_EXP expf
#include "kernels/training/reduce_loops.inc"

#define REAL double
#define LOOP(name) name##_double
#define REAL_EXP exp
#include "kernels/training/reduce_loops.inc"

static void reduce_host_softmax_slice(void *context, unsigned part, uint64_t begin, uint64_t end)
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
			return error_set(err, STATUS_INTERNAL,
					 "softmax_cross_entropy: label %d of row %llu, %llu "
					 "columns",
					 a.labels[row], (unsigned long long)row,
					 (unsigned long long)a.columns);
	}
	host_stream_parallel(stream, a.rows, 1 + elements_grain_rows(a.columns) / 16,
			     reduce_host_softmax_slice, &a);
	return STATUS_OK;
}
HOST_KERNEL(softmax_cross_entropy)

/* Combined statistics of a whole row. */
static struct softmax_statistics
reduce_host_softmax_joined(const struct softmax_gradient_arguments *a, uint64_t row)
{
	struct softmax_statistics all = a->statistics[row];

	for (unsigned p = 1; p < a->parts; p++)
		all.highest = fmax(all.highest, a->statistics[p * a->part.rows + row].highest);
	all.sum = all.target = 0;
	for (unsigned p = 0; p < a->parts; p++) {
		const struct softmax_statistics *s = &a->statistics[p * a->part.rows + row];

		all.sum += s->sum * exp(s->highest - all.highest);
		all.target += s->target;
	}
	return all;
}

/* The label's column in this part; at least `columns` if it is in another one. */
static uint64_t reduce_host_part_label(const struct softmax_part *part, uint64_t row)
{
	return (uint64_t)part->labels[row] - part->first;
}

static void reduce_host_statistics_slice(void *context, unsigned part, uint64_t begin, uint64_t end)
{
	const struct softmax_statistics_arguments *a = context;
	float *buffer = precision_bytes(a->part.precision) == 2
				? xmalloc(a->part.columns * sizeof(*buffer))
				: NULL;

	(void)part;
	for (uint64_t row = begin; row < end; row++) {
		uint64_t at = row * a->part.columns, label = reduce_host_part_label(&a->part, row);
		struct softmax_statistics *out = &a->statistics[row];

		if (a->part.precision == PRECISION_FP64) {
			const double *logits = (const double *)a->part.logits + at;

			softmax_part_double(logits, a->part.columns, out);
			out->target = label < a->part.columns ? logits[label] : 0;
		} else {
			const float *logits = elements_open(a->part.logits, a->part.precision, at,
							    a->part.columns, buffer);

			softmax_part_float(logits, a->part.columns, out);
			out->target = label < a->part.columns ? (double)logits[label] : 0;
		}
	}
	free(buffer);
}

static void reduce_host_gradient_slice(void *context, unsigned part, uint64_t begin, uint64_t end)
{
	const struct softmax_gradient_arguments *a = context;
	float *buffer = precision_bytes(a->part.precision) == 2
				? xmalloc(a->part.columns * sizeof(*buffer))
				: NULL;

	(void)part;
	for (uint64_t row = begin; row < end; row++) {
		uint64_t at = row * a->part.columns, label = reduce_host_part_label(&a->part, row);
		struct softmax_statistics all = reduce_host_softmax_joined(a, row);
		float *logits;

		a->row_loss[row] = log(all.sum) + all.highest - all.target;
		if (a->part.precision == PRECISION_FP64) {
			softmax_part_gradient_double((double *)a->part.logits + at, a->part.columns,
						     label, all.highest, all.sum,
						     a->gradient_scale);
			continue;
		}
		logits = elements_open(a->part.logits, a->part.precision, at, a->part.columns,
				       buffer);
		softmax_part_gradient_float(logits, a->part.columns, label, (float)all.highest,
					    (float)all.sum, (float)a->gradient_scale);
		elements_close(a->part.logits, a->part.precision, at, a->part.columns, logits);
	}
	free(buffer);
}

static enum status softmax_statistics_run(struct stream *stream, const void *arguments,
					  struct error *err)
{
	struct softmax_statistics_arguments a =
		*(const struct softmax_statistics_arguments *)arguments;

	(void)err;
	if (a.part.columns > 0)
		host_stream_parallel(stream, a.part.rows,
				     1 + elements_grain_rows(a.part.columns) / 16,
				     reduce_host_statistics_slice, &a);
	return STATUS_OK;
}
HOST_KERNEL(softmax_statistics)

static enum status softmax_gradient_run(struct stream *stream, const void *arguments,
					struct error *err)
{
	struct softmax_gradient_arguments a = *(const struct softmax_gradient_arguments *)arguments;

	(void)err;
	if (a.loss_scale)
		a.gradient_scale *= (double)a.loss_scale->scale;
	if (a.part.columns > 0)
		host_stream_parallel(stream, a.part.rows,
				     1 + elements_grain_rows(a.part.columns) / 16,
				     reduce_host_gradient_slice, &a);
	return STATUS_OK;
}
HOST_KERNEL(softmax_gradient)
