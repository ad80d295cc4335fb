#include "kernels/training/training.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "kernels/launch/elements.h"
#include "kernels/launch/host_kernel.h"

#define REAL float
#define LOOP(name) name##_float
#define REAL_EXP expf
#include "kernels/training/reduce_loops.inc"

#define REAL double
#define LOOP(name) name##_double
#define REAL_EXP exp
#include "kernels/training/reduce_loops.inc"

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
			return error_set(err, STATUS_INTERNAL,
					 "softmax_cross_entropy: label %d of row %llu, %llu "
					 "columns",
					 a.labels[row], (unsigned long long)row,
					 (unsigned long long)a.columns);
	}
	host_parallel(stream, a.rows, 1 + elements_grain_rows(a.columns) / 16, softmax_slice, &a);
	return STATUS_OK;
}
HOST_KERNEL(softmax_cross_entropy)
