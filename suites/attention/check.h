/* Comparison of sampled rows of an attention pass with the reference. */
#ifndef GPUPROOF_SUITES_ATTENTION_CHECK_H
#define GPUPROOF_SUITES_ATTENTION_CHECK_H

#include "measure/run.h"
#include "suites/attention/operands.h"

/* Rows of each of two heads: the first and the last, and others in between. */
#define HEADS 2
#define ROWS 6

/* Computes the case once; records attention.error. STATUS_MISMATCH: above the tolerance. */
enum status attention_verify(struct run *run, struct attention *attention, struct error *err);

#endif
