/*
 * Quantities that others publish, with the data sheet's figure that bounds each. Which metric of
 * gpuproof is one of them says a row of its suite (sheet_row, result/presentation.h).
 *
 * Adding one: a row in quantity.c.
 */
#ifndef GPUPROOF_REFERENCE_QUANTITY_H
#define GPUPROOF_REFERENCE_QUANTITY_H

#include <stdbool.h>

#include "result/metric.h"
#include "result/presentation.h"
#include "result/result.h"

/* The name of the quantity: the time of a kernel launch, many in a row. */
#define QUANTITY_LAUNCH_TIME "launch"

struct quantity {
	const char *name; /* "gemm_fp32" */
	const char *unit; /* SI base */
	enum better better;
	const char *title; /* for people */
	const char *group; /* heading in comparisons */
	/* keys of data sheets: the first that is there; NULL: nothing bounds it */
	const char *peak[2];
	double peak_factor; /* how many times the peak it may reach */
	/*
	 * the key of an efficiency, whose rate over the power limit is the data sheet's; no bound,
	 * since work may take less power. NULL: it is no efficiency
	 */
	const char *rate;
	bool together; /* of all devices of a case: rows differ in their number */
};

extern const struct quantity quantities[]; /* ends with { 0 } */
const struct quantity *quantity_find(const char *name);

/* The row for a metric of a case on `device` (may be NULL); NULL: there is none. */
const struct sheet_row *sheet_row_of_case(const struct sheet_row *rows, const struct case_result *c,
					  const char *metric, const struct device_info *device);
/* The quantity that the row names; where it names a key, one without a name that the key bounds. */
struct quantity quantity_of_row(const struct sheet_row *row);

#endif
