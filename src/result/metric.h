/*
 * A metric: a named quantity with unit and direction; a row of its suite's table
 * (src/plan/suite.h).
 */
#ifndef GPUPROOF_RESULT_METRIC_H
#define GPUPROOF_RESULT_METRIC_H

#include <stdbool.h>

enum better { BETTER_HIGHER, BETTER_LOWER, BETTER_NONE };

/* Decides how a metric repeats from run to run (judge/estimate/kind.h). */
enum metric_kind {
	METRIC_TIMED, /* rates and times of a device; by unit: B/s bandwidth, FLOP/s products */
	METRIC_HOST,  /* a time that the CPU and the operating system decide */
	/* counted or computed, not timed: no launch changes it, the worst one counts */
	METRIC_EXACT,
	/* timed, but neither one memory's or link's bandwidth nor a product: of several devices */
	METRIC_OTHER,
	METRIC_PEAK,    /* arithmetic in registers */
	METRIC_TENSOR,  /* matrix products of tensor cores: meet the power limit when they last */
	METRIC_LINK,    /* a copy from the host to a device */
	METRIC_LOCAL,   /* a copy within a device */
	METRIC_LAUNCH,  /* the time between kernels on the device */
	METRIC_PAGEABLE /* a copy of pageable memory, which passes through the CPU */
};

/* The kind of a metric in cases with a parameter of this value. */
struct metric_kind_row {
	const char *parameter, *value;
	enum metric_kind kind;
};

struct metric {
	const char *name; /* "transfer.bandwidth": suite.metric */
	const char *unit; /* SI base: "B/s", "s", "FLOP/s", "B", "1" (a ratio) */
	enum better better;
	int headline;     /* 1: the suite's main figure, shown first and charted */
	const char *help; /* one line: its definition */
	/* left out: METRIC_TIMED; what is in bytes and was not timed is exact anyhow */
	enum metric_kind kind;
	/* "bus bandwidth"; NULL: the name's part after the suite, with spaces for underscores */
	const char *title;
	bool percent; /* a part of one, which pages show in percent */
	/* Kinds by parameter, ended by an empty row; the first that fits outranks `kind`. */
	const struct metric_kind_row *kinds;
};

#endif
