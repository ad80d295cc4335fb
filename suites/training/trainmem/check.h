/* Verifies a step's gradients, however its memory is managed. */
#ifndef GPUPROOF_TRAINMEM_CHECK_H
#define GPUPROOF_TRAINMEM_CHECK_H

#include "suites/training/parallel/verify/verify.h"
#include "suites/training/trainmem/training.h"

/*
 * One step of a model of at most `flops` operations like `setup`: the trainer of parallel
 * against the double-precision reference, and then `options` against that trainer. *small is the
 * model followed; check->gradient_error the larger of both. A difference is STATUS_MISMATCH.
 */
enum status check_step(struct device *device, const struct setup *setup,
		       const struct training_options *options, double flops, struct setup *small,
		       struct verify_check *check, struct error *err);

#endif
