/* NVML: telemetry, and device properties that the CUDA runtime lacks. */
#ifndef GPUPROOF_DEVICE_CUDA_NVML_H
#define GPUPROOF_DEVICE_CUDA_NVML_H

#include "device/cuda/library.h"
#include "device/cuda/nvml_abi.h"

struct nvml_functions {
#define NVML(required, name, parameters) int(*name) parameters;
#include "device/cuda/nvml.def"
#undef NVML
	const char *(*nvmlErrorString)(int result);
};

extern struct library nvml_library;
extern struct nvml_functions nvml;

/* Opens and initialises NVML once; STATUS_UNSUPPORTED with the reason if it is missing. */
enum status nvml_open(struct error *err);

/*
 * NVML's handle of the device at the PCI address, not of the same index, because
 * CUDA_VISIBLE_DEVICES renumbers CUDA's devices. NULL: unknown.
 */
nvmlDevice_t nvml_device(const char *pci);

/* True if the driver's NVML has the function and it succeeds for this device. */
#define NVML_OK(function, ...) (nvml.function && nvml.function(__VA_ARGS__) == NVML_SUCCESS)

#endif
