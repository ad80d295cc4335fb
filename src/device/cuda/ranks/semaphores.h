/* Kernels of channels.c: a thread that waits for a flag, one that sets it, and a sum. */
#ifndef GPUPROOF_DEVICE_CUDA_RANKS_SEMAPHORES_H
#define GPUPROOF_DEVICE_CUDA_RANKS_SEMAPHORES_H

#include "device/ranks/relay.h"
#include "device/cuda/cuda_kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

enum status cuda_semaphore_wait_launch(struct stream *stream, const void *flag, unsigned value,
				       struct error *err);
enum status cuda_semaphore_signal_launch(struct stream *stream, void *flag, unsigned value,
					 struct error *err);
enum status semaphores_sum_launch(struct stream *stream, const void *slot,
				  const struct relay_sum *sum, struct error *err);

#ifdef __cplusplus
}
#endif

#endif
