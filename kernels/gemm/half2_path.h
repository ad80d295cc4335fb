/* Rate of FP16 pair multiply-adds by the device's architecture, for the record of code paths. */
#ifndef GPUPROOF_KERNELS_GEMM_HALF2_PATH_H
#define GPUPROOF_KERNELS_GEMM_HALF2_PATH_H

#include "device/device_info.h"

/*
 * CUDA C++ Programming Guide, throughput of native arithmetic instructions: 16-bit over 32-bit
 * floating point.
 */
static inline const char *half2_path(const struct device_info *info)
{
	switch (info->capability_major * 10 + info->capability_minor) {
	case 61:
		return "FP16 pairs, by design at 1/64 of the FP32 rate";
	case 80:
		return "FP16 pairs, by design at four times the FP32 rate";
	case 86:
	case 89:
		return "FP16 pairs, by design at the FP32 rate";
	case 53:
	case 60:
	case 62:
	case 70:
	case 72:
	case 75:
	case 90:
		return "FP16 pairs, by design at twice the FP32 rate";
	default:
		return "FP16 pairs";
	}
}

#endif
