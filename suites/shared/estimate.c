#include "suites/shared/estimate.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/*
 * Floating-point operations per clock and multiprocessor, by the lowest compute capability with
 * that rate.
 */
static const struct per_clock_rates {
	int capability;
	double fp64, fp32, tf32, half;
} rates[] = {
	{ 120, 4, 256, 256, 512 },  { 100, 128, 256, 4096, 8192 }, { 90, 256, 256, 2048, 4096 },
	{ 86, 4, 256, 256, 512 },   { 80, 128, 128, 1024, 2048 },  { 75, 4, 128, 128, 512 },
	{ 70, 64, 128, 128, 1024 }, { 61, 8, 256, 256, 256 },      { 60, 64, 128, 128, 128 },
	{ 50, 8, 256, 256, 256 },   { 0, 16, 256, 256, 256 },
};

/* FLOP/s of a host core. */
#define CORE_FLOPS 40e9
#define CORE_BANDWIDTH 5e9

static double shared_estimate_device_units(const struct device_info *info)
{
	return info->multiprocessors > 0 ? info->multiprocessors : 1;
}

double shared_estimate_flops(const struct device_info *info, enum precision precision)
{
	int capability = 10 * info->capability_major + info->capability_minor;
	double clock = info->clock_hz > 0 ? info->clock_hz : 1e9;
	const struct per_clock_rates *rate = rates;
	double per_clock;

	if (device_is_host(info))
		return (precision == PRECISION_FP64 ? 0.5 : 1) * CORE_FLOPS *
		       shared_estimate_device_units(info);
	while (capability < rate->capability)
		rate++;
	per_clock = precision == PRECISION_FP64   ? rate->fp64
		    : precision == PRECISION_FP32 ? rate->fp32
		    : precision == PRECISION_TF32 ? rate->tf32
						  : rate->half;
	return 0.5 * per_clock * clock * shared_estimate_device_units(info);
}

double shared_estimate_memory_rate(const struct device_info *info)
{
	/* Two transfers per clock. */
	double bus = 2 * info->memory_clock_hz * info->memory_bus_bits / 8;

	if (device_is_host(info))
		return CORE_BANDWIDTH * shared_estimate_device_units(info);
	return bus > 0 ? 0.5 * bus : 100e9;
}
