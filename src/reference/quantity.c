#include "reference/quantity.h"

#include <stddef.h>
#include <string.h>

#include "base/memory.h"

#define MEMORY "Device memory"
#define ARITHMETIC "GEMM"
#define LINKS "Links"
#define GROUPS "Collectives"
#define LATENCY "Latency"
#define TRAINING "Training"
#define ENERGY "Energy"

#define PEAK(key)         \
	{                 \
		key, NULL \
	}
/* The first that the data sheet has. */
#define TWO(key, other)    \
	{                  \
		key, other \
	}
#define LINK TWO("nvlink_bandwidth", "pcie_bandwidth")

/* One pass over arrays; bytes counted as in BabelStream. */
#define STREAM(name_, title_)                                                           \
	{                                                                               \
		.name = name_, .unit = "B/s", .better = BETTER_HIGHER, .title = title_, \
		.group = MEMORY, .peak = PEAK("memory_bandwidth"), .peak_factor = 1     \
	}
#define GEMM(name_, title_, peak_)                                                         \
	{                                                                                  \
		.name = name_, .unit = "FLOP/s", .better = BETTER_HIGHER, .title = title_, \
		.group = ARITHMETIC, .peak = peak_, .peak_factor = 1                       \
	}
#define HOST_LINK(name_, title_, factor_)                                               \
	{                                                                               \
		.name = name_, .unit = "B/s", .better = BETTER_HIGHER, .title = title_, \
		.group = LINKS, .peak = PEAK("pcie_bandwidth"), .peak_factor = factor_  \
	}
#define PEER(name_, title_, factor_)                                                    \
	{                                                                               \
		.name = name_, .unit = "B/s", .better = BETTER_HIGHER, .title = title_, \
		.group = LINKS, .peak = LINK, .peak_factor = factor_                    \
	}
#define LAUNCH(name_, title_)                                                        \
	{                                                                            \
		.name = name_, .unit = "s", .better = BETTER_LOWER, .title = title_, \
		.group = LATENCY                                                     \
	}
/* Not a metric of this program: known only from publications. */
#define PUBLISHED(name_, unit_, better_, title_, group_)                                          \
	{                                                                                         \
		.name = name_, .unit = unit_, .better = better_, .title = title_, .group = group_ \
	}

/* Work per joule, equal to performance per watt. No bound: work may need less than the limit. */
#define EFFICIENCY(name_, unit_, title_) PUBLISHED(name_, unit_, BETTER_HIGHER, title_, ENERGY)

const struct quantity quantities[] = {
	STREAM("memory_copy", "STREAM copy"),
	STREAM("memory_scale", "STREAM scale"),
	STREAM("memory_triad", "STREAM triad"),
	STREAM("device_copy", "Device-to-device copy (read + write)"),
	STREAM("managed_triad", "STREAM triad in managed memory"),
	{ .name = "context_memory",
	  .unit = "B",
	  .better = BETTER_LOWER,
	  .title = "Device memory used by a context",
	  .group = MEMORY },
	GEMM("gemm_fp64", "FP64 GEMM", PEAK("fp64")),
	/* From 8.0 on, cuBLAS computes FP64 with tensor cores. */
	GEMM("gemm_fp64_tensor", "FP64 GEMM, tensor cores", TWO("fp64_tensor", "fp64")),
	GEMM("gemm_fp32", "FP32 GEMM", PEAK("fp32")),
	GEMM("gemm_tf32", "TF32 GEMM", PEAK("tf32_tensor")),
	GEMM("gemm_fp16_storage", "GEMM, FP16 storage, FP32 arithmetic", PEAK("fp32")),
	GEMM("gemm_fp16_tensor", "FP16 GEMM, tensor cores", PEAK("fp16_tensor")),
	GEMM("gemm_fp16", "FP16 arithmetic without tensor cores", PEAK("fp16")),
	GEMM("gemm_bf16", "BF16 GEMM, tensor cores", PEAK("bf16_tensor")),
	GEMM("gemm_fp8", "FP8 GEMM, tensor cores", PEAK("fp8_tensor")),
	{ .name = "gemm_int8",
	  .unit = "ops/s",
	  .better = BETTER_HIGHER,
	  .title = "INT8 GEMM",
	  .group = ARITHMETIC,
	  .peak = { "int8_tensor", "int8" },
	  .peak_factor = 1 },
	HOST_LINK("host_to_device", "Host to device, page-locked", 1),
	HOST_LINK("device_to_host", "Device to host, page-locked", 1),
	HOST_LINK("host_copy_both", "Host and device, both directions (sum)", 2),
	PEER("peer_copy", "Peer copy, one direction", 1),
	PEER("peer_copy_both", "Peer copy, both directions (sum)", 2),
	HOST_LINK("bar1_write", "CPU stores into device memory", 1),
	{ .name = "all_reduce",
	  .unit = "B/s",
	  .better = BETTER_HIGHER,
	  .title = "All-reduce, bus bandwidth",
	  .group = GROUPS,
	  .peak = LINK,
	  .peak_factor = 1,
	  .together = true },
	PUBLISHED("all_reduce_time", "s", BETTER_LOWER, "All-reduce latency, small message",
		  GROUPS),
	LAUNCH(QUANTITY_LAUNCH_TIME, "Kernel launch, back to back"),
	LAUNCH("launch_wait", "Kernel launch and wait"),
	PUBLISHED("peer_latency", "s", BETTER_LOWER, "Peer copy latency, smallest size", LATENCY),
	PUBLISHED("memory_latency", "cycles", BETTER_LOWER, "Device memory latency (pointer chase)",
		  LATENCY),
	{ .name = "training_rate",
	  .unit = "images/s",
	  .better = BETTER_HIGHER,
	  .title = "Training",
	  .group = TRAINING,
	  .together = true },
	PUBLISHED("training_step", "s", BETTER_LOWER, "Training step", TRAINING),
	EFFICIENCY("efficiency_memory", "B/J", "STREAM triad per watt"),
	EFFICIENCY("efficiency_fp32", "FLOP/J", "FP32 GEMM per watt"),
	EFFICIENCY("efficiency_tf32", "FLOP/J", "TF32 GEMM per watt"),
	EFFICIENCY("efficiency_fp16", "FLOP/J", "FP16 GEMM per watt, tensor cores"),
	EFFICIENCY("efficiency_bf16", "FLOP/J", "BF16 GEMM per watt, tensor cores"),
	{ 0 },
};

const struct quantity *quantity_find(const char *name)
{
	for (const struct quantity *q = quantities; q->name; q++)
		if (strcmp(q->name, name) == 0)
			return q;
	return NULL;
}

static bool quantity_parameters_match(const struct sheet_row *row, const struct case_result *c)
{
	for (size_t i = 0; i + 1 < ARRAY_SIZE(row->only) && row->only[i]; i += 2) {
		const struct case_parameter *p = case_parameter(c, row->only[i]);

		if (!p || !p->text || !row->only[i + 1] || strcmp(p->text, row->only[i + 1]) != 0)
			return false;
	}
	return true;
}

const struct sheet_row *quantity_sheet_row_of_case(const struct sheet_row *rows,
						   const struct case_result *c, const char *metric,
						   const struct device_info *device)
{
	int capability = device ? device->capability_major * 10 + device->capability_minor : 0;

	for (const struct sheet_row *row = rows; row && row->metric; row++)
		if (strcmp(row->metric, metric) == 0 && quantity_parameters_match(row, c) &&
		    capability >= row->capability_from &&
		    (!row->capability_to || (capability && capability <= row->capability_to)))
			return row;
	return NULL;
}

struct quantity quantity_of_row(const struct sheet_row *row)
{
	const struct quantity *q = row->quantity ? quantity_find(row->quantity) : NULL;

	return q ? *q : (struct quantity){ .peak = { row->key, NULL }, .peak_factor = 1 };
}
