/* Adding up the ranks' tensors element by element. */
#include <string.h>

#include "device/host/communicator.h"
#include "device/host/elements.h"
#include "device/host/host_kernel.h"

#define REDUCTION_LOOPS(type)                                                                      \
	HOST_VECTORISED                                                                            \
	static void add_##type(type *sum, const type *x, size_t count)                             \
	{                                                                                          \
		for (size_t i = 0; i < count; i++)                                                 \
			sum[i] += x[i];                                                            \
	}                                                                                          \
	HOST_VECTORISED                                                                            \
	static void max_##type(type *most, const type *x, size_t count)                            \
	{                                                                                          \
		for (size_t i = 0; i < count; i++)                                                 \
			most[i] = x[i] > most[i] ? x[i] : most[i];                                 \
	}                                                                                          \
	HOST_VECTORISED                                                                            \
	static void divide_##type(type *sum, type by, size_t count)                                \
	{                                                                                          \
		for (size_t i = 0; i < count; i++)                                                 \
			sum[i] /= by;                                                              \
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

/* FP32 for everything narrower. */
static void reduce_block(void *to, const void *const *from, int size, size_t first, size_t count,
			 enum precision precision, enum reduction reduction)
{
	float sum[ELEMENTS_BLOCK], buffer[ELEMENTS_BLOCK];

	memcpy(sum, elements_open(from[0], precision, first, count, buffer), count * sizeof(*sum));
	for (int rank = 1; rank < size; rank++) {
		const float *x = elements_open(from[rank], precision, first, count, buffer);

		if (reduction == REDUCE_MAX)
			max_float(sum, x, count);
		else
			add_float(sum, x, count);
	}
	if (reduction == REDUCE_AVERAGE)
		divide_float(sum, (float)size, count);
	elements_store(to, precision, first, count, sum);
}

void reduce_elements(void *to, const void *const *from, int size, size_t first, size_t count,
		     enum precision precision, enum reduction reduction)
{
	uint64_t end = first + count;

	if (precision == PRECISION_FP64) {
		reduce_fp64(to, from, size, first, count, reduction);
		return;
	}
	FOR_BLOCKS (at, length, first, end)
		reduce_block(to, from, size, at, length, precision, reduction);
}
