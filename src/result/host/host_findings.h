/*
 * The checks of `doctor` on the host: conditions that disturb, slow down or prevent measuring, and
 * remedies.
 */
#ifndef GPUPROOF_RESULT_HOST_HOST_FINDINGS_H
#define GPUPROOF_RESULT_HOST_HOST_FINDINGS_H

#include "device/device_info.h"
#include "device/finding.h"

typedef void finding_fn(void *context, const struct finding *finding);

/*
 * Calls `add` for each check. `root` is the prefix of /proc, /sys and /dev ("" in production);
 * `directory` is where results would be written.
 *
 * Adding a check: one function and one line in host_findings().
 */
void host_findings(const char *root, const char *directory, finding_fn *add, void *context);

/* The same about one device, from what the probe knows of it: ECC, PCIe link, NUMA node. */
void device_findings(const struct device_info *device, finding_fn *add, void *context);

#endif
