/*
 * How far one side's launches are from the other's, on the log scale: the Hodges-Lehmann estimate,
 * its intervals, and how probable it is when the truth is no farther than a margin.
 *
 * Two sources of error: launches of one session differ, which the launches show, and sessions
 * differ, which they cannot show. The 95 % interval of the first is that of the ranks (exact for
 * launches of any shape that are independent), of pairs where both sides took turns; it is widened
 * by the second, assumed or learnt (kind.h, history_spread.h).
 *
 * Few launches say little about their own spread, so that the typical one of the kind moderates it
 * in `error` (Smyth 2004, as in stats/repeat.h): s² = (V s0² + squares) / (V + m + n - 2), with the
 * degrees of freedom of Welch (1947) and Satterthwaite (1946). Below FEWEST_LAUNCHES all intervals
 * are made of it.
 */
#ifndef GPUPROOF_COMPARE_SHIFT_H
#define GPUPROOF_COMPARE_SHIFT_H

#include <stdbool.h>
#include <stddef.h>

#define FEWEST_LAUNCHES 4 /* on either side, for a change that is certain */

struct shift_input {
	const double *a, *b; /* logarithms, one per launch, so turned that more is worse */
	size_t a_count, b_count;
	bool turns;           /* a[i] and b[i] followed each other */
	double launch_spread; /* typical standard deviation between launches (kind.h) */
	/* half width of a 95 % interval that the samples of single launches show; 0: none */
	double few_half;
	/* of launches in a row, or pairs: by this factor is their error larger; 1: none */
	double resemblance;
	double visit_spread;  /* of one session */
	double visit_freedom; /* degrees of freedom it is known with; INFINITY: assumed */
};

struct shift {
	double value;
	double low, high;           /* 95 % */
	double low_each, high_each; /* 95 % on either side by itself, for two tests of one side */
	bool shown;                 /* false: too few launches for a change that is certain */
	double spread;              /* standard deviation of one launch; NaN: too few */
	double error, freedom;      /* standard error of value */
};

struct shift shift_measure(const struct shift_input *input);

/*
 * The smallest margin, as a logarithm, within which a figure that did not change is found in nine
 * of ten comparisons, and which it has to leave in one of twenty.
 */
double shift_margin(const struct shift *shift);

/*
 * P(a shift as large as this or larger) when the true one is `limit`; 1 where too few launches show
 * nothing.
 */
double shift_probability_above(const struct shift *shift, double limit);

/*
 * Launches a side with which a figure that did not change is found to be within `margin` in four of
 * five comparisons; 0: no number of them is enough, as sessions differ too much.
 */
size_t shift_launches_needed(double spread, double resemblance, double visit_spread, double margin);

#endif
