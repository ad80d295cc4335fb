/*
 * Has the level of a series settled? Mann's test for a trend (Mann, Econometrica 13, 1945; Kendall,
 * Rank Correlation Methods) with the variance that autocorrelated noise gives it, and the size of
 * the change.
 *
 * A series drifts when both hold:
 * - its level changed by more than SETTLING_CHANGE and by more than `target`, the half width that
 *   the interval is to have: the median of the last third against that of the first;
 * - samples in random order would show such a trend in less than 1 of 100 series. The variance of
 *   Mann's S is multiplied by (1 + r) / (1 - r), r being the lag-1 autocorrelation of what an
 *   isotonic regression leaves: a smooth rise leaves nothing, noise with memory keeps its memory.
 *   Series longer than SETTLING_BLOCKS are tested by the medians of as many blocks.
 */
#ifndef GPUPROOF_MEASURE_SAMPLING_SETTLING_H
#define GPUPROOF_MEASURE_SAMPLING_SETTLING_H

#include <stdbool.h>
#include <stddef.h>

#define SETTLING_CHANGE 0.01
#define SETTLING_BLOCKS 64

/* Samples in the order they were taken. Fewer than six are too few: false. */
bool settling_drifts(const double *samples, size_t n, double target);

#endif
