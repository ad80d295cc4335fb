/* Telemetry: the state of a device at one moment. */
#ifndef GPUPROOF_DEVICE_TELEMETRY_H
#define GPUPROOF_DEVICE_TELEMETRY_H

#include <math.h>
#include <stdint.h>

/* NAN or -1 if unknown. */
struct telemetry {
	double sm_clock_hz, memory_clock_hz;
	double power_watts, temperature_celsius;
	/* maximum averaging time of the power; 0: unknown */
	double power_window_seconds;
	int64_t throttle_reasons;               /* NVML bit mask; 0: none; -1: unknown */
	int64_t ecc_corrected, ecc_uncorrected; /* volatile counts */
	int64_t pcie_generation, pcie_width, pcie_replays;
	/* replays, recoveries and CRC errors of all links since the driver was loaded */
	int64_t nvlink_errors;
	/* critical errors reported by the driver (Xid) since the first call of this process */
	int64_t xid_errors;
	int xid; /* number of the worst of them (device/xid.h); 0: none */
};

/* Makes every reading unknown. */
static inline void telemetry_unknown(struct telemetry *telemetry)
{
	*telemetry = (struct telemetry){
		.sm_clock_hz = (double)NAN,
		.memory_clock_hz = (double)NAN,
		.power_watts = (double)NAN,
		.temperature_celsius = (double)NAN,
		.power_window_seconds = 0,
		.throttle_reasons = -1,
		.ecc_corrected = -1,
		.ecc_uncorrected = -1,
		.pcie_generation = -1,
		.pcie_width = -1,
		.pcie_replays = -1,
		.nvlink_errors = -1,
		.xid_errors = -1,
		.xid = -1,
	};
}

/* Maximum averaging time of the power, in s. */
static inline double telemetry_power_window(const struct telemetry *t)
{
	return t->power_window_seconds > 0 ? t->power_window_seconds : 1.0;
}

/*
 * NVML's throttle reasons that reduce speed: power cap, hardware slowdown, temperature (software
 * and hardware), power brake. Idle and requested clocks do not.
 */
#define THROTTLE_SLOWS INT64_C(0xEC)
#define THROTTLE_POWER_LIMIT \
	INT64_C(0x04) /* the software power cap, which healthy devices meet as well */

/* Reading of a device's energy counter. */
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
