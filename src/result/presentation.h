/*
 * Presentation of a suite's cases on pages, as data: rows that a suite's file declares
 * (src/plan/suite.h) and that each result carries once per suite. src/report draws from these rows
 * and knows no suite, metric or parameter by name.
 *
 * Each list ends with a row whose first member is NULL; a NULL list has no rows. A name refers to a
 * metric ("transfer.bandwidth") or a parameter of the case ("direction").
 *
 *	static const struct figure_row figures[] = {
 *		{ .metric = "launch.time", .kind = "lines", .axis = "nodes",
 *		  .facets = { "operation" } },
 *		{ 0 }
 *	};
 *
 * Adding a chart or a table: add a row to the suite's file. Adding a type of chart: see
 * src/report/chart/chart.h.
 */
#ifndef GPUPROOF_RESULT_PRESENTATION_H
#define GPUPROOF_RESULT_PRESENTATION_H

#include <stdbool.h>

#include "result/metric.h"

/* Arrays are NULL-terminated; keep one slot free. */

/*
 * A chart. Without any, the suite's headline metrics become lines over size, or bars if there is no
 * axis.
 */
struct figure_row {
	const char *metric;
	/*
	 * "lines", "bars", "stacked" (bars in parts), "heatmap" (pairs of devices), "strip"
	 * (samples)
	 */
	const char *kind;
	bool logarithmic; /* logarithmic axis of the metric if useful */
	double reference; /* value at which bars start; 0: at zero */
	/* parameter on the x axis; NULL: a size that varies, else a number with enough values */
	const char *axis;
	const char *facets[6]; /* one chart per combination of values of these parameters */
	/* content of the chart, for its title, if `only` leaves something out; NULL: everything */
	const char *of;
	/* a parameter and its values; cases with other values are not in the chart */
	const char *only[12];
	/*
	 * parameters that name a bar, the first sets its colour, others head groups; none: all
	 * parameters name it
	 */
	const char *bars[6];
	/* parameter, value, base value: their ratio is stated below the chart */
	const char *compare[4];
	bool fitted;       /* times over sizes, with a fit of latency and bandwidth */
	const char *parts; /* stacked: prefix of the metrics that add up to the metric */
	/* stacked: a part contained in another part, that other part, and a note about it */
	const char *overlap[4];
	/* bars: description of the metric, if the title does not contain it; NULL */
	const char *means;
	const char *ideal; /* bars: parameter with the best possible value; NULL: none */
	/* heatmap: a parameter and its values for which both directions of a pair are one value */
	const char *together[8];
};

/* A table: one row per case that has the metric of the first column. */
struct table_row {
	const char *title;
	const char *columns[12]; /* metrics */
	const char *without[4];  /* parameters that the title contains */
	const char *note;        /* explains terms of the header; NULL: none */
};

/*
 * Reference value of a metric from the data sheet, for percentages on pages and for `peak` in
 * limits: by key, or by a published quantity. The first row that matches a case is used.
 */
struct sheet_row {
	const char *metric;
	const char *only[6];                /* parameters and their values; none: every case */
	int capability_from, capability_to; /* compute capability of the device: 70 = 7.0; 0: any */
	const char *key;                    /* "memory_bandwidth" (configs/gpus) */
	const char *quantity; /* "gemm_fp32" (src/reference/quantity.c), which has its own keys */
	double factor;        /* factor on the metric; 0: 1 */
	/* workload of the quantity as in its publications: "ResNet-50, FP32"; NULL: none */
	const char *workload;
};

/* Display text for a parameter's value. Without a row, underscores become spaces. */
struct word_row {
	const char *parameter;
	const char *value; /* "*": every value; it replaces the '*' in `words` */
	const char *words;
};

/* Role of a metric, parameter or setting in a section of the page; some roles have a `value`. */
enum role {
	ROLE_NONE, /* of a newer program */
	/* The devices of a case with this value are source and destination: "cuda:0 → cuda:1". */
	ROLE_ARROW,

	/* Roofline of a device (report/figure/roofline.c). Metrics: */
	ROLE_BANDWIDTH, /* of memory */
	/* arithmetic rate, FLOP/s; for a case without an intensity, the peak rate */
	ROLE_RATE,
	ROLE_INTENSITY, /* FLOP/B; or the next two roles, where each operand moves once */
	ROLE_WORK_TIME,
	ROLE_WORK_BYTES,
	/* a parameter; charts of other suites also choose colours by it */
	ROLE_PRECISION,

	/* Multi-node cases (report/fleet/). Parameters: */
	ROLE_NODES, /* requested number of nodes */
	ROLE_ROUND, /* cases of two nodes that differ only in this are one point over pairs */
	ROLE_RAIL,  /* number of the link, if a case measures one of several */
	ROLE_COUNT
};

struct role_row {
	const char *name; /* name of the metric, parameter or setting */
	enum role role;
	const char *value;
};

struct presentation {
	const char *suite;
	/* a result stores their name, unit, better, title, percent and help */
	const struct metric *metrics;
	const struct figure_row *figures;
	const struct table_row *tables;
	const struct word_row *words;
	const struct role_row *roles;
	const struct sheet_row *sheet;
};

/* NULL: unknown metric. */
const struct metric *presentation_metric(const struct presentation *p, const char *name);
/* The next row of that role after `after` (NULL: the first); NULL: none. */
const struct role_row *presentation_role(const struct presentation *p, enum role role,
					 const struct role_row *after);

struct result;

/* Adds a copy to the result unless it has one for the suite. */
void result_present(struct result *result, const struct presentation *p);
/* The suite's rows in the result; NULL: none (an earlier version, or an imported result). */
const struct presentation *result_presentation(const struct result *result, const char *suite);
/* Frees rows that were read or copied, not those of a suite's file. */
void presentation_release(struct presentation *p);

#endif
