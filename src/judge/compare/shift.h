/*
 * How far one side's launches are from the other's, on the log scale: the estimate, its intervals,
 * and how probable it is when the truth is no farther than a margin.
 *
 * Two sources of error: launches of one visit differ, which the launches show, and visits differ,
 * which they cannot show. The interval of the first is that of the ranks (exact for launches of any
 * shape that are independent), of pairs where both sides took turns; it is widened by the second,
 * assumed or learnt (kind.h, history_spread.h). Launches taken in turns belong to one visit.
 */
#ifndef GPUPROOF_JUDGE_COMPARE_SHIFT_H
#define GPUPROOF_JUDGE_COMPARE_SHIFT_H

#include <stdbool.h>
#include <stddef.h>

#define FEWEST_LAUNCHES 4 /* on either side; fewer show nothing of their own spread */

struct shift_input {
	const double *a, *b; /* logarithms, one per launch, so turned that more is worse */
	size_t a_count, b_count;
	bool turns;           /* a[i] and b[i] followed each other */
	double launch_spread; /* taken for granted between launches */
	/* half width of the interval where there are too few launches to show one */
	double few_half;
	/* of launches in a row, or pairs: by this factor is their error larger; 1: none */
	double resemblance;
	double visit_spread;  /* of one visit */
	double visit_freedom; /* degrees of freedom it is known with; INFINITY: assumed */
};

struct shift {
	double value;
	double low, high;           /* 95 % */
	double low_each, high_each; /* 95 % on either side by itself, for two tests of one side */
	bool shown; /* false: too few launches; the intervals take the usual spread for granted */
	double spread; /* standard deviation of one launch; NaN: too few */
	/* standard error of value, with what is taken for granted at least */
	double error, freedom;
};

struct shift shift_measure(const struct shift_input *input);

/*
 * P(a shift as large as this or larger) when the true one is `limit`; 1 where too few launches show
 * nothing.
 */
double shift_probability_above(const struct shift *shift, double limit);

/*
 * Launches a side with which a figure that did not change is found to be within `margin` in four of
 * five comparisons; 0: no number of them is enough, as visits differ too much.
 */
size_t shift_launches_needed(double spread, double resemblance, double visit_spread, double margin);

#endif
