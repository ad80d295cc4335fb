/*
 * Cost of allocating and freeing memory, of failing at it, and of starting a process: one operation
 * a file, suites/alloc/alloc.h names them.
 */
#include "suites/alloc/alloc.h"

#include "base/units.h"
#include "plan/suite.h"
#include "suites/shared/words.h"

#define X(symbol, name, on_device, description) name,
#define RULES(symbol, name, description) #name,
static const char *const allocator_names[] = { ALLOCATORS(X) CACHING_RULES(RULES) "arena", NULL };
#undef RULES
#undef X
/* In the order of the enums in suites/alloc/alloc.h. */
static const char *const operations[] = { "alloc",  "free",     "contend", "cost",
					  "grow",   "fragment", "fail",    "exhaust",
					  "create", "start",    NULL };
static const char *const states[] = { "cold", "reused", NULL };
static const char *const growths[] = { "once", "copy", "double", "map", NULL };
static const char *const creations[] = { "device", "copy", "pinned", NULL };
static const char *const scenarios[] = { "checkerboard", "alternating", NULL };
static const char *const loadings[] = { "lazy", "eager", NULL };

static const struct key keys[] = {
	{ .name = "allocators",
	  .type = KEY_CHOICE,
	  .list = true,
	  .fallback = "device, pool, pool_release, vmm, managed, caching, pinned, write_combined, "
		      "registered, pageable",
	  .choices = allocator_names,
	  .parameter = "allocator",
	  .help = "where the memory comes from; on top of device: caching by PyTorch's rules, bfc "
		  "and bfc_growth by TensorFlow's, arena: one allocation, the lowest gap" },
	{ .name = "operations",
	  .type = KEY_CHOICE,
	  .list = true,
	  .fallback = "alloc, free, fail",
	  .choices = operations,
	  .parameter = "operation",
	  .help = "fail: more than all memory; exhaust: until none is left, which others notice; "
		  "create: a tensor of constants; start: context, first kernel, libraries in a "
		  "fresh "
		  "process" },
	{ .name = "states",
	  .type = KEY_CHOICE,
	  .list = true,
	  .fallback = "cold, reused",
	  .choices = states,
	  .parameter = "state",
	  .help = "alloc only: reused: of a size freed just before; cold: nothing to reuse" },
	{ .name = "fills",
	  .type = KEY_PERCENT,
	  .list = true,
	  .fallback = "0 %",
	  .min = 0,
	  .max = 0.99,
	  .parameter = "fill",
	  .help = "alloc and free: share of the free device memory that is taken before" },
	{ .name = "threads",
	  .type = KEY_INTEGER,
	  .list = true,
	  .fallback = "1, 4",
	  .min = 1,
	  .max = 64,
	  .help = "contend: threads that allocate and free at once" },
	{ .name = "streams",
	  .type = KEY_INTEGER,
	  .list = true,
	  .fallback = "1, 4",
	  .min = 1,
	  .max = 64,
	  .help = "contend, of the pools: streams that the threads take in turn" },
	{ .name = "growths",
	  .type = KEY_CHOICE,
	  .list = true,
	  .fallback = "once, copy, double, map",
	  .choices = growths,
	  .parameter = "growth",
	  .help = "grow: all at once, or step by step: copy to a larger block, to one of twice the "
		  "size, or map memory into reserved addresses (vmm)" },
	{ .name = "creations",
	  .type = KEY_CHOICE,
	  .list = true,
	  .fallback = "device, copy, pinned",
	  .choices = creations,
	  .parameter = "creation",
	  .help = "create: written by the device, or by the CPU and copied, from ordinary or from "
		  "page-locked memory" },
	{ .name = "scenarios",
	  .type = KEY_CHOICE,
	  .list = true,
	  .fallback = "checkerboard, alternating",
	  .choices = scenarios,
	  .parameter = "scenario",
	  .help = "fragment: every other block freed, or training steps with batches of different "
		  "size" },
	{ .name = "logical_devices",
	  .type = KEY_INTEGER,
	  .list = true,
	  .fallback = "1",
	  .min = 1,
	  .max = 2,
	  .help = "fragment, of caching, bfc, bfc_growth, arena: logical devices on the one "
		  "device, "
		  "each with its own span and limit, that go through the scenario in turns" },
	{ .name = "loadings",
	  .type = KEY_CHOICE,
	  .list = true,
	  .fallback = "lazy, eager",
	  .choices = loadings,
	  .parameter = "loading",
	  .help = "start: CUDA_MODULE_LOADING: kernels are loaded when first used, or all at "
		  "once" },
	{ .name = "sizes",
	  .type = KEY_SIZE,
	  .list = true,
	  .fallback = "4KiB..256MiB *16, 1GiB",
	  .min = 16,
	  .max = 0x1p44,
	  .parameter = "size",
	  .help = "bytes of one allocation; grow: of the full size" },
	{ .name = "steps",
	  .type = KEY_INTEGER,
	  .fallback = "16",
	  .min = 1,
	  .max = 4096,
	  .help = "grow: of the same size each" },
	{ .name = "span",
	  .type = KEY_SIZE,
	  .fallback = "2GiB",
	  .min = 0x1p22,
	  .max = 0x1p40,
	  .help = "fragment: memory that is cut into pieces; an eighth of it more is left" },
	{ .name = "memory_fraction",
	  .type = KEY_PERCENT,
	  .fallback = "25 %",
	  .min = 0.01,
	  .max = 0.95,
	  .help = "bfc, bfc_growth, arena: share of the free memory that they may take; bfc and "
		  "arena take it all at once" },
	{ 0 },
};

static const char *const axes[] = { "allocators", "operations",      "states",   "fills",
				    "threads",    "streams",         "growths",  "creations",
				    "scenarios",  "logical_devices", "loadings", "sizes",
				    NULL };

/* Metrics of one step of the staircase. */
#define START(what, help_time, help_memory)                                        \
	{ "alloc.start_time_" what, "s", BETTER_LOWER, 0, help_time },             \
		{ "alloc.start_memory_" what, "B", BETTER_LOWER, 0, help_memory }, \
	{                                                                          \
		"alloc.start_resident_" what, "B", BETTER_LOWER, 0,                \
			"the same in host memory of the process"                   \
	}

static const struct metric metrics[] = {
	{ "alloc.latency", "s", BETTER_LOWER, 1,
	  "one call that allocates or frees; ordinary and registered host memory is touched in it",
	  METRIC_HOST },
	{ "alloc.latency_p95", "s", BETTER_LOWER, 0, "19 of 20 calls are faster", METRIC_HOST },
	{ "alloc.latency_p99", "s", BETTER_LOWER, 0,
	  "99 of 100 calls are faster; from 100 calls or more", METRIC_HOST },
	{ "alloc.first", "s", BETTER_LOWER, 0, "the first call of the case", METRIC_HOST },
	{ "alloc.rate", "B/s", BETTER_HIGHER, 0,
	  "host memory: bytes touched or page-locked per second", METRIC_HOST },
	{ "alloc.usable", "s", BETTER_LOWER, 0,
	  "stream-ordered pool: the call and the synchronisation after which any stream may use "
	  "the memory",
	  METRIC_HOST },
	{ "alloc.pair", "s", BETTER_LOWER, 1,
	  "allocating and freeing a block, while other threads do the same", METRIC_HOST },
	{ "alloc.pair_rate", "Hz", BETTER_HIGHER, 0, "such pairs of all threads per second",
	  METRIC_HOST },
	{ "alloc.cost", "B", BETTER_LOWER, 1, "what a block takes, on average over many" },
	{ "alloc.cost_ratio", "1", BETTER_LOWER, 0, "that over its size", METRIC_EXACT },
	{ "alloc.granularity", "B", BETTER_NONE, 0,
	  "the unit in which the allocator takes memory, if it reports one" },
	{ "alloc.alignment", "B", BETTER_NONE, 0,
	  "the largest power of two that divides all addresses" },
	{ "alloc.growth", "s", BETTER_LOWER, 1,
	  "growing from nothing to the full size, to the end of the last copy", METRIC_HOST },
	{ "alloc.growth_memory", "B", BETTER_LOWER, 0, "memory taken at most while growing" },
	{ "alloc.create", "s", BETTER_LOWER, 1,
	  "writing a tensor of constants, until it is on the device", METRIC_HOST },
	{ "alloc.create_rate", "B/s", BETTER_HIGHER, 0, "its bytes per second", METRIC_HOST },
	{ "alloc.step", "s", BETTER_LOWER, 0,
	  "alternating: allocating and freeing what one step needs, 12 blocks", METRIC_HOST },
	{ "alloc.step_alone", "s", BETTER_NONE, 0,
	  "with two logical devices: the same while only the first has steps", METRIC_HOST },
	{ "alloc.step_slowdown", "1", BETTER_LOWER, 0,
	  "with two logical devices: a step when both have theirs in turns / alone, the median of "
	  "pairs" },
	{ "alloc.isolated", "1", BETTER_HIGHER, 0,
	  "1: a logical device is refused what is beyond its limit, and the other still gets its "
	  "own; 0: not",
	  METRIC_EXACT },
	{ "alloc.external_frag_second", "1", BETTER_LOWER, 0,
	  "external fragmentation of the second logical device", METRIC_EXACT, .percent = true },
	{ "alloc.largest_free_second", "B", BETTER_HIGHER, 0,
	  "the largest block that can be had on it" },
	{ "alloc.reserved", "B", BETTER_LOWER, 0,
	  "caching, bfc, arena: taken from the device after the steps" },
	{ "alloc.external_frag", "1", BETTER_LOWER, 1,
	  "1 - (largest block that can be had) / (all that is free)", METRIC_EXACT, .percent = true,
	  .title = "external fragmentation" },
	{ "alloc.largest_free", "B", BETTER_HIGHER, 0,
	  "the largest block that can be had, found by trying" },
	{ "alloc.total_free", "B", BETTER_NONE, 0, "all that is free" },
	{ "alloc.fits_block", "1", BETTER_HIGHER, 0,
	  "1: a block of a 64th of the span can be had; 0: not", METRIC_EXACT },
	{ "alloc.fits_double", "1", BETTER_HIGHER, 0, "1: of a 32nd", METRIC_EXACT },
	{ "alloc.fits_quarter", "1", BETTER_HIGHER, 0, "1: of a quarter", METRIC_EXACT },
	{ "alloc.kept", "B", BETTER_LOWER, 0,
	  "device memory that the allocator keeps when all is freed" },
	{ "alloc.failure", "s", BETTER_LOWER, 0, "one call that fails for want of memory",
	  METRIC_HOST },
	{ "alloc.granted", "B", BETTER_HIGHER, 0, "memory granted before the first failure" },
	{ "alloc.granted_share", "1", BETTER_HIGHER, 0, "that over what was free", METRIC_EXACT,
	  .percent = true },
	{ "alloc.recovered", "1", BETTER_HIGHER, 0,
	  "1: after the refusal memory was allocated, filled and checked, and all of it was back; "
	  "0: not",
	  METRIC_EXACT },
	{ "alloc.lost", "B", BETTER_LOWER, 0, "device memory not back after the failure" },
	{ "alloc.start_time", "s", BETTER_LOWER, 1,
	  "from a process without a device to one that has used all of it: the sum of the steps",
	  METRIC_HOST },
	{ "alloc.start_memory", "B", BETTER_LOWER, 0, "device memory that is taken then" },
	{ "alloc.start_resident", "B", BETTER_LOWER, 0, "host memory that is taken then" },
	START("driver", "loading the backend and finding the devices", "device memory it takes"),
	START("context", "opening the device", "device memory that the context takes"),
	START("kernel", "the first kernel, until it is done", "device memory it takes"),
	START("blas", "the first matrix product: library, handle, workspace, kernel",
	      "device memory it takes"),
	START("collectives", "a communicator of one rank and its first all-reduce",
	      "device memory it takes"),
	{ 0 },
};

/* More allocators than a chart has lines. */
#define ON_DEVICE                                                                          \
	"allocator", "device", "pool", "pool_release", "vmm", "managed", "caching", "bfc", \
		"bfc_growth", "arena"
#define ON_HOST "allocator", "pinned", "write_combined", "registered", "pageable"

static const struct figure_row figures[] = {
	{ .metric = "alloc.latency",
	  .kind = "lines",
	  .logarithmic = true,
	  .facets = { "operation", "state", "fill" },
	  .of = "device memory",
	  .only = { ON_DEVICE } },
	{ .metric = "alloc.latency",
	  .kind = "lines",
	  .logarithmic = true,
	  .facets = { "operation", "state" },
	  .of = "host memory",
	  .only = { ON_HOST } },
	{ .metric = "alloc.latency",
	  .kind = "strip",
	  .logarithmic = true,
	  .facets = { "operation", "state", "fill" } },
	{ .metric = "alloc.pair",
	  .kind = "lines",
	  .logarithmic = true,
	  .axis = "threads",
	  .facets = { "size", "streams" } },
	{ .metric = "alloc.cost_ratio",
	  .kind = "lines",
	  .logarithmic = true,
	  .only = { ON_DEVICE } },
	{ .metric = "alloc.growth",
	  .kind = "bars",
	  .logarithmic = true,
	  .bars = { "allocator", "growth" } },
	{ .metric = "alloc.create_rate", .kind = "lines", .logarithmic = true },
	{ .metric = "alloc.growth_memory", .kind = "bars", .bars = { "allocator", "growth" } },
	{ .metric = "alloc.external_frag",
	  .kind = "bars",
	  .facets = { "scenario", "logical_devices" },
	  .bars = { "allocator" } },
	{ .metric = "alloc.start_time", .kind = "stacked", .parts = "alloc.start_time_" },
	{ .metric = "alloc.start_memory", .kind = "stacked", .parts = "alloc.start_memory_" },
	{ .metric = "alloc.start_resident", .kind = "stacked", .parts = "alloc.start_resident_" },
	{ .metric = "alloc.failure", .kind = "bars", .logarithmic = true },
	{ 0 },
};

static const struct table_row tables[] = {
	{ .title = "Fragmentation: what still fits when free memory is in pieces (1: the request "
		   "fits, 0: not)",
	  .columns = { "alloc.external_frag", "alloc.total_free", "alloc.largest_free",
		       "alloc.fits_block", "alloc.fits_double", "alloc.fits_quarter", "alloc.kept",
		       "alloc.step", "alloc.reserved" },
	  .without = { "operation" } },
	{ .title =
		  "Two logical devices on one, each with a limit (isolated 1: what one is refused, "
		  "the other still has)",
	  .columns = { "alloc.isolated", "alloc.external_frag", "alloc.external_frag_second",
		       "alloc.largest_free", "alloc.largest_free_second", "alloc.step",
		       "alloc.step_alone", "alloc.step_slowdown" },
	  .without = { "operation" } },
	{ .title = "What a block really takes",
	  .columns = { "alloc.cost", "alloc.cost_ratio", "alloc.granularity", "alloc.alignment" },
	  .without = { "operation" } },
	{ .title = "Using up the device",
	  .columns = { "alloc.granted", "alloc.granted_share", "alloc.failure", "alloc.lost" },
	  .without = { "operation" } },
	{ 0 },
};

static const struct word_row words[] = {
	ALLOCATOR_WORDS,
	{ "fill", "*", "card * full" },
	{ "growth", "once", "all at once" },
	{ "growth", "copy", "by copying" },
	{ "growth", "double", "by copying, doubled" },
	{ "growth", "map", "by mapping" },
	{ "creation", "device", "by the device" },
	{ "creation", "copy", "by the CPU, and copied" },
	{ "creation", "pinned", "by the CPU into page-locked memory, and copied" },
	{ "loading", "lazy", "lazy loading" },
	{ "loading", "eager", "eager loading" },
	{ 0 },
};

/* The share of the memory must hold the case: else it says nothing about the allocator. */
static enum status check_fraction(const struct run *run, enum alloc_operation operation, int kind,
				  struct error *err)
{
	uint64_t limit = alloc_limit(run, kind);
	char needed[32], left[32];

	if (limit == 0 || operation == OPERATION_FRAGMENT || limit >= run->c->device_bytes)
		return STATUS_OK;
	return error_set(err, STATUS_UNSUPPORTED,
			 "the case needs %s, and memory_fraction leaves %s",
			 units_size(run->c->device_bytes, needed, sizeof(needed)),
			 units_size(limit, left, sizeof(left)));
}

static enum status alloc_run(struct run *run, struct error *err)
{
	enum alloc_operation operation = (enum alloc_operation)case_integer(run->c, "operations");
	int kind;

	if (operation == OPERATION_START)
		return alloc_start(run, err);
	if (operation == OPERATION_CREATE)
		return alloc_create(run, err);
	kind = origin_from_name(case_text(run->c, "allocators"));
	if (check_fraction(run, operation, kind, err) != STATUS_OK)
		return err->status;
	switch (operation) {
	case OPERATION_CONTEND:
		return alloc_contend(run, kind, err);
	case OPERATION_COST:
		return alloc_cost(run, kind, err);
	case OPERATION_GROW:
		return alloc_grow(run, kind, err);
	case OPERATION_FRAGMENT:
		return alloc_fragment(run, kind, err);
	case OPERATION_FAIL:
		return alloc_failure(run, kind, err);
	case OPERATION_EXHAUST:
		return alloc_exhaust(run, kind, err);
	default:
		return alloc_calls(run, operation, kind, err);
	}
}

static const struct sheet_row sheet[] = {
	{ "alloc.start_memory_context", { "operation", "start" }, .quantity = "context_memory" },
	{ 0 },
};

const struct suite suite_alloc = {
	.name = "alloc",
	.summary = "what it costs to allocate and free memory, to fail at it, and to start",
	.keys = keys,
	.axes = axes,
	.metrics = metrics,
	.figures = figures,
	.tables = tables,
	.words = words,
	.sheet = sheet,
	.processes = SUITE_ONE_PROCESS,
	.fresh_processes = true,
	.expand = alloc_expand,
	.run = alloc_run,
};
