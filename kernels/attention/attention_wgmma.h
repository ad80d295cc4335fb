/* The part of attention compiled only for compute capability 9.0. */
#ifndef GPUPROOF_KERNELS_ATTENTION_ATTENTION_WGMMA_H
#define GPUPROOF_KERNELS_ATTENTION_ATTENTION_WGMMA_H

#include "kernels/attention/attention.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * True for FP16 and BF16 and heads of 64 and 128 elements; the caller checks that addresses and
 * lines are multiples of 16 bytes.
 */
bool attention_wgmma_takes(const struct attention_shape *shape);
enum status attention_wgmma_forward(struct stream *stream,
				    const struct attention_forward_arguments *a, struct error *err);
/* Call after `delta` has been computed. */
enum status attention_wgmma_backward(struct stream *stream,
				     const struct attention_backward_arguments *a,
				     struct error *err);

#ifdef __cplusplus
}
#endif

#endif
