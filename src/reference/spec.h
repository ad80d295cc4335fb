/*
 * The figure of a device that a limit or a share of peak refers to: from the data sheet of its
 * model (gpu.h), or else from what the driver reports (derived.h): PCIe from the widest and fastest
 * link that device and slot can have, never from the current link state, which may be the fault to
 * be found.
 */
#ifndef GPUPROOF_REFERENCE_SPEC_H
#define GPUPROOF_REFERENCE_SPEC_H

#include <stdbool.h>

#include "base/embedded.h"
#include "base/error.h"
#include "result/presentation.h"
#include "result/result.h"

/* A figure in its SI base unit, and how sure it is: "read", "derived", "to-verify", "device". */
bool spec_lookup(const struct device_info *device, const char *key, double *value,
		 const char **status);

/*
 * The source of that figure: "data sheet (read)", "from the driver: 2619 MHz x 2 x 5120 bit"; the
 * caller frees it.
 */
char *spec_words(const struct device_info *device, const char *key);

/* The figure that bounds a metric of a case. */
struct spec_peak {
	const char *key;
	double figure;
	double most; /* of the metric: some are sums, or count bytes twice */
};

/* `rows`: of the case's suite. False: nothing that is known bounds it. */
bool spec_peak(const struct sheet_row *rows, const struct case_result *c, const char *metric,
	       const struct device_info *device, struct spec_peak *peak);

/* spec_lookup() from the sheet of a device name alone. */
bool spec_of_name(const char *device_name, const char *key, double *value, const char **status);

/*
 * The file of configs/gpus that describes `device_name`, NULL: none. Its name is also that of the
 * model's limits.
 */
const struct embedded_file *spec_file(const char *device_name);

#endif
