/*
 * Quantities that others publish, with the data-sheet value that bounds each. A suite's rows map
 * its metrics to them (sheet_row, result/presentation.h).
 *
 * Adding one: add a row to quantity.c.
 */
#ifndef GPUPROOF_REFERENCE_QUANTITY_H
#define GPUPROOF_REFERENCE_QUANTITY_H

#include <stdbool.h>

#include "result/metric.h"
#include "result/presentation.h"
#include "result/result.h"

/* Name of the quantity for the time of a kernel launch, many in a row. */
#define QUANTITY_LAUNCH_TIME "launch"

struct quantity {
	const char *name; /* "gemm_fp32" */
	const char *unit; /* SI base */
	enum better better;
	const char *title; /* for people */
	const char *group; /* heading in comparisons */
	/* keys of data sheets: the first that exists bounds it; NULL: none */
	const char *peak[2];
	double peak_factor; /* maximum of the quantity in multiples of the peak */
	bool together;      /* sum over the devices of a case: rows differ in their number */
};

extern const struct quantity quantities[]; /* terminated by { 0 } */
const struct quantity *quantity_find(const char *name);

/* The row for a metric of a case on `device` (may be NULL); NULL: none. */
const struct sheet_row *quantity_sheet_row_of_case(const struct sheet_row *rows,
						   const struct case_result *c, const char *metric,
						   const struct device_info *device);
/*
 * The quantity named by the row; if the row names a key, an unnamed quantity bounded by that key.
 */
struct quantity quantity_of_row(const struct sheet_row *row);

#endif
