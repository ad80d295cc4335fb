/* Reads numbers in the storage types of kernels on the host. */
#ifndef GPUPROOF_KERNELS_STORED_H
#define GPUPROOF_KERNELS_STORED_H

#include "device/backend.h"
#include "kernels/half.h"

/* Element `i`; FP64, FP32 (and TF32), FP16 or BF16. */
static inline double stored_value(const void *memory, enum precision precision, uint64_t i)
{
	switch (precision) {
	case PRECISION_FP64:
		return ((const double *)memory)[i];
	case PRECISION_FP16:
		return (double)half_to_float(((const uint16_t *)memory)[i]);
	case PRECISION_BF16:
		return (double)half_bf16_to_float(((const uint16_t *)memory)[i]);
	default:
		return (double)((const float *)memory)[i];
	}
}

#endif
