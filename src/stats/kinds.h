/*
 * Samples of two humps and more: devices of one model may be of different kinds, and their mean is
 * none of them.
 *
 * The rule. The values (logarithms) are parted at their widest gap, each side with at least 3 of
 * them and a tenth, when the gap is wider than max(2, 40 / n) standard deviations within the two
 * parts, and the parts' means are at least 1 % apart; each part of 8 and more is looked at again.
 * Fewer than 8 values are one kind.
 * Simulated (tests/unit/stats/test_kinds.c, 20,000 populations each of 8 to 100 cards that
 * scatter by 1 %): of one normal kind at most 0.7 % are parted, of Student's t3 0.9 %, of a
 * lognormal with skew 3.7 up to 8 % (n = 24). Of two kinds of 52 cards, 36 to 16, found are 60 %
 * when they are 6 of their standard deviations apart, 91 % at 7 and 99 % at 8. What is not parted
 * counts as one kind with a wide scatter, which widens what is allowed.
 */
#ifndef GPUPROOF_STATS_KINDS_H
#define GPUPROOF_STATS_KINDS_H

#include <stddef.h>

#define KINDS_MOST 8

struct kind {
	double center; /* median of the logarithms */
	size_t count;
};

struct kinds {
	struct kind items[KINDS_MOST]; /* ascending */
	size_t count;
	/* standard deviation within the kinds, of all together; 0: of single values */
	double deviation;
	double dof; /* degrees of freedom of it: values less kinds */
};

/* `logs`: ascending, n >= 1. */
struct kinds kinds_of(const double *logs, size_t n);

#endif
