/*
 * Finds groups (modes) in a population: devices of one model may form several groups, and their
 * mean belongs to none.
 *
 * Method: the values (logarithms) are split at their widest gap if each side has at least 3 values
 * and a tenth of all, the gap is wider than max(2, 40 / n) standard deviations within the two
 * parts, and the means of the parts are at least 1 % apart. Each part of 8 or more is split again
 * in the same way. Fewer than 8 values are one group. Simulations (tests/unit/stats/test_kinds.c,
 * 20,000 populations each of 8 to 100 GPUs that vary by 1 %): a single normal group is split in at
 * most 0.7 %, Student's t3 in 0.9 %, a lognormal with skew 3.7 in up to 8 % (n = 24). Two groups of
 * 36 and 16 GPUs are found in 60 % if they are 6 of their standard deviations apart, in 91 % at 7
 * and in 99 % at 8. Values that cannot be split count as one wide group, which widens the allowed
 * deviation.
 */
#ifndef GPUPROOF_STATS_KINDS_H
#define GPUPROOF_STATS_KINDS_H

#include <stddef.h>

#define KINDS_MOST 8

struct kind {
	double center; /* median of the logarithms in the group */
	size_t count;
};

struct kinds {
	struct kind items[KINDS_MOST]; /* ascending */
	size_t count;
	/* pooled standard deviation within the groups; 0: only single values */
	double deviation;
	double dof; /* its degrees of freedom: values - groups */
};

/* `logs`: ascending, n >= 1. */
struct kinds kinds_of(const double *logs, size_t n);

#endif
