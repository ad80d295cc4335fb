/*
 * A metric: a named quantity with unit and direction; a row of its suite's table
 * (src/plan/suite.h).
 */
#ifndef GPUPROOF_RESULT_METRIC_H
#define GPUPROOF_RESULT_METRIC_H

#include <stdbool.h>

enum better { BETTER_HIGHER, BETTER_LOWER, BETTER_NONE };

/* Determines how a metric varies from run to run (judge/estimate/kind.h). */
enum metric_kind {
	METRIC_TIMED, /* rates and times of a device; by unit: B/s bandwidth, FLOP/s GEMM */
	METRIC_HOST,  /* a time determined by CPU and operating system */
	/* counted or computed, not timed: does not vary between launches; the worst counts */
	METRIC_EXACT,
	/* timed, but not the bandwidth of one memory or link, nor a GEMM: of several devices */
	METRIC_OTHER,
	METRIC_PEAK,    /* arithmetic in registers */
	METRIC_TENSOR,  /* tensor-core GEMMs: meet the power limit if they take long */
	METRIC_LINK,    /* a host-to-device copy */
	METRIC_LOCAL,   /* a copy within a device */
	METRIC_LAUNCH,  /* the time between kernels on the device */
	METRIC_PAGEABLE /* a copy of pageable memory, through the CPU */
};

/* Kind of a metric in cases where a parameter has this value. */
struct metric_kind_row {
	const char *parameter, *value;
	enum metric_kind kind;
};

struct metric {
	const char *name; /* "transfer.bandwidth": suite.metric */
	const char *unit; /* SI base: "B/s", "s", "FLOP/s", "B", "1" (a ratio) */
	enum better better;
	int headline;     /* 1: the suite's headline metric, shown first and in charts */
	const char *help; /* one line: its definition */
	/* default METRIC_TIMED; metrics in bytes that are not timed are always exact */
	enum metric_kind kind;
	/* "bus bandwidth"; NULL: the name's part after the suite, with spaces for underscores */
	const char *title;
	bool percent; /* a ratio that pages show in percent */
	/*
	 * Kinds by parameter, terminated by an empty row; the first match takes precedence over
	 * `kind`.
	 */
	const struct metric_kind_row *kinds;
};

#endif
