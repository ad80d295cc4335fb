/*
 * Hodges-Lehmann shift between two sets of launches, on the log scale: estimate, interval, and
 * p-value against a margin.
 *
 * There are two sources of error. Launches of one session vary, which the launches show. Sessions
 * vary, which they cannot show. The 95 % interval for the first comes from ranks (exact for
 * independent launches of any distribution), or from the ranks of pairs if both sides were
 * interleaved. It is widened by the variation between sessions, which is assumed or learnt (kind.h,
 * history/trend.h).
 *
 * Few launches do not show how launches vary, so `error` moderates their variance by the typical
 * one (Smyth 2004, as in stats/repeat.h): s² = (V s0² + squares) / (V + m + n - 2), with the
 * degrees of freedom of Welch (1947) and Satterthwaite (1946). Below FEWEST_LAUNCHES all intervals
 * use it.
 */
#ifndef GPUPROOF_STATS_SHIFT_H
#define GPUPROOF_STATS_SHIFT_H

#include <stdbool.h>
#include <stddef.h>

#define FEWEST_LAUNCHES 4 /* per side, for a certain change */

struct shift_input {
	const double *a, *b; /* logarithms, one per launch, oriented so that more is worse */
	size_t a_count, b_count;
	bool turns;           /* a[i] and b[i] ran one after the other */
	double launch_spread; /* typical standard deviation between launches (kind.h) */
	/* half-width of the 95 % interval that the samples of single launches give; 0: none */
	double few_half;
	/* factor by which autocorrelation of launches (or pairs) enlarges their error; 1: none */
	double resemblance;
	double visit_spread;  /* standard deviation between sessions */
	double visit_freedom; /* degrees of freedom of visit_spread; INFINITY: assumed */
};

struct shift {
	double value;
	double low, high;           /* 95 % */
	double low_each, high_each; /* one-sided 95 % bounds, for two one-sided tests */
	bool shown;                 /* false: too few launches for a certain change */
	double spread;              /* standard deviation between launches; NaN: too few */
	double error, freedom;      /* standard error of the value, and its degrees of freedom */
};

struct shift shift_measure(const struct shift_input *input);

/*
 * Equivalence margin, as a logarithm: the smallest within which an unchanged metric is found
 * UNCHANGED in nine of ten comparisons, at an error of one in twenty.
 */
double shift_margin(const struct shift *shift);

/*
 * P-value: probability of a shift this large or larger if the true one is `limit`; 1 if there are
 * too few launches.
 */
double shift_probability_above(const struct shift *shift, double limit);

/*
 * Launches per side with which an unchanged metric is UNCHANGED within `margin` in four of five
 * comparisons; 0: no number is enough, because sessions vary too much.
 */
size_t shift_launches_needed(double spread, double resemblance, double visit_spread, double margin);

#endif
