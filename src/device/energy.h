/* A device's energy counter at one moment. */
#ifndef GPUPROOF_DEVICE_ENERGY_H
#define GPUPROOF_DEVICE_ENERGY_H

struct energy {
	double joules; /* since an arbitrary moment; never falls in one process */
	/* the longest time between two updates of the counter: what a difference may lack */
	double update_seconds;
	/*
	 * Name of the counter: devices with the same one (the partitions of a host) share it, and
	 * their energy counts once. Together with `source` it says what the joules include.
	 */
	char domain[64];
	char source[64]; /* "NVML's energy counter", "RAPL, 2 packages and their memory" */
};

#endif
