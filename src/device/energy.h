/* Reading of a device's energy counter. */
#ifndef GPUPROOF_DEVICE_ENERGY_H
#define GPUPROOF_DEVICE_ENERGY_H

struct energy {
	double joules; /* since an arbitrary moment; never decreases within a process */
	/* longest time between two updates of the counter: a difference may miss this much */
	double update_seconds;
	/*
	 * Name of the counter: devices with the same one (partitions of a host) share it, and their
	 * energy counts once. Together with `source` it defines what the joules include.
	 */
	char domain[64];
	char source[64]; /* "NVML's energy counter", "RAPL, 2 packages and their memory" */
};

#endif
