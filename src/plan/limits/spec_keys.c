#include "plan/limits/spec_keys.h"

#include <stddef.h>
#include <string.h>

const struct spec_key spec_keys[] = {
	{ "memory_bandwidth", "B/s", "device memory, peak" },
	{ "pcie_bandwidth", "B/s", "PCIe, one direction, after line coding" },
	{ "nvlink_bandwidth", "B/s", "NVLink, all links of one device, one direction" },
	{ "nic_bandwidth", "B/s", "network, one port, one direction, by the port's rate" },
	{ "fp64", "FLOP/s", "FP64 without tensor cores" },
	{ "fp32", "FLOP/s", "FP32 without tensor cores" },
	{ "fp16", "FLOP/s", "FP16 without tensor cores" },
	{ "fp64_tensor", "FLOP/s", "FP64 with tensor cores" },
	{ "tf32_tensor", "FLOP/s", "TF32 with tensor cores, dense" },
	{ "fp16_tensor", "FLOP/s", "FP16 with tensor cores, dense" },
	{ "bf16_tensor", "FLOP/s", "BF16 with tensor cores, dense" },
	{ "fp8_tensor", "FLOP/s", "FP8 with tensor cores, dense" },
	{ "int8_tensor", "ops/s", "INT8 with tensor cores, dense" },
	{ "memory", "B", "device memory" },
	{ "power", "W", "most that the board draws" },
	{ 0 },
};

const struct spec_key *spec_key_find(const char *name)
{
	for (const struct spec_key *key = spec_keys; key->name; key++)
		if (strcmp(key->name, name) == 0)
			return key;
	return NULL;
}
