/* Launches one attention pass, with the fused kernel or the library's GEMMs. Asynchronous. */
#ifndef GPUPROOF_SUITES_ATTENTION_LAUNCH_H
#define GPUPROOF_SUITES_ATTENTION_LAUNCH_H

#include "suites/attention/operands.h"

enum status attention_launch_fused(const struct attention *attention, enum pass pass,
				   struct error *err);
/* The case's pass and implementation. */
enum status attention_launch(const struct attention *attention, struct error *err);

/* Factor on scores and derived values that prevents FP16 overflow. */
double attention_score_factor(const struct attention *attention);
double attention_sum_factor(const struct attention *attention);

#endif
