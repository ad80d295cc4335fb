/*
 * Semaphores in mapped host memory by which streams of several processes wait for each other, and
 * the sum of two ranks' elements: what transports between ranks need in addition to copies.
 *
 * A flag only increases; comparisons allow for wraparound. If the driver supports it, a stream
 * waits without occupying a multiprocessor (stream memory operations); otherwise a one-thread
 * kernel polls the flag.
 */
#ifndef GPUPROOF_DEVICE_CUDA_RANKS_SEMAPHORES_H
#define GPUPROOF_DEVICE_CUDA_RANKS_SEMAPHORES_H

#include "device/ranks/relay.h"
#include "device/cuda/cuda_kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Call once per device before the first wait: tests driver support with the flag at `scratch` (a
 * device address), which is then nonzero, and loads the kernels, which must not happen while a
 * stream waits.
 */
enum status cuda_semaphores_prepare(struct stream *stream, void *scratch, struct error *err);

/* Later work of the stream waits until the flag reaches `value`. */
enum status cuda_semaphore_wait(struct stream *stream, void *flag, unsigned value,
				struct error *err);
/* Sets the flag after all earlier work of the stream, visible to all devices and the host. */
enum status cuda_semaphore_signal(struct stream *stream, void *flag, unsigned value,
				  struct error *err);

/* semaphores.cu */
enum status cuda_semaphore_wait_launch(struct stream *stream, const void *flag, unsigned value,
				       struct error *err);
enum status cuda_semaphore_signal_launch(struct stream *stream, void *flag, unsigned value,
					 struct error *err);
enum status cuda_sum_launch(struct stream *stream, const void *slot, const struct relay_sum *sum,
			    struct error *err);

#ifdef __cplusplus
}
#endif

#endif
