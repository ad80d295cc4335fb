/*
 * How far the level of later nights is from that of earlier ones, on the log scale.
 *
 * Few nights say little about their own spread, and one says nothing: their variance is moderated
 * by the typical one of figures of the kind (Smyth, Stat. Appl. Genet. Mol. Biol. 3, 2004), which
 * counts as REPEAT_WEIGHT degrees of freedom. Nights resemble the ones before: with a correlation
 * of rho (AR(1)) the mean of n nights has the variance
 *
 *	sigma^2 g(n),  g(n) = (1 + rho) / (1 - rho) / n - 2 rho (1 - rho^n) / (n (1 - rho))^2
 *
 * their squares around it have the mean sigma^2 n (1 - g(n)), and n - 1 of them are worth (1 -
 * rho^2) / (1 + rho^2) times as many degrees of freedom (Bayley & Hammersley 1946).
 */
#ifndef GPUPROOF_STATS_LEVEL_H
#define GPUPROOF_STATS_LEVEL_H

#include <stddef.h>

struct level_input {
	const double *logs;   /* of `before` nights, and of `after` nights that follow them */
	size_t before, after; /* 1 at least */
	double rho;           /* 0 to below 1 */
	double typical;       /* standard deviation of one night; NaN: unknown */
};

struct level_shift {
	double value;          /* level after less level before; wild nights are drawn in */
	double error, freedom; /* error NaN: nothing is known of the spread */
};

struct level_shift level_shift(const struct level_input *in);

/*
 * P(a shift as far from 0 as this on its side) where the true one is `limit` on that side; 1 where
 * it is not beyond the limit or nothing is known of the spread. One-sided.
 */
double level_probability(const struct level_shift *shift, double limit);

/* Half of its two-sided 95 % interval; NaN: unknown. */
double level_half(const struct level_shift *shift);

#endif
