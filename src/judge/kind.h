/* How a figure repeats: what decides it, by its metric and its case. */
#ifndef GPUPROOF_JUDGE_KIND_H
#define GPUPROOF_JUDGE_KIND_H

#include <stdbool.h>

#include "result/result.h"

/*
 * Whether no launch changes it: bytes that were counted rather than timed, errors, shares found. Of several launches the
 * worst one is the figure; nothing is averaged, and there is no interval.
 */
bool metric_is_exact(const struct metric_value *metric);

/* The worst of `n` >= 1 values: the largest where less is better, the smallest where more is, else the median. */
double worst_value(const double *values, size_t n, enum better better);

#endif
