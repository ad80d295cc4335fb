/*
 * Data-sheet figures of a GPU without a data sheet, computed from what the driver reports: memory
 * clock and bus, the widest and fastest PCIe link, multiprocessors, clock and compute capability.
 *
 * Adding an architecture: a row in derived.c, with its source.
 */
#ifndef GPUPROOF_REFERENCE_DERIVED_H
#define GPUPROOF_REFERENCE_DERIVED_H

#include <stdbool.h>

#include "base/text.h"
#include "device/device_info.h"

/*
 * The figure `key` (plan/limits/spec_keys.h) in its SI base unit; false: it does not follow.
 * `words` (may be NULL) gets the
 * factors: "2619 MHz x 2 x 5120 bit".
 */
bool derived_figure(const struct device_info *device, const char *key, double *value,
		    struct text *words);

#endif
