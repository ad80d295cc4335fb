#include "reference/sheet.h"

#include <stdint.h>
#include <string.h>

#include "base/units.h"
#include "plan/limits/spec_keys.h"

static const struct sheet_key keys[] = {
	{ "dies", "1", "devices on one board" },
	{ "multiprocessors", "1", "streaming multiprocessors" },
	{ "fp32_cores", "1", "FP32 units of one multiprocessor" },
	{ "base_clock", "Hz", "" },
	{ "boost_clock", "Hz", "rated, not the most that a card reaches" },
	{ "query_clock", "Hz", "as deviceQuery shows it" },
	{ "tensor_clock", "Hz", "that the tensor figures are given at" },
	{ "memory_clock", "Hz", "two transfers each" },
	{ "memory_bus", "1", "bits" },
	{ "memory_visible", "B", "with ECC on" },
	{ "l2", "B", "second-level cache" },
	{ "pcie_generation", "1", "" },
	{ "pcie_lanes", "1", "" },
	{ "nvlink_generation", "1", "" },
	{ "nvlink_links", "1", "" },
	{ "nvlink_link_bandwidth", "B/s", "one link, one direction" },
	{ "memory_bandwidth_marketed", "B/s", "as advertised" },
	{ "fp32_base", "FLOP/s", "at the base clock" },
	{ "fp64_base", "FLOP/s", "at the base clock" },
	{ "fp32_rounded", "FLOP/s", "as advertised" },
	{ "fp16_tensor_rounded", "FLOP/s", "as advertised" },
	{ "fp16_tensor_boost", "FLOP/s", "at the rated boost clock" },
	{ "int8", "ops/s", "INT8 without tensor cores" },
	{ "power_board", "W", "all dies of a board" },
	{ "power_die", "W", "limit of one die" },
	{ "architecture", NULL, "" },
	{ "chip", NULL, "" },
	{ "capability", NULL, "compute capability" },
	{ "memory_type", NULL, "" },
	{ "memory_sizes", NULL, "where the model comes in several" },
	{ "memory_clocks", NULL, "of the sizes" },
	{ "tensor_cores", NULL, "" },
	{ "fp16_arithmetic", NULL, "" },
	{ "fp64_ratio", NULL, "to FP32" },
	{ "fp16_ratio", NULL, "to FP32, without tensor cores" },
	{ "int8_dot", NULL, "dp4a" },
	{ "ecc", NULL, "" },
	{ "p2p", NULL, "" },
	{ "pcie_shared", NULL, "" },
	{ "board_switch", NULL, "" },
	{ "memory_pools", NULL, "" },
	{ "last_toolkit", NULL, "newest CUDA toolkit that compiles for it" },
	{ "last_driver", NULL, "" },
	{ "variant", NULL, "" },
	{ "note", NULL, "" },
	{ 0 },
};

const struct sheet_key *sheet_key_find(const char *name, struct sheet_key *found)
{
	const struct spec_key *figure = spec_key_find(name);

	if (figure) {
		*found = (struct sheet_key){ figure->name, figure->unit, figure->help };
		return found;
	}
	for (const struct sheet_key *key = keys; key->name; key++)
		if (strcmp(key->name, name) == 0)
			return key;
	return NULL;
}

enum status sheet_parse(const char *text, const char *unit, double *value, struct error *err)
{
	uint64_t bytes = 0;
	enum status status;

	if (strcmp(unit, "1") == 0)
		return units_parse_real(text, value, err);
	if (strcmp(unit, "B") != 0)
		return units_parse_quantity(text, unit, value, err);
	status = units_parse_size(text, &bytes, err);
	*value = (double)bytes;
	return status;
}
