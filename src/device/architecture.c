#include "device/architecture.h"

#include "base/memory.h"

unsigned architecture_capabilities(int capability)
{
	static const struct {
		int since;
		unsigned capability;
	} table[] = {
		{ 0, DEVICE_HAS_FP64 | DEVICE_HAS_FP32 | DEVICE_HAS_FP16 },
		{ 53, DEVICE_HAS_FP16_ACC16 },
		{ 61, DEVICE_HAS_INT8 },
		{ 80, DEVICE_HAS_TF32 | DEVICE_HAS_BF16 },
		{ 89, DEVICE_HAS_FP8 },
	};
	unsigned mask = 0;

	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		if (capability >= table[i].since)
			mask |= table[i].capability;
	return mask;
}

bool architecture_stores_half_only(int capability, enum precision precision)
{
	return precision == PRECISION_FP16 && capability < 50;
}

const char *architecture_gemm_path(int capability, enum precision precision)
{
	bool wide = precision == PRECISION_FP32 || precision == PRECISION_FP64;

	if (architecture_stores_half_only(capability, precision))
		return "cublasSgemmEx: FP16 storage, FP32 arithmetic";
	if (precision == PRECISION_FP16 && capability < 70)
		return "cublasGemmEx: FP16 storage, FP32 arithmetic";
	/* Tensor cores after Volta support integers. */
	if (wide || capability < (precision == PRECISION_INT8 ? 72 : 70))
		return "cublasGemmEx";
	return "cublasGemmEx, with tensor cores";
}
