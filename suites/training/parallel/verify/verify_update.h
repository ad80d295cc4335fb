/* Verifies that the optimizer updated the parameters by its formula. */
#ifndef GPUPROOF_SUITES_TRAINING_PARALLEL_VERIFY_VERIFY_UPDATE_H
#define GPUPROOF_SUITES_TRAINING_PARALLEL_VERIFY_VERIFY_UPDATE_H

#include "suites/training/parallel/trainer/trainer.h"

/*
 * Runs two optimizer updates with the current gradients and compares each parameter with the
 * formula in double precision, on every rank for its own parameters; also checks that 16-bit copies
 * are the rounded master weights. Collective.
 */
enum status verify_update(struct trainer *trainer, struct error *err);

#endif
