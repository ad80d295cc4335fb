/* Adds the ranks' tensors element by element. */
#include "device/host/ranks/communicator.h"
#include "device/ranks/relay.h"
#include "kernels/launch/elements.h"
#include "device/host/host_kernel.h"

#define REDUCTION_LOOPS(type)                                                           \
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
