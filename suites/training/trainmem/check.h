/* Verifies a step's gradients for any method of memory management. */
#ifndef GPUPROOF_TRAINMEM_CHECK_H
#define GPUPROOF_TRAINMEM_CHECK_H

#include "suites/training/parallel/verify/verify.h"
#include "suites/training/trainmem/training.h"

/*
 * Compares one step of a model like `setup` with at most `flops` operations: the trainer of
 * parallel with the double-precision reference, and then `options` with that trainer. *small is the
 * model used; check->gradient_error the larger of both errors. A difference is STATUS_MISMATCH.
 */
enum status check_step(struct device *device, const struct setup *setup,
		       const struct training_options *options, double flops, struct setup *small,
		       struct verify_check *check, struct error *err);

#endif
