/*
 * Shift between the levels of earlier and later nights, on the log scale.
 *
 * Few nights do not show how nights vary, and a single night shows nothing. Their variance is
 * therefore moderated by the typical one of metrics of that kind (Smyth, Stat. Appl. Genet. Mol.
 * Biol. 3, 2004), which counts as REPEAT_WEIGHT degrees of freedom. Consecutive nights are
 * correlated: with a correlation of rho (AR(1)) the mean of n nights has the variance
 *
 *	sigma^2 g(n),  g(n) = (1 + rho) / (1 - rho) / n - 2 rho (1 - rho^n) / (n (1 - rho))^2
 *
 * their sum of squares about it has the mean sigma^2 n (1 - g(n)), and n - 1 of them are worth (1 -
 * rho^2) / (1 + rho^2) times as many degrees of freedom (Bayley & Hammersley 1946).
 */
#ifndef GPUPROOF_STATS_LEVEL_H
#define GPUPROOF_STATS_LEVEL_H

#include <stddef.h>

struct level_input {
	const double *logs;   /* `before` nights, followed by `after` nights */
	size_t before, after; /* at least 1 */
	double rho;           /* 0 to below 1 */
	double typical;       /* standard deviation of one night; NaN: unknown */
};

struct level_shift {
	double value;          /* later level - earlier level, winsorized */
	double error, freedom; /* error NaN: the variation is unknown */
};

struct level_shift level_shift(const struct level_input *in);

/*
 * One-sided p-value: probability of a shift this far from 0 if the true one is `limit` on the same
 * side; 1 if it does not exceed the limit, or the variation is unknown.
 */
double level_probability(const struct level_shift *shift, double limit);

/* Half-width of its two-sided 95 % interval; NaN: unknown. */
double level_half(const struct level_shift *shift);

#endif
