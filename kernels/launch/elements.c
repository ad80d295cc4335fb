#include "kernels/launch/elements.h"

#include <string.h>

#include "kernels/half.h"
#include "device/host/host_kernel.h"

HOST_VECTORISED
static void elements_load_fp16(float *to, const uint16_t *from, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++)
		to[i] = half_to_float(from[i]);
}

HOST_VECTORISED
static void elements_load_bf16(float *to, const uint16_t *from, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++)
		to[i] = half_bf16_to_float(from[i]);
}

HOST_VECTORISED
static void elements_store_fp16(uint16_t *to, const float *from, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++)
		to[i] = half_from_float(from[i]);
}

HOST_VECTORISED
static void elements_store_bf16(uint16_t *to, const float *from, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++)
		to[i] = half_bf16_from_float(from[i]);
}

void elements_from_16(float *to, const uint16_t *from, uint64_t count, enum precision precision)
{
	if (precision == PRECISION_FP16)
		elements_load_fp16(to, from, count);
	else
		elements_load_bf16(to, from, count);
}

void elements_to_16(uint16_t *to, const float *from, uint64_t count, enum precision precision)
{
	if (precision == PRECISION_FP16)
		elements_store_fp16(to, from, count);
	else
		elements_store_bf16(to, from, count);
}

float *elements_open(const void *tensor, enum precision precision, uint64_t first, uint64_t count,
		     float *buffer)
{
	if (precision_bytes(precision) == 4)
		return (float *)tensor + first;
	elements_from_16(buffer, (const uint16_t *)tensor + first, count, precision);
	return buffer;
}

void elements_close(void *tensor, enum precision precision, uint64_t first, uint64_t count,
		    const float *values)
{
	if (precision_bytes(precision) == 2)
		elements_to_16((uint16_t *)tensor + first, values, count, precision);
}

void elements_store(void *tensor, enum precision precision, uint64_t first, uint64_t count,
		    const float *values)
{
	if (precision == PRECISION_FP64) {
		for (uint64_t i = 0; i < count; i++)
			((double *)tensor)[first + i] = (double)values[i];
	} else if (precision_bytes(precision) == 4) {
		memmove((float *)tensor + first, values, count * sizeof(*values));
	} else {
		elements_to_16((uint16_t *)tensor + first, values, count, precision);
	}
}
