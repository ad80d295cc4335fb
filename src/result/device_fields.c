/* Members of devices, facts, components and findings: parts of a result, and lines of the probe. */
#include "result/result.h"
#include "result/result_fields.h"

/* Indexed by bits of enum device_capability. */
static const char *const capability_words[] = {
	"fp64", "fp32",         "tf32",         "fp16",
	"bf16", "pools",        "collectives",  "shares_host_memory",
	"fp8",  "int8",         "fp16_acc16",   "wgmma",
	"host", "tensor_cores", "convolutions", NULL
};

const struct field device_info_fields[] = {
	FIELD(device_info, id, chars, .publish = PUBLISH_KEEP),
	FIELD(device_info, backend, chars, .publish = PUBLISH_KEEP),
	FIELD(device_info, module, chars, .publish = PUBLISH_KEEP),
	FIELD(device_info, index, int),
	FIELD(device_info, name, chars, .publish = PUBLISH_KEEP),
	FIELD(device_info, uuid, chars, .publish = PUBLISH_NAME, .kind = "uuid"),
	FIELD(device_info, serial, chars, .optional = true, .publish = PUBLISH_NAME,
	      .kind = "serial"),
	FIELD(device_info, vbios, chars, .optional = true, .publish = PUBLISH_KEEP),
	FIELD(device_info, pci, chars, .publish = PUBLISH_NAME, .kind = "pci"),
	FIELD(device_info, capability_major, int),
	FIELD(device_info, capability_minor, int),
	FIELD(device_info, emulated_on, chars, .optional = true, .publish = PUBLISH_KEEP),
	FIELD(device_info, multiprocessors, int, .unknown = UNKNOWN_ZERO),
	FIELD(device_info, memory_bytes, uint64, .unknown = UNKNOWN_ZERO),
	FIELD(device_info, memory_free_bytes, uint64, .unknown = UNKNOWN_ZERO),
	FIELD(device_info, l2_bytes, uint64, .unknown = UNKNOWN_ZERO),
	FIELD(device_info, clock_hz, real, .unknown = UNKNOWN_ZERO),
	FIELD(device_info, memory_clock_hz, real, .unknown = UNKNOWN_ZERO),
	FIELD(device_info, memory_bus_bits, int, .unknown = UNKNOWN_ZERO),
	FIELD(device_info, pcie_generation, int, .unknown = UNKNOWN_ZERO),
	FIELD(device_info, pcie_width, int, .unknown = UNKNOWN_ZERO),
	FIELD(device_info, pcie_generation_max, int, .unknown = UNKNOWN_ZERO),
	FIELD(device_info, pcie_width_max, int, .unknown = UNKNOWN_ZERO),
	FIELD(device_info, ecc, tristate),
	FIELD(device_info, numa_node, int, .unknown = UNKNOWN_NEGATIVE),
	FIELD(device_info, capabilities, flags, .words = capability_words),
	FIELD(device_info, peers, bits),
	FIELD(device_info, nvlink_count, int),
	FIELD(device_info, nic_bandwidth, real, .unknown = UNKNOWN_ZERO, .omitted = true),
	{ 0 },
};

const struct field fact_fields[] = {
	FIELD(fact, name, string),
	FIELD(fact, value, string),
	{ 0 },
};

const struct field component_fields[] = {
	FIELD(component, name, chars),
	FIELD(component, present, bool),
	FIELD(component, version, chars),
	FIELD(component, detail, chars),
	{ 0 },
};

static const char *const severity_words[] = { "ok", "note", "warning", "error", NULL };

const struct field finding_fields[] = {
	FIELD(finding, severity, enum, .words = severity_words),
	FIELD(finding, subject, chars, .publish = PUBLISH_PLAIN),
	FIELD(finding, topic, chars, .omitted = true, .publish = PUBLISH_KEEP),
	FIELD(finding, device, chars, .omitted = true, .publish = PUBLISH_KEEP),
	FIELD(finding, node, chars, .omitted = true, .publish = PUBLISH_NAME, .kind = "node"),
	FIELD(finding, other_node, chars, .omitted = true, .publish = PUBLISH_NAME, .kind = "node"),
	FIELD(finding, text, chars, .publish = PUBLISH_LEFT_OUT),
	FIELD(finding, counts, counts, .count_offset = offsetof(struct finding, count),
	      .omitted = true),
	{ 0 },
};
