/*
 * Peak value of a device for limits and shares of peak: from the data sheet of its model (gpu.h),
 * or else from the driver's report (derived.h). PCIe uses the widest and fastest link of device and
 * slot, never the current link state, which may be the fault to be found.
 */
#ifndef GPUPROOF_REFERENCE_SPEC_H
#define GPUPROOF_REFERENCE_SPEC_H

#include <stdbool.h>

#include "base/embedded.h"
#include "base/error.h"
#include "result/presentation.h"
#include "result/result.h"

/* A value in its SI base unit, and its status: "read", "derived", "to-verify", "device". */
bool spec_lookup(const struct device_info *device, const char *key, double *value,
		 const char **status);

/*
 * Source of the value: "data sheet (read)", "from the driver: 2619 MHz x 2 x 5120 bit"; the caller
 * frees it.
 */
char *spec_words(const struct device_info *device, const char *key);

/* The value that bounds a metric of a case. */
struct spec_peak {
	const char *key;
	double figure;
	double most; /* maximum of the metric: some metrics are sums, or count bytes twice */
};

/* `rows`: of the case's suite. False: no known bound. */
bool spec_peak(const struct sheet_row *rows, const struct case_result *c, const char *metric,
	       const struct device_info *device, struct spec_peak *peak);

/* spec_lookup() with only a device name. */
bool spec_of_name(const char *device_name, const char *key, double *value, const char **status);

/*
 * The file of configs/gpus that describes `device_name`; NULL: none. The model's limits have the
 * same name.
 */
const struct embedded_file *spec_file(const char *device_name);

#endif
