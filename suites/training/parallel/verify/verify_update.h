/* Verifies that the optimizer moved the parameters as its formula says. */
#ifndef GPUPROOF_SUITES_TRAINING_PARALLEL_VERIFY_VERIFY_UPDATE_H
#define GPUPROOF_SUITES_TRAINING_PARALLEL_VERIFY_VERIFY_UPDATE_H

#include "suites/training/parallel/trainer/trainer.h"

/*
 * Two optimizer updates from the gradients that are there, each parameter against the formula in
 * double precision, on every rank for its own parameters; and that 16-bit copies are the rounded
 * master weights. Collective.
 */
enum status verify_update(struct trainer *trainer, struct error *err);

#endif
