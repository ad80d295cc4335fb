/* Rank tests for two samples: Mann-Whitney (1947), Hodges-Lehmann (1963). */
#ifndef GPUPROOF_STATS_RANK_H
#define GPUPROOF_STATS_RANK_H

#include <stdbool.h>
#include <stddef.h>

/*
 * P(U <= u) of the Mann-Whitney statistic for samples of m and n values from one distribution
 * without ties. Exact while orders are countable (up to at least 50 values in total; 5 against
 * 1,000); beyond, the normal approximation with continuity correction. The approximation is several
 * times too large if one sample is small.
 */
double stats_rank_mann_whitney_probability(size_t m, size_t n, size_t u);

/*
 * Shift from `a` to `b`: median of all differences b - a, and the interval that leaves out `tail`
 * on either side (0.025: two-sided 95 %). False, with a NaN interval, if no such interval exists; a
 * side with fewer than four values is not accepted.
 */
bool stats_rank_shift_between(const double *a, size_t m, const double *b, size_t n, double tail,
			      double *shift, double *low, double *high);

/*
 * Shift from `n` differences of pairs: median of their pairwise means, with the interval of the
 * signed ranks (Wilcoxon 1945). It exists from six pairs on for 0.025 on either side, from five for
 * 0.05.
 */
bool stats_rank_shift_of_pairs(const double *differences, size_t n, double tail, double *shift,
			       double *low, double *high);

#endif
