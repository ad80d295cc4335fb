/* Compares sampled rows of an attention pass with the reference. */
#ifndef GPUPROOF_SUITES_ATTENTION_CHECK_H
#define GPUPROOF_SUITES_ATTENTION_CHECK_H

#include "measure/run.h"
#include "suites/attention/operands.h"

/* Rows in each of two heads: the first, the last, and some in between. */
#define HEADS 2
#define ROWS 6

/* Runs the case once; records attention.error. STATUS_MISMATCH if it exceeds the tolerance. */
enum status attention_verify(struct run *run, struct attention *attention, struct error *err);

#endif
