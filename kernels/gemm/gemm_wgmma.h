/* The part of gemm_tensor compiled only for compute capability 9.0. */
#ifndef GPUPROOF_KERNELS_GEMM_GEMM_WGMMA_H
#define GPUPROOF_KERNELS_GEMM_GEMM_WGMMA_H

#include "kernels/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * True if TMA can read these matrices: addresses and leading dimensions in multiples of
 * 16 bytes.
 */
bool gemm_wgmma_takes(const struct gemm *gemm);
enum status gemm_wgmma_launch(struct stream *stream, const struct gemm *gemm, struct error *err);

#ifdef __cplusplus
}
#endif

#endif
