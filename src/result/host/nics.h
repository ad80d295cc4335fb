/*
 * Network adapters as the kernel describes them: rate, state and error counters of each port, and
 * the distance of the nearest one from a device.
 */
#ifndef GPUPROOF_RESULT_HOST_NICS_H
#define GPUPROOF_RESULT_HOST_NICS_H

#include <stddef.h>

#include "result/host/host_findings.h"

/*
 * Calls `add` for each port of InfiniBand or RoCE ("nic mlx5_0:1") and each further network
 * interface that is up and has a device ("nic eth0"). Counters are since the driver was loaded:
 * what has changed between two calls came about meanwhile.
 */
void nic_findings(const char *root, finding_fn *add, void *context);

/* The adapter nearest to a device on a PCI bus ("nearest nic cuda:0"), by the PCI tree. */
void nic_distance_finding(const char *root, const struct device_info *device, finding_fn *add,
			  void *context);

/*
 * Bytes per second that the fastest port of InfiniBand or RoCE in use can carry in one direction,
 * or without one the fastest network interface that is up; 0: unknown.
 */
double nic_bandwidth(const char *root);

#endif
