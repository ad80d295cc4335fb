/*
 * Interval for the level of repeated runs, from the launches of one metric.
 *
 * Few launches do not show how launches vary, and a single launch shows nothing. Their variance is
 * therefore moderated by the typical one of metrics of the same kind (Smyth, Stat. Appl. Genet.
 * Mol. Biol. 3, 2004): s² = (V s0² + (n-1) s1²) / (V + n-1), with Student's t of V + n-1
 * degrees of freedom.
 */
#ifndef GPUPROOF_STATS_REPEAT_H
#define GPUPROOF_STATS_REPEAT_H

#include <stdbool.h>
#include <stddef.h>

/* Weight of the typical variation, in degrees of freedom. */
#define REPEAT_WEIGHT 3

struct repeat {
	double spread; /* typical standard deviation between launches, of logarithms */
	/* launches have several modes: the interval also covers the outermost launches */
	bool states;
};

struct repeat_interval {
	double center;    /* Hodges-Lehmann estimate */
	double low, high; /* on the log scale, as the center */
};

/*
 * `logs`: logarithms of n >= 1 launches. `probability`: of each bound alone, 0.975 for a two-sided
 * 95 % interval. `sample_half`: half-width that the samples add for a single launch, at the same
 * probability; with several launches, their variation includes it.
 */
struct repeat_interval repeat_interval(const double *logs, size_t n, const struct repeat *repeat,
				       double probability, double sample_half);

/*
 * k such that the k-th smallest and k-th largest of n launches enclose the median of any
 * distribution with at least 93 % probability (sign test); 0 for n < 3.
 */
size_t repeat_order(size_t n);

/*
 * Median of the pairwise means, including each value with itself (Hodges & Lehmann, Ann. Math.
 * Statist. 34, 1963): robust, and 96 % as efficient as the mean.
 */
double stats_repeat_hodges_lehmann(const double *values, size_t n);

/* Variance of the Hodges-Lehmann estimate / variance of the mean, for normal values. */
#define HODGES_LEHMANN_VARIANCE (3.14159265358979323846 / 3)

#endif
