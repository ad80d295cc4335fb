/* One pass of attention, by the fused kernel or by the library's products. Asynchronous. */
#ifndef GPUPROOF_SUITES_ATTENTION_LAUNCH_H
#define GPUPROOF_SUITES_ATTENTION_LAUNCH_H

#include "suites/attention/operands.h"

enum status attention_launch_fused(const struct attention *attention, enum pass pass,
				   struct error *err);
/* The case's own pass and implementation. */
enum status attention_launch(const struct attention *attention, struct error *err);

/* The factor of scores, and of what is made of them, so that FP16 overflows nowhere. */
double attention_score_factor(const struct attention *attention);
double attention_sum_factor(const struct attention *attention);

#endif
