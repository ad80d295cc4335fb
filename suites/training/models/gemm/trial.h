/*
 * Times several candidates for the same computation and returns the fastest on this device. Not
 * collective; waits for the stream.
 */
#ifndef GPUPROOF_SUITES_TRAINING_MODELS_GEMM_TRIAL_H
#define GPUPROOF_SUITES_TRAINING_MODELS_GEMM_TRIAL_H

#include "device/backend.h"

#define TRIAL_MAX_CANDIDATES 4

/* Enqueues candidate 0 to candidates - 1 on the stream. */
typedef enum status trial_fn(void *context, size_t candidate, struct error *err);

/*
 * Alternates between at most TRIAL_MAX_CANDIDATES candidates; of equally fast ones the first wins.
 */
enum status trial_select(struct stream *stream, size_t candidates, trial_fn *run, void *context,
			 size_t *fastest, struct error *err);

#endif
