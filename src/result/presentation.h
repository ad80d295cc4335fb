/*
 * How pages show a suite's cases, as data: the rows that a suite's file declares (src/plan/suite.h)
 * and that a result carries, once for each suite. src/report draws from these rows alone and knows
 * no suite, no metric and no parameter by name.
 *
 * Each list ends with a row whose first member is NULL; a list that is NULL has no rows. A name may
 * be that of a metric ("transfer.bandwidth") or of a case's parameter ("direction").
 *
 *	static const struct figure_row figures[] = {
 *		{ .metric = "launch.time", .kind = "lines", .axis = "nodes",
 *		  .facets = { "operation" } },
 *		{ 0 }
 *	};
 *
 * Adding a chart or a table: a row in the suite's file. Adding a kind of chart:
 * src/report/chart/chart.h.
 */
#ifndef GPUPROOF_RESULT_PRESENTATION_H
#define GPUPROOF_RESULT_PRESENTATION_H

#include <stdbool.h>

#include "result/metric.h"

/* Lists of names in the rows below end with NULL, which has to fit as well. */

/*
 * A chart. Without any, a suite's headline metrics are drawn as lines over size, or as bars where
 * nothing is an axis.
 */
struct figure_row {
	const char *metric;
	/*
	 * "lines", "bars", "stacked" (bars in parts), "heatmap" (pairs of devices), "strip"
	 * (samples)
	 */
	const char *kind;
	bool logarithmic; /* the metric's axis, where it helps */
	double reference; /* where bars start; 0: at zero */
	/* parameter along x; NULL: a size that varies, else a number with enough values */
	const char *axis;
	const char *facets[6]; /* one chart for each value of these parameters */
	/* in the title: what is in the chart, where `only` leaves something out; NULL: all */
	const char *of;
	/* a parameter and its values: cases with another one are not in the chart */
	const char *only[12];
	/*
	 * parameters that name a bar, the first its colour; others head groups. None: all name it
	 */
	const char *bars[6];
	/* parameter, value, base value: their ratio is told below the chart */
	const char *compare[4];
	bool fitted;       /* times over sizes, with the latency and bandwidth that they fit */
	const char *parts; /* stacked: metrics whose names begin so add up to the metric */
	/* stacked: a part that another one contains, that other part, and the note that says so */
	const char *overlap[4];
	/* bars: the metric in words, where its title does not say it; NULL: it does */
	const char *means;
	const char *ideal; /* bars: parameter whose number is the best possible value; NULL: none */
	/* heatmap: a parameter and its values for which a pair's two directions are one figure */
	const char *together[8];
};

/* A table: a row for each case that has the first column's metric. */
struct table_row {
	const char *title;
	const char *columns[12]; /* metrics */
	const char *without[4];  /* parameters that the title says */
	const char *note;        /* explains words of the head; NULL: none */
};

/*
 * The data sheet's figure for a metric, by which pages show it in percent, and which a limit means
 * by `peak`: that of a key, or of a quantity that others publish. Of several rows that fit a case
 * the first counts.
 */
struct sheet_row {
	const char *metric;
	const char *only[6];                /* parameters and their values; none: of every case */
	int capability_from, capability_to; /* of the device: 70 = 7.0; 0: any */
	const char *key;                    /* "memory_bandwidth" (configs/gpus) */
	const char *quantity; /* "gemm_fp32" (src/reference/quantity.c), which has its own keys */
	double factor;        /* times the metric; 0: 1 */
	/* of the quantity, as its publications name it: "ResNet-50, FP32"; NULL: none */
	const char *workload;
};

/* A parameter's value as people read it. Without a row, underscores become spaces. */
struct word_row {
	const char *parameter;
	const char *value; /* "*": every value, which takes the place of the '*' in `words` */
	const char *words;
};

/*
 * Metrics, parameters and settings that a section of the page looks for; `value` where the comment
 * names one.
 */
enum role {
	/* Devices of a case with this value are a source and a destination: "cuda:0 → cuda:1". */
	ROLE_ARROW,

	/* Roofline of a device (report/figure/roofline.c). Metrics: */
	ROLE_BANDWIDTH, /* of memory */
	/* of calculation, FLOP/s: of a case without an intensity it is that of arithmetic alone */
	ROLE_RATE,
	ROLE_INTENSITY, /* FLOP/B; or the next two, where each operand moves once */
	ROLE_WORK_TIME,
	ROLE_WORK_BYTES,
	/* a parameter, by which charts of other suites choose colours as well */
	ROLE_PRECISION,

	/* Cases of several nodes together (report/fleet/). Parameters: */
	ROLE_NODES, /* how many nodes were asked for */
	ROLE_ROUND, /* cases of two nodes that differ in it alone are one point over pairs */
	ROLE_RAIL,  /* number of the link, where a case has one of several */
	ROLE_COUNT
};

struct role_row {
	const char *name; /* of the metric, parameter or setting */
	enum role role;
	const char *value;
};

struct presentation {
	const char *suite;
	/* a result has their name, unit, better, title, percent and help */
	const struct metric *metrics;
	const struct figure_row *figures;
	const struct table_row *tables;
	const struct word_row *words;
	const struct role_row *roles;
	const struct sheet_row *sheet;
};

/* NULL: none has it. */
const struct metric *presentation_metric(const struct presentation *p, const char *name);
/* The first row of that role after `after` (NULL: from the start); NULL: there is none. */
const struct role_row *presentation_role(const struct presentation *p, enum role role,
					 const struct role_row *after);

struct result;

/* Adds a copy to the result, unless it has one of that suite. */
void result_present(struct result *result, const struct presentation *p);
/*
 * The suite's rows in the result; NULL: it carries none (an earlier program's result, or an
 * imported one).
 */
const struct presentation *result_presentation(const struct result *result, const char *suite);
/* Frees what was read or copied: not for rows of a suite's file. */
void presentation_release(struct presentation *p);

#endif
