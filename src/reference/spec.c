#include "reference/spec.h"

#include <string.h>

#include "base/memory.h"
#include "reference/gpu.h"

const struct embedded_file *spec_file(const char *device_name)
{
	const struct gpu *gpu = gpus_by_device(device_name);

	return gpu ? gpu->file : NULL;
}

bool spec_of_name(const char *device_name, const char *key, double *value, const char **status)
{
	const struct gpu *gpu = gpus_by_device(device_name);
	const struct sheet_entry *entry = gpu ? gpu_entry(gpu, key) : NULL;

	if (!entry || !entry->unit)
		return false;
	*value = entry->value;
	*status = sheet_status_name(entry->status);
	return true;
}

/* GT/s x lanes x line coding / 8, one direction. Generations 1 and 2 send 10 bits per byte, later ones 130 per 128. */
static double link_bandwidth(const struct device_info *device)
{
	static const double transfers[] = { 0, 2.5e9, 5e9, 8e9, 16e9, 32e9, 64e9 };
	int generation = device->pcie_generation_max;

	if (generation < 1 || generation > 6 || device->pcie_width_max < 1)
		return 0;
	return transfers[generation] * device->pcie_width_max *
	       (generation < 3 ? 0.8 : 128.0 / 130) / 8;
}

/* DDR: two transfers a clock. */
static double memory_bandwidth(const struct device_info *device)
{
	return device->memory_clock_hz * 2 * device->memory_bus_bits / 8;
}

static double device_memory(const struct device_info *device)
{
	return (double)device->memory_bytes;
}

static const struct {
	const char *key;
	double (*of)(const struct device_info *device); /* 0: unknown */
} derived[] = {
	{ "pcie_bandwidth", link_bandwidth },
	{ "memory_bandwidth", memory_bandwidth },
	{ "memory", device_memory },
};

bool spec_lookup(const struct device_info *device, const char *key, double *value,
		 const char **status)
{
	if (spec_of_name(device->name, key, value, status))
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(derived); i++) {
		if (strcmp(derived[i].key, key) != 0)
			continue;
		*value = derived[i].of(device);
		*status = "device";
		return *value > 0;
	}
	return false;
}
