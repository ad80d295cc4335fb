#include "reference/derived.h"

#include <stddef.h>
#include <string.h>

#include "base/memory.h"

/*
 * Peak rates: FLOP (int8: operations) of one multiprocessor per clock, dense; a multiply-add counts
 * as two. Sources: CUDA C++ Programming Guide, "Arithmetic Instructions" (native throughput by
 * compute capability); for tensor cores NVIDIA's white papers on Volta, Turing, Ampere (GA100 and
 * GA102), Ada, Hopper and Blackwell. 0: unknown, or not available.
 */
struct rate {
	int capability;
	double fp64, fp32, fp64_tensor, fp16_tensor, fp8_tensor, int8_tensor;
};

static const struct rate rates[] = {
	{ 35, 128, 384, 0, 0, 0, 0 },
	{ 37, 128, 384, 0, 0, 0, 0 },
	{ 50, 8, 256, 0, 0, 0, 0 },
	{ 52, 8, 256, 0, 0, 0, 0 },
	{ 60, 64, 128, 0, 0, 0, 0 },
	{ 61, 8, 256, 0, 0, 0, 0 },
	{ 70, 64, 128, 0, 1024, 0, 0 },
	{ 75, 4, 128, 0, 1024, 0, 2048 },
	{ 80, 64, 128, 128, 2048, 0, 4096 },
	{ 86, 4, 256, 0, 1024, 0, 2048 },
	{ 89, 4, 256, 0, 1024, 2048, 2048 },
	{ 90, 128, 256, 256, 4096, 8192, 8192 },
	{ 100, 128, 256, 128, 8192, 16384, 16384 },
	{ 103, 4, 256, 0, 8192, 16384, 512 },
	{ 120, 4, 256, 0, 1024, 2048, 2048 },
};

/* Rate of one multiprocessor per clock; 0: unknown. */
static double reference_derived_rate(const struct device_info *device, const char *key)
{
	static const struct {
		const char *key;
		size_t offset;
		double share; /* of the row's member */
		bool halved;  /* GeForce accumulates FP16 and FP8 in FP32 at half the rate */
		int since;    /* capability */
	} keys[] = { { "fp64", offsetof(struct rate, fp64), 1 },
		     { "fp32", offsetof(struct rate, fp32), 1 },
		     { "fp64_tensor", offsetof(struct rate, fp64_tensor), 1 },
		     { "int8_tensor", offsetof(struct rate, int8_tensor), 1 },
		     { "fp8_tensor", offsetof(struct rate, fp8_tensor), 1, true },
		     { "fp16_tensor", offsetof(struct rate, fp16_tensor), 1, true },
		     { "bf16_tensor", offsetof(struct rate, fp16_tensor), 1, true, 80 },
		     { "tf32_tensor", offsetof(struct rate, fp16_tensor), 0.5, true, 80 } };
	int capability = device->capability_major * 10 + device->capability_minor;
	double half = capability > 70 && strstr(device->name, "GeForce") ? 0.5 : 1;
	const struct rate *r = rates;

	/* An emulated capability does not describe the chip. */
	while (r < rates + ARRAY_SIZE(rates) &&
	       (*device->emulated_on || r->capability != capability))
		r++;
	for (size_t i = 0; r < rates + ARRAY_SIZE(rates) && i < ARRAY_SIZE(keys); i++)
		if (strcmp(keys[i].key, key) == 0 && capability >= keys[i].since)
			return *(const double *)((const char *)r + keys[i].offset) * keys[i].share *
			       (keys[i].halved ? half : 1);
	return 0;
}

/*
 * GT/s x lanes x line coding / 8, one direction. Generations 1 and 2 send 10 bits per byte, 3 to 5
 * send 130 per 128, 6 sends units of 256 bytes with 242 of packets.
 */
static bool reference_derived_pcie(const struct device_info *device, double *value,
				   struct text *words)
{
	static const double transfers[] = { 0, 2.5e9, 5e9, 8e9, 16e9, 32e9, 64e9 };
	int generation = device->pcie_generation_max;

	if (generation < 1 || generation > 6 || device->pcie_width_max < 1)
		return false;
	*value = transfers[generation] * device->pcie_width_max *
		 (generation < 3   ? 0.8
		  : generation < 6 ? 128.0 / 130
				   : 242.0 / 256) /
		 8;
	if (words)
		text_addf(words, "PCIe generation %d x %d lanes", generation,
			  device->pcie_width_max);
	return true;
}

/*
 * One link, one direction; from the white papers of Pascal, Volta, Ampere (GA100, GA102), Hopper
 * and Blackwell.
 */
static bool reference_derived_nvlink(const struct device_info *device, double *value,
				     struct text *words)
{
	static const struct {
		int capability;
		double link;
	} links[] = { { 60, 20e9 },      { 70, 25e9 }, { 75, 25e9 },  { 80, 25e9 },
		      { 86, 14.0625e9 }, { 90, 25e9 }, { 100, 50e9 }, { 103, 50e9 } };
	int capability = device->capability_major * 10 + device->capability_minor;

	*value = 0;
	for (size_t i = 0; i < ARRAY_SIZE(links); i++)
		if (links[i].capability == capability)
			*value = device->nvlink_count * links[i].link;
	if (words)
		text_addf(words, "%d active NVLinks", device->nvlink_count);
	return *value > 0;
}

bool reference_derived_figure(const struct device_info *device, const char *key, double *value,
			      struct text *words)
{
	double rate;

	if (strcmp(key, "pcie_bandwidth") == 0)
		return reference_derived_pcie(device, value, words);
	if (strcmp(key, "nvlink_bandwidth") == 0)
		return reference_derived_nvlink(device, value, words);
	if (strcmp(key, "memory_bandwidth") == 0) {
		/* DDR: two transfers per clock. */
		*value = device->memory_clock_hz * 2 * device->memory_bus_bits / 8;
		if (words)
			text_addf(words, "%.0f MHz x 2 x %d bit", device->memory_clock_hz / 1e6,
				  device->memory_bus_bits);
		return *value > 0;
	}
	if (strcmp(key, "nic_bandwidth") == 0) {
		*value = device->nic_bandwidth;
		if (words)
			text_addf(words, "the fastest active port has %g Gb/s", 8e-9 * *value);
		return *value > 0;
	}
	if (strcmp(key, "memory") == 0) {
		*value = (double)device->memory_bytes;
		if (words)
			text_add(words, "size of device memory");
		return *value > 0;
	}
	rate = reference_derived_rate(device, key);
	*value = device->multiprocessors * device->clock_hz * rate;
	if (words)
		text_addf(words,
			  "%d multiprocessors x %.0f MHz x %.0f per clock (compute capability "
			  "%d.%d)",
			  device->multiprocessors, device->clock_hz / 1e6, rate,
			  device->capability_major, device->capability_minor);
	return *value > 0;
}
