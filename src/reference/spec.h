/*
 * The figure of a device that a limit or a share of peak refers to: from the data sheet of its model (gpu.h), or else
 * from the device itself (spec.c): PCIe from the widest and fastest link that device and slot can have, never from the
 * link as it is just now, which may be the fault to be found.
 */
#ifndef GPUPROOF_REFERENCE_SPEC_H
#define GPUPROOF_REFERENCE_SPEC_H

#include <stdbool.h>

#include "base/embedded.h"
#include "base/error.h"
#include "result/result.h"

/* A figure in its SI base unit, and how sure it is: "read", "derived", "to-verify", "device". */
bool spec_lookup(const struct device_info *device, const char *key, double *value,
		 const char **status);

/* The same from the sheet of a device name alone. */
bool spec_of_name(const char *device_name, const char *key, double *value, const char **status);

/* The file of configs/gpus that describes `device_name`, NULL: none. Its name is also that of the model's limits. */
const struct embedded_file *spec_file(const char *device_name);

#endif
