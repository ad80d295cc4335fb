#include "result/device_json.h"

#include <stdlib.h>
#include <string.h>

#include "result/result_fields.h"

/* Indexed by bits of enum device_capability. */
static const char *const capability_words[] = {
	"fp64", "fp32",         "tf32",        "fp16",
	"bf16", "pools",        "collectives", "shares_host_memory",
	"fp8",  "int8",         "fp16_acc16",  "wgmma",
	"host", "tensor_cores", NULL
};

#define DEVICE(member, codec_, ...)                                                           \
	{                                                                                     \
		.name = #member, .codec = &codec_, FIELD_AT(device_info, member), __VA_ARGS__ \
	}
/* Zero means unknown: null. */
#define DEVICE_NUMBER(member, codec_) DEVICE(member, codec_, .unknown = UNKNOWN_ZERO)

const struct field device_info_fields[] = {
	DEVICE(id, codec_chars),
	DEVICE(backend, codec_chars),
	DEVICE(module, codec_chars),
	DEVICE(index, codec_int),
	DEVICE(name, codec_chars),
	DEVICE(uuid, codec_chars),
	DEVICE(serial, codec_chars, .optional = true),
	DEVICE(vbios, codec_chars, .optional = true),
	DEVICE(pci, codec_chars),
	DEVICE(capability_major, codec_int),
	DEVICE(capability_minor, codec_int),
	DEVICE(emulated_on, codec_chars, .optional = true),
	DEVICE_NUMBER(multiprocessors, codec_int),
	DEVICE_NUMBER(memory_bytes, codec_uint64),
	DEVICE_NUMBER(memory_free_bytes, codec_uint64),
	DEVICE_NUMBER(l2_bytes, codec_uint64),
	DEVICE_NUMBER(clock_hz, codec_real),
	DEVICE_NUMBER(memory_clock_hz, codec_real),
	DEVICE_NUMBER(memory_bus_bits, codec_int),
	DEVICE_NUMBER(pcie_generation, codec_int),
	DEVICE_NUMBER(pcie_width, codec_int),
	DEVICE_NUMBER(pcie_generation_max, codec_int),
	DEVICE_NUMBER(pcie_width_max, codec_int),
	DEVICE(ecc, codec_tristate),
	DEVICE(numa_node, codec_int, .unknown = UNKNOWN_NEGATIVE),
	DEVICE(capabilities, codec_flags, .words = capability_words),
	{ .name = "peers", .codec = &codec_bits, FIELD_AT(device_info, peers) },
	DEVICE(nvlink_count, codec_int),
	DEVICE(nic_bandwidth, codec_positive, .optional = true),
	{ 0 },
};

static const struct field fact_fields[] = {
	{ .name = "name", .codec = &codec_string, FIELD_AT(fact, name) },
	{ .name = "value", .codec = &codec_string, FIELD_AT(fact, value) },
	{ 0 },
};

static const struct field component_fields[] = {
	{ .name = "name", .codec = &codec_chars, FIELD_AT(component, name) },
	{ .name = "present", .codec = &codec_bool, FIELD_AT(component, present) },
	{ .name = "version", .codec = &codec_chars, FIELD_AT(component, version) },
	{ .name = "detail", .codec = &codec_chars, FIELD_AT(component, detail) },
	{ 0 },
};

static const char *const severity_words[] = { "ok", "note", "warning", "error", NULL };

#define FACT(member)                                                                       \
	{                                                                                  \
		.name = #member, .codec = &codec_chars_or_none, FIELD_AT(finding, member), \
		.optional = true                                                           \
	}

const struct field finding_fields[] = {
	{ .name = "severity",
	  .codec = &codec_enum,
	  FIELD_AT(finding, severity),
	  .words = severity_words },
	{ .name = "subject", .codec = &codec_chars, FIELD_AT(finding, subject) },
	FACT(topic),
	FACT(device),
	FACT(node),
	FACT(other_node),
	{ .name = "text", .codec = &codec_chars, FIELD_AT(finding, text) },
	{ .name = "counts",
	  .codec = &codec_counts,
	  FIELD_AT(finding, counts),
	  .count_offset = offsetof(struct finding, count),
	  .optional = true },
	{ 0 },
};

/* Reads a struct without allocated members. */
static enum status parse_flat(const char *text, size_t length, const struct field *fields,
			      void *base, size_t size, struct error *err)
{
	enum status status;

	memset(base, 0, size);
	status = fields_parse(text, length, fields, base, err);
	if (status != STATUS_OK)
		memset(base, 0, size);
	return status;
}

char *device_info_to_json(const struct device_info *device)
{
	return fields_line(device_info_fields, device);
}

enum status device_info_from_json(struct device_info *device, const char *text, size_t length,
				  struct error *err)
{
	return parse_flat(text, length, device_info_fields, device, sizeof(*device), err);
}

char *component_to_json(const struct component *component)
{
	return fields_line(component_fields, component);
}

enum status component_from_json(struct component *component, const char *text, size_t length,
				struct error *err)
{
	return parse_flat(text, length, component_fields, component, sizeof(*component), err);
}

char *finding_to_json(const struct finding *finding)
{
	return fields_line(finding_fields, finding);
}

enum status finding_from_json(struct finding *finding, const char *text, size_t length,
			      struct error *err)
{
	return parse_flat(text, length, finding_fields, finding, sizeof(*finding), err);
}

char *fact_to_json(const struct fact *fact)
{
	return fields_line(fact_fields, fact);
}

void fact_release(struct fact *fact)
{
	free(fact->name);
	free(fact->value);
	memset(fact, 0, sizeof(*fact));
}

enum status fact_from_json(struct fact *fact, const char *text, size_t length, struct error *err)
{
	enum status status;

	memset(fact, 0, sizeof(*fact));
	status = fields_parse(text, length, fact_fields, fact, err);
	if (status != STATUS_OK)
		fact_release(fact);
	return status;
}
