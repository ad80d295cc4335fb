/*
 * Quantities that others publish and gpuproof measures: what bounds each on a data sheet, and which
 * of gpuproof's metrics with which parameters is the same thing. Used for published values, for
 * percent of peak and for comparisons.
 *
 * Adding one: a row in quantity.c. Of several rows that fit a case the first counts.
 */
#ifndef GPUPROOF_REFERENCE_QUANTITY_H
#define GPUPROOF_REFERENCE_QUANTITY_H

#include "result/metric.h"
#include "result/result.h"

struct quantity {
	const char *name; /* "gemm_fp32" */
	const char *unit; /* SI base */
	enum better better;
	const char *title; /* for people */
	const char *group; /* heading in comparisons */
	/* keys of data sheets: the first that is there; NULL: nothing bounds it */
	const char *peak[2];
	double peak_factor; /* how many times the peak it may reach */
	/* The same in gpuproof; NULL: it does not measure this. */
	const char *metric;
	struct {
		const char *name, *word; /* parameter and its value */
	} parameters[3];
	int capability_from, capability_to; /* of the device: 70 = 7.0; 0: any */
	double factor;                      /* times gpuproof's value; 0: 1 */
};

extern const struct quantity quantities[]; /* ends with { 0 } */
const struct quantity *quantity_find(const char *name);

/* The quantity that a metric of a case is, on `device` (may be NULL); NULL: none. */
const struct quantity *quantity_of_case(const struct case_result *c, const char *metric,
					const struct device_info *device);

#endif
