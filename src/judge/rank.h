/* Two samples compared by ranks: Mann & Whitney 1947, Hodges & Lehmann 1963. */
#ifndef GPUPROOF_JUDGE_RANK_H
#define GPUPROOF_JUDGE_RANK_H

#include <stdbool.h>
#include <stddef.h>

/*
 * P(U <= u) of the Mann-Whitney statistic of samples of m and n from one distribution without ties: exact as far as the
 * orders can be counted (at least 50 values in all; 5 against 1,000), by the normal approximation with continuity
 * correction beyond. The approximation is several times too large where one sample is small.
 */
double mann_whitney_probability(size_t m, size_t n, size_t u);

/*
 * The shift from `a` to `b`: the median of all differences b - a, and its two-sided 95 % interval. False, and
 * NaNs for the interval, where no such interval exists: fewer than four values on either side are not taken.
 */
bool shift_between(const double *a, size_t m, const double *b, size_t n, double *shift, double *low,
		   double *high);

#endif
