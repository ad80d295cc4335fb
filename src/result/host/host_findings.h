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

/* nics.c: network adapters from the kernel's data. */

/*
 * Calls `add` for each InfiniBand or RoCE port ("nic mlx5_0:1") and each other network interface
 * that is up and has a device ("nic eth0"). Counters start when the driver is loaded; compare two
 * calls to see recent errors.
 */
void nic_findings(const char *root, finding_fn *add, void *context);

/* Finds the adapter nearest to a device on a PCI bus ("nearest nic cuda:0"), by the PCI tree. */
void nic_distance_finding(const char *root, const struct device_info *device, finding_fn *add,
			  void *context);

/*
 * Bandwidth in bytes per second and direction of the fastest active InfiniBand or RoCE port, or
 * else of the fastest network interface that is up; 0: unknown.
 */
double nic_bandwidth(const char *root);

/* xid_findings.c: Xid errors in the log of the kernel, before a run and after it. */

/*
 * One finding for each GPU with a PCI address: the Xid errors in the log and what to do about the
 * worst. A log that this user may not read is a note, once. `root` is the prefix of the log's
 * path, "" in production.
 */
void xid_findings(const char *root, const struct device_info *devices, size_t count,
		  finding_fn *add, void *context);

#endif
