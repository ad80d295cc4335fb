/*
 * Host checks of `doctor`: conditions that disturb, slow down or prevent measurements, and
 * remedies.
 */
#ifndef GPUPROOF_RESULT_HOST_HOST_FINDINGS_H
#define GPUPROOF_RESULT_HOST_HOST_FINDINGS_H

#include "device/device_info.h"
#include "device/finding.h"

typedef void finding_fn(void *context, const struct finding *finding);

/*
 * Calls `add` for each check. `root`: prefix of /proc, /sys and /dev ("" in production);
 * `directory`: where results would be written.
 *
 * Adding a check: add a function and a line in host_findings().
 */
void host_findings(const char *root, const char *directory, finding_fn *add, void *context);

/* Calls `add` for each check of one device, from the probe's data: ECC, PCIe link, NUMA node. */
void host_findings_of_device(const struct device_info *device, finding_fn *add, void *context);

#endif
