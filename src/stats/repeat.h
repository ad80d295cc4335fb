/*
 * The interval that holds the level of repeated runs, from the launches of one figure.
 *
 * Few launches say little about their own spread, and one says nothing. Their variance is therefore
 * moderated by the typical one of figures of the same kind (Smyth, Stat. Appl. Genet. Mol. Biol. 3,
 * 2004): s² = (V s0² + (n-1) s1²) / (V + n-1), with Student's t of V + n-1 degrees of freedom.
 */
#ifndef GPUPROOF_STATS_REPEAT_H
#define GPUPROOF_STATS_REPEAT_H

#include <stdbool.h>
#include <stddef.h>

/* Degrees of freedom that the typical spread counts for. */
#define REPEAT_WEIGHT 3

struct repeat {
	double spread; /* typical standard deviation of the logs of launches */
	/* launches have several states: the interval reaches the outermost launches, too */
	bool states;
};

struct repeat_interval {
	double center;    /* Hodges-Lehmann estimate */
	double low, high; /* log scale, as the center */
};

/*
 * `logs`: logarithms of n >= 1 launches. `probability`: of either bound by itself, 0.975 for a
 * two-sided 95 % interval. `sample_half`: half width that the samples of a single launch add, at
 * the same probability; of several launches it is part of their spread.
 */
struct repeat_interval repeat_interval(const double *logs, size_t n, const struct repeat *repeat,
				       double probability, double sample_half);

/* Standard deviation of the logs of n launches, moderated; 0 where nothing is known. */
double repeat_deviation(const double *logs, size_t n, const struct repeat *repeat);

/*
 * k, so that the k-th smallest and k-th largest of n launches enclose the median of any
 * distribution in 93 % of cases or more (sign test); 0 for n < 3, which are too few.
 */
size_t repeat_order(size_t n);

/*
 * Median of the pairwise means, each value with itself too (Hodges & Lehmann, Ann. Math. Statist.
 * 34, 1963): robust, and 96 % as efficient as the mean.
 */
double hodges_lehmann(const double *values, size_t n);

/* Variance of the Hodges-Lehmann estimate over that of the mean, for normal values. */
#define HODGES_LEHMANN_VARIANCE (3.14159265358979323846 / 3)

#endif
