/*
 * Flags in mapped host memory by which streams of several processes wait for each other, and the
 * sum of two ranks' elements: what transfers between ranks need in addition to copies.
 *
 * A flag is a number that only rises; comparisons allow for its wrapping. Where the driver can, a
 * stream waits without holding a multiprocessor (stream memory operations); else a kernel of one
 * thread looks at the flag.
 */
#ifndef GPUPROOF_DEVICE_CUDA_RANKS_SEMAPHORES_H
#define GPUPROOF_DEVICE_CUDA_RANKS_SEMAPHORES_H

#include "device/ranks/relay.h"
#include "device/cuda/cuda_kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Once for each device before the first wait: finds out what the driver can, with the flag at
 * `scratch` (device address), which is then not 0, and loads the kernels, which must not happen
 * while a stream waits.
 */
enum status cuda_semaphores_prepare(struct stream *stream, void *scratch, struct error *err);

/* Later work of the stream waits until the flag has reached `value`. */
enum status cuda_semaphore_wait(struct stream *stream, void *flag, unsigned value,
				struct error *err);
/* Sets it when all before in the stream is done, and seen by every device and the host. */
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
