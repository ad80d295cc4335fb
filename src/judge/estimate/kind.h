/* How a figure repeats from run to run: what decides it, by its metric and its case. */
#ifndef GPUPROOF_JUDGE_ESTIMATE_KIND_H
#define GPUPROOF_JUDGE_ESTIMATE_KIND_H

#include <stdbool.h>

#include "result/result.h"
#include "stats/repeat.h"

enum figure_kind {
	FIGURE_EXACT,       /* metric_is_exact() */
	FIGURE_BANDWIDTH,   /* memory of a GPU, copies from it, copies between two GPUs */
	FIGURE_PRODUCT,     /* matrix products of a GPU */
	FIGURE_PEAK,        /* arithmetic in registers of a GPU */
	FIGURE_LINK,        /* copies from the host to a GPU */
	FIGURE_LOAD,        /* mean of a load of seconds */
	FIGURE_STEP,        /* training steps, collectives, energies, quotients */
	FIGURE_SMALL_COPY,  /* lasts little longer than what starts it */
	FIGURE_POWER_LIMIT, /* products that last until the power limit sets the clock */
	FIGURE_LAUNCH,      /* kernels that follow each other on a GPU */
	FIGURE_SMALL_LOCAL, /* small copies within a GPU */
	FIGURE_PAGEABLE,    /* copies of pageable memory */
	FIGURE_HOST,        /* calls: CPU and operating system decide their time */
	FIGURE_CPU_WORK,    /* a CPU as the device */
	FIGURE_CPU_CALL,    /* calls with a CPU as the device */
	FIGURE_KINDS
};
enum figure_kind figure_kind_of(const struct metric_value *metric, const struct case_result *c,
				const struct device_info *device); /* device may be NULL */
const char *figure_kind_name(enum figure_kind kind); /* "host call", "bandwidth", ... */
/* FIGURE_KINDS: no kind has this name. */
enum figure_kind figure_kind_named(const char *name);

/* True if the host decides the figure: its launches have several states, some 29 % apart. */
bool figure_is_of_host(enum figure_kind kind);

/*
 * Typical spread of launches of one session; measured in 18 sessions of 10 hosts with H100 and
 * H200, and in 4 sessions of a shared CPU. Of FIGURE_EXACT: none.
 */
struct repeat figure_repeat(enum figure_kind kind);

/*
 * Standard deviation (a ratio) of a figure between sessions without a change, in addition to the
 * spread of the launches of one session; assumed where there is no history. Measured in pairs of
 * sessions of one GPU some minutes apart, guessed for FIGURE_PEAK and FIGURE_LAUNCH.
 */
double figure_visit_spread(enum figure_kind kind);

/* The same of the figure of one session, with the spread of one launch; NaN: FIGURE_KINDS. */
double figure_session_spread(enum figure_kind kind);

/*
 * True if no launch changes it: bytes that were counted rather than timed, errors, shares found. Of
 * several launches the worst one is the figure; nothing is averaged, and there is no interval.
 */
bool metric_is_exact(const struct metric_value *metric);

/*
 * The worst of `n` >= 1 values: the largest where less is better, the smallest where more is, else
 * the median.
 */
double figure_worst_value(const double *values, size_t n, enum better better);

#endif
