/* The part of convolutions that is compiled for compute capability 9.0 alone. */
#ifndef GPUPROOF_KERNELS_CONVOLUTION_CONVOLUTION_WGMMA_H
#define GPUPROOF_KERNELS_CONVOLUTION_CONVOLUTION_WGMMA_H

#include "kernels/convolution/convolution.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * True for FP16 and BF16 with channels and filters in multiples of 8 and strides of 1 and 2; not
 * for depthwise ones. Addresses in multiples of 16 bytes are up to the caller.
 */
bool convolution_wgmma_takes(const struct convolution_shape *shape);
enum status convolution_wgmma_forward(struct stream *stream,
				      const struct convolution_forward_arguments *a,
				      struct error *err);
enum status convolution_wgmma_data_gradient(struct stream *stream,
					    const struct convolution_data_gradient_arguments *a,
					    struct error *err);
/* Only the parts of the sums. */
enum status convolution_wgmma_weight_parts(struct stream *stream,
					   const struct convolution_weight_gradient_arguments *a,
					   struct error *err);

#ifdef __cplusplus
}
#endif

#endif
