/*
 * Which of several ways to compute the same thing is the fastest on this device, by doing each. For
 * steps that no other rank takes part in: it waits for the stream.
 */
#ifndef GPUPROOF_SUITES_MLP_GEMM_TRIAL_H
#define GPUPROOF_SUITES_MLP_GEMM_TRIAL_H

#include "device/backend.h"

#define TRIAL_MAX_WAYS 4

/* Enqueues way `way`, 0 to ways - 1, on the stream. */
typedef enum status trial_fn(void *context, struct stream *stream, size_t way, struct error *err);

/* At most TRIAL_MAX_WAYS ways, in turns; of equal ones the first. */
enum status trial_fastest(struct stream *stream, size_t ways, trial_fn *run, void *context,
			  size_t *fastest, struct error *err);

#endif
