/* Names of precisions and allocators in INI files and reports. */
#include <string.h>

#include "device/backend.h"

static const struct {
	const char *name;
	size_t bytes, result_bytes;
	unsigned capability;
} precisions[PRECISION_GEMM_COUNT] = {
	[PRECISION_FP64] = { "fp64", 8, 8, DEVICE_HAS_FP64 },
	[PRECISION_FP32] = { "fp32", 4, 4, DEVICE_HAS_FP32 },
	[PRECISION_TF32] = { "tf32", 4, 4, DEVICE_HAS_TF32 },
	[PRECISION_FP16] = { "fp16", 2, 2, DEVICE_HAS_FP16 },
	[PRECISION_BF16] = { "bf16", 2, 2, DEVICE_HAS_BF16 },
	[PRECISION_FP16_ACC16] = { "fp16_acc16", 2, 2, DEVICE_HAS_FP16_ACC16 },
	[PRECISION_FP8] = { "fp8", 1, 2, DEVICE_HAS_FP8 },
	[PRECISION_INT8] = { "int8", 1, 4, DEVICE_HAS_INT8 },
};

static const struct {
	const char *name;
	bool on_device;
} allocators[ALLOCATOR_COUNT] = {
#define X(symbol, name, on_device, description) [ALLOCATOR_##symbol] = { name, on_device },
	ALLOCATORS(X)
#undef X
};

size_t precision_bytes(enum precision precision)
{
	return precisions[precision].bytes;
}

size_t precision_result_bytes(enum precision precision)
{
	return precisions[precision].result_bytes;
}

const char *precision_name(enum precision precision)
{
	return precisions[precision].name;
}

unsigned precision_capability(enum precision precision)
{
	return precisions[precision].capability;
}

bool precision_from_name(const char *name, enum precision *out)
{
	for (int i = 0; i < PRECISION_GEMM_COUNT; i++) {
		if (strcmp(name, precisions[i].name) == 0) {
			*out = (enum precision)i;
			return true;
		}
	}
	return false;
}

const char *allocator_name(enum allocator allocator)
{
	return allocators[allocator].name;
}

bool allocator_from_name(const char *name, enum allocator *out)
{
	for (int i = 0; i < ALLOCATOR_COUNT; i++) {
		if (strcmp(name, allocators[i].name) == 0) {
			*out = (enum allocator)i;
			return true;
		}
	}
	return false;
}

bool allocator_on_device(enum allocator allocator)
{
	return allocators[allocator].on_device;
}
