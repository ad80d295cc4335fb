/*
 * Features of NVIDIA GPUs by compute capability (major * 10 + minor: 37 is 3.7), and how the
 * library computes a GEMM on them. Tables without a GPU: the CUDA backend uses them, and tests
 * emulate each architecture with them.
 */
#ifndef GPUPROOF_DEVICE_ARCHITECTURE_H
#define GPUPROOF_DEVICE_ARCHITECTURE_H

#include "device/backend.h"

/* The part of enum device_capability that depends on the compute capability. */
unsigned architecture_capabilities(int capability);

/*
 * cublasGemmEx rejects devices before 5.0; there FP16 uses cublasSgemmEx, which stores FP16 and
 * computes in FP32, one GEMM at a time.
 */
bool architecture_stores_half_only(int capability, enum precision precision);

/*
 * Code path of the library's GEMM on this architecture, for results: "cublasGemmEx, with tensor
 * cores".
 */
const char *architecture_gemm_path(int capability, enum precision precision);

static inline int architecture_capability_number(const struct device_info *info)
{
	return info->capability_major * 10 + info->capability_minor;
}

#endif
