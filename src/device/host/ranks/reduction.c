/* Adds the ranks' tensors element by element. */
#include <string.h>

#include "device/host/ranks/communicator.h"
#include "device/ranks/relay.h"
#include "kernels/launch/elements.h"
#include "device/host/host_kernel.h"

#define REDUCTION_LOOPS(type)                                                           \
	HOST_VECTORISED                                                                 \
	static void add_##type(type *sum, const type *x, size_t count)                  \
	{                                                                               \
		for (size_t i = 0; i < count; i++)                                      \
			sum[i] += x[i];                                                 \
	}                                                                               \
	HOST_VECTORISED                                                                 \
	static void max_##type(type *most, const type *x, size_t count)                 \
	{                                                                               \
		for (size_t i = 0; i < count; i++)                                      \
			most[i] = x[i] > most[i] ? x[i] : most[i];                      \
	}                                                                               \
	HOST_VECTORISED                                                                 \
	static void divide_##type(type *sum, type by, size_t count)                     \
	{                                                                               \
		for (size_t i = 0; i < count; i++)                                      \
			sum[i] /= by;                                                   \
	}                                                                               \
	HOST_VECTORISED                                                                 \
	static void mix_##type(type *to, const type *x, type x_factor, const type *y,   \
			       type y_factor, size_t count)                             \
	{                                                                               \
		for (size_t i = 0; i < count; i++)                                      \
			to[i] = x_factor * x[i] + y_factor * y[i];                      \
	}                                                                               \
	HOST_VECTORISED                                                                 \
	static void larger_##type(type *to, const type *x, const type *y, size_t count) \
	{                                                                               \
		for (size_t i = 0; i < count; i++)                                      \
			to[i] = x[i] > y[i] ? x[i] : y[i];                              \
	}
REDUCTION_LOOPS(float)
REDUCTION_LOOPS(double)

static void reduce_fp64(double *to, const void *const *from, int size, size_t first, size_t count,
			enum reduction reduction)
{
	memcpy(to + first, (const double *)from[0] + first, count * sizeof(*to));
	for (int rank = 1; rank < size; rank++) {
		if (reduction == REDUCE_MAX)
			max_double(to + first, (const double *)from[rank] + first, count);
		else
			add_double(to + first, (const double *)from[rank] + first, count);
	}
	if (reduction == REDUCE_AVERAGE)
		divide_double(to + first, size, count);
}

void reduce_elements(void *to, const void *const *from, int size, size_t first, size_t count,
		     enum precision precision, enum reduction reduction)
{
	uint64_t end = first + count;

	if (precision == PRECISION_FP64) {
		reduce_fp64(to, from, size, first, count, reduction);
		return;
	}
	FOR_BLOCKS (at, length, first, end) {
		float sum[ELEMENTS_BLOCK], buffer[ELEMENTS_BLOCK];

		/* FP32 for all narrower types. */
		memcpy(sum, elements_open(from[0], precision, at, length, buffer),
		       length * sizeof(*sum));
		for (int rank = 1; rank < size; rank++) {
			const float *x = elements_open(from[rank], precision, at, length, buffer);

			if (reduction == REDUCE_MAX)
				max_float(sum, x, length);
			else
				add_float(sum, x, length);
		}
		if (reduction == REDUCE_AVERAGE)
			divide_float(sum, (float)size, length);
		elements_store(to, precision, at, length, sum);
	}
}

static void add_fp64(const struct relay_sum *sum, const double *slot)
{
	if (sum->larger)
		larger_double(sum->to, slot, sum->own, sum->count);
	else
		mix_double(sum->to, slot, sum->slot_factor, sum->own, sum->own_factor, sum->count);
}

void reduction_add_elements(const struct relay_sum *sum, const void *slot)
{
	if (sum->precision == PRECISION_FP64) {
		add_fp64(sum, slot);
		return;
	}
	FOR_BLOCKS (at, length, 0, sum->count) {
		float to[ELEMENTS_BLOCK], theirs[ELEMENTS_BLOCK], mine[ELEMENTS_BLOCK];
		const float *x = elements_open(slot, sum->precision, at, length, theirs),
			    *y = elements_open(sum->own, sum->precision, at, length, mine);

		if (sum->larger)
			larger_float(to, x, y, length);
		else
			mix_float(to, x, (float)sum->slot_factor, y, (float)sum->own_factor,
				  length);
		elements_store(sum->to, sum->precision, at, length, to);
	}
}
