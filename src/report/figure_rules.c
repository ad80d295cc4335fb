/* The charts that a suite gets instead of the usual ones. */
#include "base/memory.h"
#include "report/figure.h"

#define PRECISIONS(metric_, scale)                                                                 \
	{                                                                                          \
		.suite = "matmul", .metric = metric_, .kind = CHART_BARS, .y_scale = scale,        \
		.bars = { "precision" }, .compare = {                                              \
			"precision",                                                               \
			"fp16",                                                                    \
			"fp32"                                                                     \
		}                                                                                  \
	}
#define SPLITS(metric_, reference_, ideal_)                                                        \
	{                                                                                          \
		.suite = "parallel", .metric = metric_, .kind = CHART_BARS,                        \
		.reference = reference_, .bars = { "mode", "devices", "microbatches", "bucket" },  \
		.ideal = ideal_                                                                    \
	}

/* More allocators than a chart has lines. */
#define ON_DEVICE "allocator", "device", "pool", "pool_release", "vmm", "managed", "caching"
#define ON_HOST "allocator", "pinned", "write_combined", "registered", "pageable"

const struct figure_rule figure_rules[] = {
	{ .suite = "transfer",
	  .metric = "transfer.bandwidth",
	  .kind = CHART_LINES,
	  .facets = { "direction", "engine", "access" } },
	{ .suite = "transfer",
	  .metric = "transfer.bandwidth",
	  .kind = CHART_HEATMAP,
	  .facets = { "direction", "engine", "access" } },
	{ .suite = "transfer",
	  .metric = "transfer.latency",
	  .kind = CHART_LINES,
	  .y_scale = SCALE_LOG10,
	  .facets = { "direction" } },
	{ .suite = "transfer",
	  .metric = "transfer.latency",
	  .kind = CHART_HEATMAP,
	  .facets = { "direction" } },
	{ .suite = "alloc",
	  .metric = "alloc.latency",
	  .kind = CHART_LINES,
	  .y_scale = SCALE_LOG10,
	  .facets = { "operation", "state", "fill" },
	  .only = { ON_DEVICE } },
	{ .suite = "alloc",
	  .metric = "alloc.latency",
	  .kind = CHART_LINES,
	  .y_scale = SCALE_LOG10,
	  .facets = { "operation", "state" },
	  .only = { ON_HOST } },
	{ .suite = "alloc",
	  .metric = "alloc.latency",
	  .kind = CHART_STRIP,
	  .y_scale = SCALE_LOG10,
	  .facets = { "operation", "state", "fill" } },
	{ .suite = "alloc",
	  .metric = "alloc.pair",
	  .kind = CHART_LINES,
	  .y_scale = SCALE_LOG10,
	  .axis = "threads",
	  .facets = { "size", "streams" } },
	{ .suite = "alloc",
	  .metric = "alloc.cost_ratio",
	  .kind = CHART_LINES,
	  .y_scale = SCALE_LOG10,
	  .only = { ON_DEVICE } },
	{ .suite = "alloc",
	  .metric = "alloc.growth",
	  .kind = CHART_BARS,
	  .y_scale = SCALE_LOG10,
	  .bars = { "allocator", "growth" } },
	{ .suite = "alloc",
	  .metric = "alloc.growth_memory",
	  .kind = CHART_BARS,
	  .bars = { "allocator", "growth" } },
	{ .suite = "alloc",
	  .metric = "alloc.external_frag",
	  .kind = CHART_BARS,
	  .facets = { "scenario" },
	  .bars = { "allocator" } },
	{ .suite = "alloc",
	  .metric = "alloc.start_time",
	  .kind = CHART_STACKED,
	  .parts = "alloc.start_time_" },
	{ .suite = "alloc",
	  .metric = "alloc.start_memory",
	  .kind = CHART_STACKED,
	  .parts = "alloc.start_memory_" },
	{ .suite = "alloc",
	  .metric = "alloc.start_resident",
	  .kind = CHART_STACKED,
	  .parts = "alloc.start_resident_" },
	{ .suite = "alloc", .metric = "alloc.failure", .kind = CHART_BARS, .y_scale = SCALE_LOG10 },
	PRECISIONS("matmul.throughput", SCALE_LINEAR),
	PRECISIONS("matmul.memory", SCALE_LINEAR),
	PRECISIONS("matmul.error", SCALE_LOG10),
	{ .suite = "collective",
	  .metric = "collective.busbw",
	  .kind = CHART_LINES,
	  .facets = { "operation" } },
	{ .suite = "collective",
	  .metric = "collective.time",
	  .kind = CHART_LINES,
	  .y_scale = SCALE_LOG10,
	  .fitted = true,
	  .facets = { "operation" } },
	SPLITS("parallel.step_time", 0, NULL),
	SPLITS("parallel.speedup", 1, "devices"),
	SPLITS("parallel.efficiency", 0, NULL),
	SPLITS("parallel.weak_efficiency", 0, NULL),
	SPLITS("parallel.prediction_error", 0, NULL),
	SPLITS("parallel.exposed_communication", 0, NULL),
	SPLITS("parallel.idle", 0, NULL),
	{ .suite = "parallel",
	  .metric = "parallel.memory",
	  .kind = CHART_STACKED,
	  .parts = "parallel.memory_" },
	{ .suite = "trainmem",
	  .metric = "trainmem.memory",
	  .kind = CHART_STACKED,
	  .facets = { "study" },
	  .parts = "trainmem.memory_" },
	{ .suite = "trainmem", .metric = "trainmem.activations_saved", .kind = CHART_BARS },
	{ .suite = "trainmem", .metric = "trainmem.slowdown", .kind = CHART_BARS, .reference = 1 },
	{ .suite = "trainmem", .metric = "trainmem.reserved_ratio", .kind = CHART_BARS,
	  .reference = 1 },
	{ .suite = "trainmem", .metric = "trainmem.fragmentation", .kind = CHART_BARS },
	{ .suite = "trainmem", .metric = "trainmem.largest_batch", .kind = CHART_BARS },
	{ .suite = "trainmem", .metric = "trainmem.largest_width", .kind = CHART_BARS },
};

const size_t figure_rule_count = ARRAY_SIZE(figure_rules);
