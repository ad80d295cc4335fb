/* Kinds of metrics by how much they vary from run to run, derived from metric and case. */
#ifndef GPUPROOF_JUDGE_ESTIMATE_KIND_H
#define GPUPROOF_JUDGE_ESTIMATE_KIND_H

#include <stdbool.h>

#include "result/result.h"
#include "stats/repeat.h"

enum figure_kind {
	FIGURE_EXACT,       /* figure_kind_metric_is_exact() */
	FIGURE_BANDWIDTH,   /* memory of a GPU, device-to-host copies, copies between two GPUs */
	FIGURE_PRODUCT,     /* GEMMs of a GPU */
	FIGURE_PEAK,        /* register-only arithmetic of a GPU */
	FIGURE_LINK,        /* host-to-device copies */
	FIGURE_LOAD,        /* mean over seconds of load */
	FIGURE_STEP,        /* training steps, collectives, energies, ratios of metrics */
	FIGURE_SMALL_COPY,  /* not much longer than its own start */
	FIGURE_POWER_LIMIT, /* GEMMs long enough for the power limit to set the clock */
	FIGURE_LAUNCH,      /* back-to-back kernels on a GPU */
	FIGURE_SMALL_LOCAL, /* small copies within a GPU */
	FIGURE_PAGEABLE,    /* copies of pageable memory */
	FIGURE_HOST,        /* calls whose time depends on CPU and operating system */
	FIGURE_CPU_WORK,    /* the device is a CPU */
	FIGURE_CPU_CALL,    /* calls; the device is a CPU */
	FIGURE_KINDS
};
enum figure_kind figure_kind_of(const struct metric_value *metric, const struct case_result *c,
				const struct device_info *device); /* device may be NULL */
const char *figure_kind_name(enum figure_kind kind); /* "host call", "bandwidth", ... */
/* FIGURE_KINDS if no kind has this name. */
enum figure_kind figure_kind_named(const char *name);

/* True if the host determines the metric. Its launches have several modes, up to 29 % apart. */
bool figure_kind_is_of_host(enum figure_kind kind);

/*
 * Typical variation between launches of one session, measured in 18 sessions of 10 hosts with H100
 * and H200, and in 4 sessions of a shared CPU. None for FIGURE_EXACT.
 */
struct repeat figure_kind_repeat(enum figure_kind kind);

/*
 * Standard deviation (a ratio) of an unchanged metric between sessions, in addition to the
 * variation between launches. Assumed if there is no history. Measured in pairs of sessions of one
 * GPU some minutes apart; guessed for FIGURE_PEAK and FIGURE_LAUNCH.
 */
double figure_kind_visit_spread(enum figure_kind kind);

/* Standard deviation between sessions of one launch each; NaN for FIGURE_KINDS. */
double figure_kind_session_spread(enum figure_kind kind);

/*
 * True if the metric does not vary between launches: counted bytes, errors, shares found. The worst
 * launch is its value. Launches are not averaged, and there is no interval.
 */
bool figure_kind_metric_is_exact(const struct metric_value *metric);

/*
 * Worst of `n` >= 1 values: the largest if lower is better, the smallest if higher is better, else
 * the median.
 */
double figure_kind_worst_value(const double *values, size_t n, enum better better);

#endif
