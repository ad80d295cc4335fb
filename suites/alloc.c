/*
 * Cost of allocating and freeing memory, of failed allocations, and of starting a process; one file
 * per operation, listed in suites/alloc/alloc.h.
 */
#include "suites/alloc/alloc.h"

#include <math.h>
#include <string.h>

#include "base/units.h"
#include "plan/suite.h"
#include "suites/shared/buffers.h"
#include "suites/shared/words.h"

/*
 * Time to create a tensor of constants on the device. Methods:
 *   device  a kernel or the device's memset writes it
 *   copy    the CPU writes pageable memory, which is copied
 *   pinned  the CPU writes page-locked memory, which is copied
 * All memory is allocated before: only writing and copying are timed, up to the end of the copy.
 */
#define BYTE 0x5a
#define OTHER_BYTE 0xa5

struct creation {
	struct stream *stream;
	struct buffer device, host;
	enum alloc_creation method;
};

static enum status alloc_launch_create(void *state, unsigned batch, struct error *err)
{
	struct creation *c = state;
	size_t bytes = c->device.bytes;

	(void)batch; /* max_batch is 1 */
	if (c->method == CREATION_DEVICE)
		backend_memory_set(c->stream, c->device.memory, BYTE, bytes, err);
	else
		backend_copy(c->stream, c->device.memory, memset(c->host.memory, BYTE, bytes),
			     bytes, err);
	return err->status == STATUS_OK ? backend_stream_synchronize(c->stream, err) : err->status;
}

static enum status alloc_creation_measure(struct run *run, struct creation *c, struct error *err)
{
	struct workload w = { .state = c,
			      .launch = alloc_launch_create,
			      .clock = CLOCK_HOST,
			      .max_batch = 1,
			      .no_gate = true };
	const struct series *time;

	if (run_sample(run, &w, "alloc.create", &time, err) != STATUS_OK)
		return err->status;
	run_duration(run, "alloc.create", time);
	run_rate(run, "alloc.create_rate", (double)c->device.bytes, time);
	return STATUS_OK;
}

/* A tensor of constants, written on the device or copied to it. */
static enum status alloc_create(struct run *run, struct error *err)
{
	struct creation c = { .method = (enum alloc_creation)case_integer(run->c, "creations") };
	enum allocator from = c.method == CREATION_PINNED ? ALLOCATOR_PINNED : ALLOCATOR_PAGEABLE;
	size_t bytes = (size_t)case_integer(run->c, "sizes");

	if (backend_stream_create(run->devices[0], false, &c.stream, err) == STATUS_OK &&
	    buffer_alloc(&c.device, run->devices[0], ALLOCATOR_DEVICE, bytes, err) == STATUS_OK &&
	    (c.method == CREATION_DEVICE ||
	     buffer_alloc(&c.host, run->devices[0], from, bytes, err) == STATUS_OK) &&
	    alloc_creation_measure(run, &c, err) == STATUS_OK &&
	    /* Creates it over other contents. */
	    backend_memory_set(c.stream, c.device.memory, OTHER_BYTE, bytes, err) == STATUS_OK &&
	    backend_stream_synchronize(c.stream, err) == STATUS_OK &&
	    alloc_launch_create(&c, 1, err) == STATUS_OK &&
	    buffer_check_byte(&c.device, c.stream, BYTE, err) == STATUS_OK)
		run_verified(run, "every byte of the tensor, read back", NAN, NAN);
	buffer_free(&c.host);
	buffer_free(&c.device);
	backend_stream_destroy(c.stream);
	return err->status;
}

#define X(symbol, name, on_device, description) name,
#define RULES(symbol, name) #name,
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
	  .help = "allocators to test. Some of them divide device memory themselves: caching "
		  "(rules of PyTorch), bfc and bfc_growth (rules of TensorFlow), arena (one "
		  "allocation; a block takes the lowest gap)" },
	{ .name = "operations",
	  .type = KEY_CHOICE,
	  .list = true,
	  .fallback = "alloc, free, fail",
	  .choices = operations,
	  .parameter = "operation",
	  .help = "alloc, free: one call; fail: request more memory than exists; exhaust: allocate "
		  "until no memory is left, which affects other processes; create: write a tensor "
		  "of constants; start: create a context, run the first kernel and open the "
		  "libraries in a fresh process" },
	{ .name = "states",
	  .type = KEY_CHOICE,
	  .list = true,
	  .fallback = "cold, reused",
	  .choices = states,
	  .parameter = "state",
	  .help = "alloc: reused: a block of this size was freed just before; cold: the allocator "
		  "has no freed block" },
	{ .name = "fills",
	  .type = KEY_PERCENT,
	  .list = true,
	  .fallback = "0 %",
	  .min = 0,
	  .max = 0.99,
	  .parameter = "fill",
	  .help = "alloc, free: fraction of the free device memory that is occupied before the "
		  "timed calls" },
	{ .name = "threads",
	  .type = KEY_INTEGER,
	  .list = true,
	  .fallback = "1, 4",
	  .min = 1,
	  .max = 64,
	  .help = "contend: number of threads that allocate and free at the same time" },
	{ .name = "streams",
	  .type = KEY_INTEGER,
	  .list = true,
	  .fallback = "1, 4",
	  .min = 1,
	  .max = 64,
	  .help = "contend with pools: number of streams, assigned to the threads round-robin" },
	{ .name = "growths",
	  .type = KEY_CHOICE,
	  .list = true,
	  .fallback = "once, copy, double, map",
	  .choices = growths,
	  .parameter = "growth",
	  .help = "grow: once: allocate the full size at the start; copy: copy to a larger block "
		  "at each step; double: copy to a block of twice the size; map: map more memory "
		  "into reserved addresses (vmm)" },
	{ .name = "creations",
	  .type = KEY_CHOICE,
	  .list = true,
	  .fallback = "device, copy, pinned",
	  .choices = creations,
	  .parameter = "creation",
	  .help = "create: device: a kernel writes the tensor; copy, pinned: the CPU writes "
		  "pageable (copy) or page-locked (pinned) memory, which is then copied" },
	{ .name = "scenarios",
	  .type = KEY_CHOICE,
	  .list = true,
	  .fallback = "checkerboard, alternating",
	  .choices = scenarios,
	  .parameter = "scenario",
	  .help = "fragment: checkerboard: free every other block; alternating: training steps "
		  "whose batch size varies" },
	{ .name = "logical_devices",
	  .type = KEY_INTEGER,
	  .list = true,
	  .fallback = "1",
	  .min = 1,
	  .max = 2,
	  .help = "fragment with caching, bfc, bfc_growth, arena: number of logical devices on one "
		  "GPU, each with its own allocator and memory limit; their steps alternate" },
	{ .name = "loadings",
	  .type = KEY_CHOICE,
	  .list = true,
	  .fallback = "lazy, eager",
	  .choices = loadings,
	  .parameter = "loading",
	  .help = "start: value of CUDA_MODULE_LOADING: lazy: load a kernel at its first use; "
		  "eager: load all kernels at once" },
	{ .name = "sizes",
	  .type = KEY_SIZE,
	  .list = true,
	  .fallback = "4KiB..256MiB *16, 1GiB",
	  .min = 16,
	  .max = 0x1p44,
	  .parameter = "size",
	  .help = "size of one allocation; grow: size of the block after the last step" },
	{ .name = "steps",
	  .type = KEY_INTEGER,
	  .fallback = "16",
	  .min = 1,
	  .max = 4096,
	  .help = "grow: number of steps of equal size" },
	{ .name = "span",
	  .type = KEY_SIZE,
	  .fallback = "2GiB",
	  .min = 0x1p22,
	  .max = 0x1p40,
	  .help = "fragment: memory that the test divides into blocks; another eighth of it stays "
		  "free" },
	{ .name = "memory_fraction",
	  .type = KEY_PERCENT,
	  .fallback = "25 %",
	  .min = 0.01,
	  .max = 0.95,
	  .help = "bfc, bfc_growth, arena: fraction of the free memory that the allocator may use; "
		  "bfc and arena allocate all of it at the start" },
	{ 0 },
};

static const char *const axes[] = { "allocators", "operations",      "states",   "fills",
				    "threads",    "streams",         "growths",  "creations",
				    "scenarios",  "logical_devices", "loadings", "sizes",
				    NULL };

/* Metrics of one step of the start-up. */
#define START(what, help_time)                                            \
	{ "alloc.start_time_" what, "s", BETTER_LOWER, 0, help_time },    \
		{ "alloc.start_memory_" what, "B", BETTER_LOWER, 0,       \
		  "device memory that this step of the start-up adds" },  \
	{                                                                 \
		"alloc.start_resident_" what, "B", BETTER_LOWER, 0,       \
			"host memory that this step of the start-up adds" \
	}

static const struct metric metrics[] = {
	{ "alloc.latency", "s", BETTER_LOWER, 1,
	  "time of one allocation or free call. The previous block was written, read and freed "
	  "before. With pageable and registered host memory, the time includes touching every page",
	  METRIC_HOST },
	{ "alloc.latency_p95", "s", BETTER_LOWER, 0, "95th percentile of alloc.latency",
	  METRIC_HOST },
	{ "alloc.latency_p99", "s", BETTER_LOWER, 0,
	  "99th percentile of alloc.latency, over 100 calls", METRIC_HOST },
	{ "alloc.first", "s", BETTER_LOWER, 0,
	  "time of the first allocation or free call of the case", METRIC_HOST },
	{ "alloc.rate", "B/s", BETTER_HIGHER, 0,
	  "host memory: bytes touched or page-locked per second of alloc.latency", METRIC_HOST },
	{ "alloc.usable", "s", BETTER_LOWER, 0,
	  "stream-ordered pool: time from the allocation call to the end of a synchronisation, "
	  "after which any stream may use the memory",
	  METRIC_HOST },
	{ "alloc.row", "s", BETTER_LOWER, 0,
	  "stream-ordered pool, reused: mean time of one allocation and free in a row of many "
	  "without synchronisation",
	  METRIC_HOST },
	{ "alloc.pair", "s", BETTER_LOWER, 1,
	  "time of one allocation and free while other threads also allocate and free",
	  METRIC_HOST },
	{ "alloc.pair_rate", "Hz", BETTER_HIGHER, 0,
	  "pairs of allocation and free per second, sum of all threads", METRIC_HOST },
	{ "alloc.cost", "B", BETTER_LOWER, 1,
	  "device memory used per block, mean over many blocks" },
	{ "alloc.cost_ratio", "1", BETTER_LOWER, 0, "device memory used per block / requested size",
	  METRIC_EXACT },
	{ "alloc.granularity", "B", BETTER_NONE, 0,
	  "allocation granularity of the driver, if it reports one" },
	{ "alloc.alignment", "B", BETTER_NONE, 0,
	  "largest power of two that divides the addresses of all blocks" },
	{ "alloc.growth", "s", BETTER_LOWER, 1,
	  "time for a block to grow in steps from nothing to the full size, including the last "
	  "copy",
	  METRIC_HOST },
	{ "alloc.growth_memory", "B", BETTER_LOWER, 0, "peak memory while the block grows" },
	{ "alloc.create", "s", BETTER_LOWER, 1,
	  "time to write a tensor of constants, until the data is on the device", METRIC_HOST },
	{ "alloc.create_rate", "B/s", BETTER_HIGHER, 0, "bytes of the tensor / time to create it",
	  METRIC_HOST },
	{ "alloc.step", "s", BETTER_LOWER, 0,
	  "alternating: time to allocate and free the 12 blocks of one training step",
	  METRIC_HOST },
	{ "alloc.step_alone", "s", BETTER_NONE, 0,
	  "two logical devices: time to allocate and free the blocks of a step while only the "
	  "first logical device is active",
	  METRIC_HOST },
	{ "alloc.step_slowdown", "1", BETTER_LOWER, 0,
	  "two logical devices: alloc.step when both are active / alloc.step_alone, median of "
	  "pairs" },
	{ "alloc.isolated", "1", BETTER_HIGHER, 0,
	  "two logical devices: 1 if the first one is refused memory beyond its limit while the "
	  "second can still allocate, else 0",
	  METRIC_EXACT },
	{ "alloc.external_frag_second", "1", BETTER_LOWER, 0,
	  "external fragmentation of the second logical device: 1 - largest available block / free "
	  "memory",
	  METRIC_EXACT, .percent = true },
	{ "alloc.largest_free_second", "B", BETTER_HIGHER, 0,
	  "largest block that can be allocated on the second logical device" },
	{ "alloc.reserved", "B", BETTER_LOWER, 0,
	  "caching, bfc, arena: device memory that the allocator holds after the steps" },
	{ "alloc.external_frag", "1", BETTER_LOWER, 1,
	  "external fragmentation: 1 - largest available block / free memory", METRIC_EXACT,
	  .percent = true, .title = "external fragmentation" },
	{ "alloc.largest_free", "B", BETTER_HIGHER, 0,
	  "largest block that can be allocated, found by trial" },
	{ "alloc.total_free", "B", BETTER_NONE, 0, "free memory between the blocks in use" },
	{ "alloc.fits_block", "1", BETTER_HIGHER, 0,
	  "1 if a block of 1/64 of `span` can be allocated, else 0", METRIC_EXACT },
	{ "alloc.fits_double", "1", BETTER_HIGHER, 0,
	  "1 if a block of 1/32 of `span` can be allocated, else 0", METRIC_EXACT },
	{ "alloc.fits_quarter", "1", BETTER_HIGHER, 0,
	  "1 if a block of 1/4 of `span` can be allocated, else 0", METRIC_EXACT },
	{ "alloc.kept", "B", BETTER_LOWER, 0,
	  "device memory that the allocator still holds after all blocks are freed" },
	{ "alloc.failure", "s", BETTER_LOWER, 0,
	  "time of an allocation call that fails with out-of-memory", METRIC_HOST },
	{ "alloc.granted", "B", BETTER_HIGHER, 0, "memory allocated before the first failure" },
	{ "alloc.granted_share", "1", BETTER_HIGHER, 0,
	  "memory allocated before the first failure / free memory at the start", METRIC_EXACT,
	  .percent = true },
	{ "alloc.recovered", "1", BETTER_HIGHER, 0,
	  "1 if memory was allocated, filled and verified after the failure and all of it was "
	  "freed, else 0",
	  METRIC_EXACT },
	{ "alloc.lost", "B", BETTER_LOWER, 0,
	  "device memory still missing after a failed allocation, once all blocks are freed" },
	{ "alloc.start_time", "s", BETTER_LOWER, 1,
	  "start-up time, from a process without a device to one that has used all libraries: sum "
	  "over the steps",
	  METRIC_HOST },
	{ "alloc.start_memory", "B", BETTER_LOWER, 0, "device memory used at the end of start-up" },
	{ "alloc.start_resident", "B", BETTER_LOWER, 0,
	  "host memory used by the process at the end of start-up" },
	START("driver", "time to load the backend and find the devices"),
	START("context", "time to create the context of the device"),
	START("kernel", "time of the first kernel, including loading it"),
	START("blas", "time of the first GEMM: opens the library, creates handle and workspace, "
		      "loads the kernel"),
	START("collectives",
	      "time to create a communicator of one rank and run its first all-reduce"),
	{ 0 },
};

/* More allocators than a chart can show as lines. */
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
	{ .title = "Fragmentation: which requests succeed when free memory is in pieces (1: "
		   "succeeds, 0: fails)",
	  .columns = { "alloc.external_frag", "alloc.total_free", "alloc.largest_free",
		       "alloc.fits_block", "alloc.fits_double", "alloc.fits_quarter", "alloc.kept",
		       "alloc.step", "alloc.reserved" },
	  .without = { "operation" } },
	{ .title = "Two logical devices on one GPU, each with a memory limit (isolated 1: the "
		   "first is refused memory beyond its limit, the second can still allocate)",
	  .columns = { "alloc.isolated", "alloc.external_frag", "alloc.external_frag_second",
		       "alloc.largest_free", "alloc.largest_free_second", "alloc.step",
		       "alloc.step_alone", "alloc.step_slowdown" },
	  .without = { "operation" } },
	{ .title = "Device memory used per block",
	  .columns = { "alloc.cost", "alloc.cost_ratio", "alloc.granularity", "alloc.alignment" },
	  .without = { "operation" } },
	{ .title = "Allocations until the memory is full",
	  .columns = { "alloc.granted", "alloc.granted_share", "alloc.failure", "alloc.lost" },
	  .without = { "operation" } },
	{ 0 },
};

static const struct word_row words[] = {
	ALLOCATOR_WORDS,
	{ "fill", "*", "* of the GPU's memory occupied" },
	{ "growth", "once", "allocated at full size" },
	{ "growth", "copy", "grown by copying" },
	{ "growth", "double", "grown by copying to double the size" },
	{ "growth", "map", "grown by mapping" },
	{ "creation", "device", "written by the device" },
	{ "creation", "copy", "written by the CPU, then copied" },
	{ "creation", "pinned", "written by the CPU to page-locked memory, then copied" },
	{ "loading", "lazy", "lazy loading" },
	{ "loading", "eager", "eager loading" },
	{ 0 },
};

static enum status alloc_run(struct run *run, struct error *err)
{
	enum alloc_operation operation = (enum alloc_operation)case_integer(run->c, "operations");
	int kind;
	uint64_t limit;
	char needed[32], left[32];

	if (operation == OPERATION_START)
		return alloc_start(run, err);
	if (operation == OPERATION_CREATE)
		return alloc_create(run, err);
	kind = alloc_blocks_origin_from_name(case_text(run->c, "allocators"));
	limit = alloc_blocks_limit(run, kind);
	/* Otherwise the case does not test the allocator. */
	if (limit && operation != OPERATION_FRAGMENT && limit < run->c->device_bytes)
		return error_set(err, STATUS_UNSUPPORTED,
				 "the case needs %s, but memory_fraction limits the allocator to "
				 "%s",
				 units_size(run->c->device_bytes, needed, sizeof(needed)),
				 units_size(limit, left, sizeof(left)));
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
		return alloc_failure_exhaust(run, kind, err);
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
	.summary = "cost of memory allocation, free, failure and start-up",
	.keys = keys,
	.axes = axes,
	.metrics = metrics,
	.figures = figures,
	.tables = tables,
	.words = words,
	.sheet = sheet,
	.processes = SUITE_ONE_PROCESS,
	.fresh_processes = true,
	.expand = alloc_plan_expand,
	.run = alloc_run,
};
