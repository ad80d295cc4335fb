/*
 * Network adapters from the kernel's data: rate, state and error counters of each port, and the
 * adapter nearest to a device.
 */
#ifndef GPUPROOF_RESULT_HOST_NICS_H
#define GPUPROOF_RESULT_HOST_NICS_H

#include <stddef.h>

#include "result/host/host_findings.h"

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

#endif
