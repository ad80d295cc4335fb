/* Two samples compared by ranks: Mann & Whitney 1947, Hodges & Lehmann 1963. */
#ifndef GPUPROOF_STATS_RANK_H
#define GPUPROOF_STATS_RANK_H

#include <stdbool.h>
#include <stddef.h>

/*
 * P(U <= u) of the Mann-Whitney statistic of samples of m and n from one distribution without ties:
 * exact as far as the orders can be counted (at least 50 values in all; 5 against 1,000), by the
 * normal approximation with continuity correction beyond. The approximation is several times too
 * large where one sample is small.
 */
double mann_whitney_probability(size_t m, size_t n, size_t u);

/*
 * The shift from `a` to `b`: the median of all differences b - a, and the interval that leaves out
 * `tail` on either side (0.025: two-sided 95 %). False, and NaNs for the interval, where no such
 * interval exists: fewer than four values on either side are not taken.
 */
bool shift_between(const double *a, size_t m, const double *b, size_t n, double tail, double *shift,
		   double *low, double *high);

/*
 * The same of `n` differences of pairs: the median of their pairwise means, with the interval of
 * the signed ranks (Wilcoxon 1945). For 0.025 on either side there is one from six pairs on, for
 * 0.05 from five.
 */
bool shift_of_pairs(const double *differences, size_t n, double tail, double *shift, double *low,
		    double *high);

#endif
