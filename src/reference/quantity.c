#include "reference/quantity.h"

#include <stddef.h>
#include <string.h>

#include "base/memory.h"

#define MEMORY "Device memory"
#define ARITHMETIC "Matrix products"
#define LINKS "Links"
#define GROUPS "Collectives"
#define LATENCY "Latency"
#define TRAINING "Training"

#define PEAK(key)         \
	{                 \
		key, NULL \
	}
#define LINK                                         \
	{                                            \
		"nvlink_bandwidth", "pcie_bandwidth" \
	}
#define NOTHING            \
	{                  \
		NULL, NULL \
	}

/* One pass over arrays, BabelStream's count of bytes. */
#define STREAM(name_, title_, operation_)                                               \
	{                                                                               \
		.name = name_, .unit = "B/s", .better = BETTER_HIGHER, .title = title_, \
		.group = MEMORY, .peak = PEAK("memory_bandwidth"), .peak_factor = 1,    \
		.metric = "stream.bandwidth", .parameters = {                           \
			{ "operation", operation_ },                                    \
			{ "precision", "fp64" }                                         \
		}                                                                       \
	}
#define GEMM(name_, title_, peak_, precision_, from_, to_)                                 \
	{                                                                                  \
		.name = name_, .unit = "FLOP/s", .better = BETTER_HIGHER, .title = title_, \
		.group = ARITHMETIC, .peak = peak_, .peak_factor = 1,                      \
		.metric = precision_ ? "matmul.throughput" : NULL,                         \
		.parameters = { { "precision", precision_ } }, .capability_from = from_,   \
		.capability_to = to_                                                       \
	}
#define HOST_LINK(name_, title_, direction_)                                            \
	{                                                                               \
		.name = name_, .unit = "B/s", .better = BETTER_HIGHER, .title = title_, \
		.group = LINKS, .peak = PEAK("pcie_bandwidth"), .peak_factor = 1,       \
		.metric = "transfer.bandwidth", .parameters = {                         \
			{ "direction", direction_ },                                    \
			{ "memory", "pinned" }                                          \
		}                                                                       \
	}
#define PEER(name_, title_, direction_, factor_)                                        \
	{                                                                               \
		.name = name_, .unit = "B/s", .better = BETTER_HIGHER, .title = title_, \
		.group = LINKS, .peak = LINK, .peak_factor = factor_,                   \
		.metric = "transfer.bandwidth", .parameters = {                         \
			{ "direction", direction_ },                                    \
			{ "access", "on" }                                              \
		}                                                                       \
	}
#define LAUNCH(name_, title_, operation_)                                            \
	{                                                                            \
		.name = name_, .unit = "s", .better = BETTER_LOWER, .title = title_, \
		.group = LATENCY, .metric = "launch.time", .parameters = {           \
			{ "operation", operation_ }                                  \
		}                                                                    \
	}
/* No metric of this program: known only from publications. */
#define PUBLISHED(name_, unit_, better_, title_, group_)                                           \
	{                                                                                          \
		.name = name_, .unit = unit_, .better = better_, .title = title_, .group = group_, \
		.peak = NOTHING                                                                    \
	}

const struct quantity quantities[] = {
	STREAM("memory_copy", "STREAM copy", "copy"),
	STREAM("memory_scale", "STREAM scale", "mul"),
	STREAM("memory_triad", "STREAM triad", "triad"),
	{ .name = "device_copy",
	  .unit = "B/s",
	  .better = BETTER_HIGHER,
	  .title = "Copy within a device, read and write counted",
	  .group = MEMORY,
	  .peak = PEAK("memory_bandwidth"),
	  .peak_factor = 1,
	  .metric = "transfer.bandwidth",
	  .parameters = { { "direction", "local" } },
	  .factor = 2 },
	{ .name = "managed_triad",
	  .unit = "B/s",
	  .better = BETTER_HIGHER,
	  .title = "Triad in managed memory",
	  .group = MEMORY,
	  .peak = PEAK("memory_bandwidth"),
	  .peak_factor = 1 },
	{ .name = "context_memory",
	  .unit = "B",
	  .better = BETTER_LOWER,
	  .title = "Memory that a context takes",
	  .group = MEMORY,
	  .metric = "alloc.start_memory_context",
	  .parameters = { { "operation", "start" } } },
	GEMM("gemm_fp64", "FP64 GEMM", PEAK("fp64"), "fp64", 0, 79),
	/* From 8.0 on, cuBLAS computes FP64 with tensor cores. */
	{ .name = "gemm_fp64_tensor",
	  .unit = "FLOP/s",
	  .better = BETTER_HIGHER,
	  .title = "FP64 GEMM, tensor cores",
	  .group = ARITHMETIC,
	  .peak = { "fp64_tensor", "fp64" },
	  .peak_factor = 1,
	  .metric = "matmul.throughput",
	  .parameters = { { "precision", "fp64" } },
	  .capability_from = 80 },
	GEMM("gemm_fp32", "FP32 GEMM", PEAK("fp32"), "fp32", 0, 0),
	GEMM("gemm_tf32", "TF32 GEMM", PEAK("tf32_tensor"), "tf32", 80, 0),
	GEMM("gemm_fp16_storage", "FP16 storage, FP32 arithmetic", PEAK("fp32"), "fp16", 0, 69),
	GEMM("gemm_fp16_tensor", "FP16 GEMM, tensor cores", PEAK("fp16_tensor"), "fp16", 70, 0),
	GEMM("gemm_fp16", "FP16 arithmetic without tensor cores", PEAK("fp16"), "fp16_acc16", 53,
	     69),
	GEMM("gemm_bf16", "BF16 GEMM, tensor cores", PEAK("bf16_tensor"), "bf16", 80, 0),
	GEMM("gemm_fp8", "FP8 GEMM, tensor cores", PEAK("fp8_tensor"), "fp8", 89, 0),
	{ .name = "gemm_int8",
	  .unit = "ops/s",
	  .better = BETTER_HIGHER,
	  .title = "INT8 GEMM",
	  .group = ARITHMETIC,
	  .peak = { "int8_tensor", "int8" },
	  .peak_factor = 1,
	  .metric = "matmul.throughput",
	  .parameters = { { "precision", "int8" } } },
	HOST_LINK("host_to_device", "Host to device, page-locked", "h2d"),
	HOST_LINK("device_to_host", "Device to host, page-locked", "d2h"),
	PEER("peer_copy", "Peer copy, one direction", "p2p", 1),
	PEER("peer_copy_both", "Peer copy, sum of both directions", "p2p_both", 2),
	{ .name = "bar1_write",
	  .unit = "B/s",
	  .better = BETTER_HIGHER,
	  .title = "CPU stores into device memory",
	  .group = LINKS,
	  .peak = PEAK("pcie_bandwidth"),
	  .peak_factor = 1 },
	{ .name = "all_reduce",
	  .unit = "B/s",
	  .better = BETTER_HIGHER,
	  .title = "All-reduce, bus bandwidth",
	  .group = GROUPS,
	  .peak = LINK,
	  .peak_factor = 1,
	  .metric = "collective.busbw",
	  .parameters = { { "operation", "all_reduce" } } },
	PUBLISHED("all_reduce_time", "s", BETTER_LOWER, "All-reduce, small", GROUPS),
	LAUNCH("launch", "Kernel launch, many in a row", "throughput"),
	LAUNCH("launch_wait", "Kernel launch and wait", "latency"),
	PUBLISHED("peer_latency", "s", BETTER_LOWER, "Peer copy, smallest", LATENCY),
	PUBLISHED("memory_latency", "cycles", BETTER_LOWER, "Device memory, pointer chase",
		  LATENCY),
	PUBLISHED("training_rate", "images/s", BETTER_HIGHER, "Training", TRAINING),
	PUBLISHED("training_step", "s", BETTER_LOWER, "Training step", TRAINING),
	{ 0 },
};

const struct quantity *quantity_find(const char *name)
{
	for (const struct quantity *q = quantities; q->name; q++)
		if (strcmp(q->name, name) == 0)
			return q;
	return NULL;
}

static bool parameters_match(const struct quantity *q, const struct case_result *c)
{
	for (size_t i = 0; i < ARRAY_SIZE(q->parameters) && q->parameters[i].name; i++) {
		const struct case_parameter *p = case_parameter(c, q->parameters[i].name);

		if (!p || !p->text || strcmp(p->text, q->parameters[i].word) != 0)
			return false;
	}
	return true;
}

static bool capability_matches(const struct quantity *q, const struct device_info *device)
{
	int capability = device ? device->capability_major * 10 + device->capability_minor : 0;

	return capability >= q->capability_from &&
	       (!q->capability_to || (capability && capability <= q->capability_to));
}

const struct quantity *quantity_of_case(const struct case_result *c, const char *metric,
					const struct device_info *device)
{
	for (const struct quantity *q = quantities; q->name; q++)
		if (q->metric && strcmp(q->metric, metric) == 0 && parameters_match(q, c) &&
		    capability_matches(q, device))
			return q;
	return NULL;
}
