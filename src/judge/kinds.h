/*
 * Populations of two humps and more: good cards of a model may be of different kinds, and their mean is none of them.
 *
 * The rule. The values (logarithms) are parted at their widest gap, each side with at least 3 of them and a tenth, when the
 * gap is wider than max(2, 40 / n) standard deviations within the two parts, and the parts' means are at least 1 % apart;
 * each part of 8 and more is looked at again. Fewer than 8 values are one kind.
 * Simulated (20,000 populations each; tests/test_population.c repeats some): of one normal kind at most 0.9 % are parted,
 * of Student's t3 1.2 %, of a lognormal with skew 3.7 up to 8 % (n = 24). Of two kinds of 52 cards, 36 to 16, found are
 * 55 % when they are 6 of their standard deviations apart, 89 % at 7 and 99 % at 8. What is not parted counts as one kind with a
 * wide scatter, which widens what is allowed.
 */
#ifndef GPUPROOF_JUDGE_KINDS_H
#define GPUPROOF_JUDGE_KINDS_H

#include <stddef.h>

#define KINDS_MOST 8

struct kind {
	double center;    /* median of the logarithms */
	double deviation; /* robust: 1.4826 times the median distance from it */
	size_t count;
};

struct kinds {
	struct kind items[KINDS_MOST]; /* ascending */
	size_t count;
};

/* `logs`: ascending, n >= 1. */
struct kinds kinds_of(const double *logs, size_t n);

#endif
