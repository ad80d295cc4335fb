/* The part of peak_tensor compiled only for compute capability 9.0. */
#ifndef GPUPROOF_KERNELS_PEAK_PEAK_WGMMA_H
#define GPUPROOF_KERNELS_PEAK_PEAK_WGMMA_H

#include "kernels/peak/peak.h"

#ifdef __cplusplus
extern "C"
#endif
	enum status
	peak_wgmma_launch(struct stream *stream, const struct peak_tensor_arguments *arguments,
			  struct error *err);

#endif
