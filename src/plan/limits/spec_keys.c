#include "plan/limits/spec_keys.h"

#include <stddef.h>
#include <string.h>

const struct spec_key spec_keys[] = {
	{ "memory_bandwidth", "B/s", "device memory bandwidth, peak" },
	{ "pcie_bandwidth", "B/s", "PCIe bandwidth, one direction, after line coding" },
	{ "nvlink_bandwidth", "B/s", "NVLink bandwidth, all links of one device, one direction" },
	{ "nic_bandwidth", "B/s",
	  "network bandwidth, one port, one direction, computed from the rate of the port" },
	{ "fp64", "FLOP/s", "FP64 rate without tensor cores" },
	{ "fp32", "FLOP/s", "FP32 rate without tensor cores" },
	{ "fp16", "FLOP/s", "FP16 rate without tensor cores" },
	{ "fp64_tensor", "FLOP/s", "FP64 rate with tensor cores" },
	{ "tf32_tensor", "FLOP/s", "TF32 rate with tensor cores, dense" },
	{ "fp16_tensor", "FLOP/s", "FP16 rate with tensor cores, dense" },
	{ "bf16_tensor", "FLOP/s", "BF16 rate with tensor cores, dense" },
	{ "fp8_tensor", "FLOP/s", "FP8 rate with tensor cores, dense" },
	{ "int8_tensor", "ops/s", "INT8 rate with tensor cores, dense" },
	{ "memory", "B", "size of device memory" },
	{ "power", "W", "power limit of the board" },
	{ 0 },
};

const struct spec_key *spec_key_find(const char *name)
{
	for (const struct spec_key *key = spec_keys; key->name; key++)
		if (strcmp(key->name, name) == 0)
			return key;
	return NULL;
}
