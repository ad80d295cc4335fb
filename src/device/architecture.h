/*
 * Abilities of NVIDIA's GPUs by their compute capability (major * 10 + minor: 37 is 3.7), and how
 * the library multiplies there. Tables without a GPU: the CUDA backend asks them, and tests replay
 * each architecture with them.
 */
#ifndef GPUPROOF_DEVICE_ARCHITECTURE_H
#define GPUPROOF_DEVICE_ARCHITECTURE_H

#include "device/backend.h"

/* The part of enum device_capability that the capability decides. */
unsigned architecture_capabilities(int capability);

/*
 * cublasGemmEx refuses devices before 5.0; there FP16 goes through cublasSgemmEx, which stores FP16
 * and calculates in FP32, one product at a time.
 */
bool architecture_stores_half_only(int capability, enum precision precision);

/* Code path of the library's GEMM there, for results: "cublasGemmEx, with tensor cores". */
const char *architecture_gemm_path(int capability, enum precision precision);

static inline int device_capability_number(const struct device_info *info)
{
	return info->capability_major * 10 + info->capability_minor;
}

#endif
