/*
 * The charts that a suite gets instead of the usual ones.
 *
 * Adding a chart: a row in figure_rules. Adding a kind of chart: chart/chart.h.
 */
#include "base/memory.h"
#include "report/figure/figure.h"

#define PRECISIONS(metric_, scale)                                                                 \
	{                                                                                          \
		.suite = "matmul", .metric = metric_, .kind = CHART_BARS, .y_scale = scale,        \
		.bars = { "precision" }, .compare = {                                              \
			"precision",                                                               \
			"fp16",                                                                    \
			"fp32"                                                                     \
		}                                                                                  \
	}
#define SPLITS(metric_, ...)                                                                       \
	{                                                                                          \
		.suite = "parallel", .metric = metric_, .kind = CHART_BARS,                        \
		.bars = { "mode", "devices", "microbatches", "bucket" }, __VA_ARGS__               \
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
	  .of = "device memory",
	  .only = { ON_DEVICE } },
	{ .suite = "alloc",
	  .metric = "alloc.latency",
	  .kind = CHART_LINES,
	  .y_scale = SCALE_LOG10,
	  .facets = { "operation", "state" },
	  .of = "host memory",
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
	SPLITS("parallel.step_time", .means = "One training step on the slowest device"),
	SPLITS("parallel.speedup", .reference = 1, .ideal = "devices",
	       .means = "Time of the same step on one device (measured in the same case) / step time"),
	SPLITS("parallel.efficiency", .means = "Speed-up / number of devices"),
	SPLITS("parallel.weak_efficiency", .means = "Time of one device with its part of the batch / step time"),
	SPLITS("parallel.prediction_error", .means = "Predicted step time / measured one \u2212 1; best at 0"),
	SPLITS("parallel.exposed_communication",
	       .means = "Part of the step that neither computing nor the schedule's idle time hides"),
	SPLITS("parallel.idle", .means = "Part of the step in which a device does not compute, mean over the devices"),
	{ .suite = "parallel",
	  .metric = "parallel.memory",
	  .kind = CHART_STACKED,
	  .parts = "parallel.memory_" },
	{ .suite = "trainmem",
	  .metric = "trainmem.memory",
	  .kind = CHART_STACKED,
	  .facets = { "study" },
	  .parts = "trainmem.memory_" },
	{ .suite = "trainmem", .metric = "trainmem.activations_saved", .kind = CHART_BARS,
	  .means = "Part of the plain step's activations that this one does without" },
	{ .suite = "trainmem", .metric = "trainmem.slowdown", .kind = CHART_BARS, .reference = 1,
	  .means = "Step time / that of the plain step: everything kept, in one allocation" },
	{ .suite = "trainmem", .metric = "trainmem.reserved_ratio", .kind = CHART_BARS,
	  .means = "The most that was taken from the device / the most in use" },
	{ .suite = "trainmem", .metric = "trainmem.fragmentation", .kind = CHART_BARS,
	  .means = "Part of the free memory that the largest request that is granted leaves" },
	{ .suite = "trainmem", .metric = "trainmem.largest_batch", .kind = CHART_BARS,
	  .means = "Largest batch whose step fits, found by trying" },
	{ .suite = "trainmem", .metric = "trainmem.largest_width", .kind = CHART_BARS,
	  .means = "Largest width of the hidden layers whose step fits, found by trying" },
};

const size_t figure_rule_count = ARRAY_SIZE(figure_rules);
