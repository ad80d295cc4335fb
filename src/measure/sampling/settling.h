/*
 * Tests if the level of a series has settled: Mann's trend test (Mann, Econometrica 13, 1945;
 * Kendall, Rank Correlation Methods) with a variance for autocorrelated noise, and the size of the
 * change.
 *
 * A series drifts if both are true:
 * - its level changed by more than SETTLING_CHANGE and by more than `target`, the intended
 *   half-width of the interval, from the median of the first third to that of the last;
 * - samples in random order would show such a trend in fewer than 1 of 100 series. The variance of
 *   Mann's S is multiplied by (1 + r) / (1 - r), where r is the lag-1 autocorrelation of the
 *   residuals of an isotonic regression: a smooth rise leaves no residuals, correlated noise stays
 *   correlated. Series longer than SETTLING_BLOCKS are tested by the medians of that many blocks.
 */
#ifndef GPUPROOF_MEASURE_SAMPLING_SETTLING_H
#define GPUPROOF_MEASURE_SAMPLING_SETTLING_H

#include <stdbool.h>
#include <stddef.h>

#define SETTLING_CHANGE 0.01
#define SETTLING_BLOCKS 64

/* `samples` in time order. Returns false for fewer than six. */
bool settling_drifts(const double *samples, size_t n, double target);

#endif
