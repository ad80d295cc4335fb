/* How a figure repeats: what decides it, by its metric and its case. */
#ifndef GPUPROOF_JUDGE_ESTIMATE_KIND_H
#define GPUPROOF_JUDGE_ESTIMATE_KIND_H

#include <stdbool.h>

#include "result/result.h"

enum figure_kind {
	FIGURE_EXACT, /* metric_is_exact() */
	FIGURE_HOST,  /* a time that CPU and operating system decide; a copy of pageable memory */
	FIGURE_CPU,   /* a rate or time of work on a CPU */
	FIGURE_BANDWIDTH, /* of a GPU's memory, or between two devices */
	FIGURE_PRODUCT,   /* operations per second of a GPU */
	FIGURE_OTHER, /* steps, collectives, what lasts no longer than launching it, quotients */
	FIGURE_KINDS
};
enum figure_kind figure_kind_of(const struct metric_value *metric, const struct case_result *c,
				const struct device_info *device); /* device may be NULL */
const char *figure_kind_name(enum figure_kind kind); /* "host-bound", "bandwidth", ... */

/*
 * Standard deviation (a ratio) of a figure between visits without a change, in addition to the
 * spread of the launches of one visit; assumed where there is no history. On one H100 in a shared
 * machine, five launches a visit: visits two minutes apart gave 12 % for host-bound times, less
 * than 0.1 % for bandwidths and products, 0.4 to 0.7 % for steps and copies of 4 KiB; another pair
 * of visits was up to 1.67 apart in host-bound times, for which 20 % is assumed, and 0.15 % for
 * bandwidths and products, which temperature moves from hour to hour. Those of a CPU are assumed.
 */
double figure_visit_spread(enum figure_kind kind);

/*
 * True if no launch changes it: bytes that were counted rather than timed, errors, shares found. Of
 * several launches the worst one is the figure; nothing is averaged, and there is no interval.
 */
bool metric_is_exact(const struct metric_value *metric);

/*
 * The worst of `n` >= 1 values: the largest where less is better, the smallest where more is, else
 * the median.
 */
double worst_value(const double *values, size_t n, enum better better);

#endif
