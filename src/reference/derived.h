/*
 * Peak values of a GPU without a data sheet, computed from the driver's report: memory clock and
 * bus, the widest and fastest PCIe link, multiprocessors, clock and compute capability.
 *
 * Adding an architecture: add a row to derived.c with its source.
 */
#ifndef GPUPROOF_REFERENCE_DERIVED_H
#define GPUPROOF_REFERENCE_DERIVED_H

#include <stdbool.h>

#include "base/text.h"
#include "device/device_info.h"

/*
 * The value `key` (plan/limits/spec_keys.h) in its SI base unit; false: cannot be derived. `words`
 * (may be NULL) gets the factors: "2619 MHz x 2 x 5120 bit".
 */
bool reference_derived_figure(const struct device_info *device, const char *key, double *value,
			      struct text *words);

#endif
