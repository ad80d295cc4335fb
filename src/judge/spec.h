/*
 * Data-sheet figures per GPU model: configs/gpus/NAME.ini, compiled in.
 *
 *	[gpu]
 *	name = H200 SXM 141GB            ; for people
 *	match = NVIDIA H200 | H200 SXM*  ; device names, as the driver has them; * at the end: anything follows
 *	source = where the figures come from
 *
 *	[read]                           ; read in a public source
 *	memory_bandwidth = 4800 GB/s
 *	[derived]                        ; follow from read figures by a formula
 *	pcie_bandwidth = 63.02 GB/s
 *	[to-verify]                      ; common knowledge without a source at hand: shown with that word
 *
 * The keys and their units are spec_keys (plan/spec_keys.h). Other sections are for other readers.
 * What the sheet of a GPU does not say may follow from the device itself (spec.c): PCIe from the widest and fastest
 * link that device and slot can have, never from the link as it is just now, which may be the fault to be found.
 */
#ifndef GPUPROOF_JUDGE_SPEC_H
#define GPUPROOF_JUDGE_SPEC_H

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

/* Every key known, every value with its unit: for tests. Errors name file:line. */
enum status spec_check(const struct embedded_file *file, struct error *err);

#endif
