/*
 * What it costs to get and to give back memory, one operation a sample, on the host's clock.
 *
 * States of an allocation:
 *   reused  a block of this size was freed just before: an allocator that keeps blocks has one
 *   cold    no freed block can serve it: blocks are held until there are many (alloc/blocks.h),
 *           then all are freed and the allocator's cache is given back to the device (memory_trim)
 * What the clock covers is the call. The stream-ordered pool returns before the memory can be used;
 * until then it is alloc.usable (the call and a synchronisation of its stream).
 */
#include <math.h>

#include "base/units.h"
#include "measure/run.h"
#include "suites/alloc/blocks.h"
#include "suites/buffers.h"
#include "suites/suite.h"

/* What a p99 needs. */
#define TAIL_SAMPLES 100
/* The block that proves that a device works. */
#define AFTERWARDS_BYTES ((size_t)1 << 20)

enum operation { OPERATION_ALLOC, OPERATION_FREE, OPERATION_FAIL };
enum state { STATE_COLD, STATE_REUSED };

#define X(symbol, name, on_device, description) name,
static const char *const allocator_names[] = { ALLOCATORS(X) NULL };
#undef X
static const char *const operations[] = { "alloc", "free", "fail", NULL };
static const char *const states[] = { "cold", "reused", NULL };

static const struct key keys[] = {
	{ .name = "allocators",
	  .type = KEY_CHOICE,
	  .list = true,
	  .fallback = "device, pool, pinned, write_combined, registered, pageable",
	  .choices = allocator_names,
	  .parameter = "allocator",
	  .help = "where the memory comes from" },
	{ .name = "operations",
	  .type = KEY_CHOICE,
	  .list = true,
	  .fallback = "alloc, free, fail",
	  .choices = operations,
	  .parameter = "operation",
	  .help = "fail: an allocation larger than all memory, and whether the device works after "
		  "it" },
	{ .name = "states",
	  .type = KEY_CHOICE,
	  .list = true,
	  .fallback = "cold, reused",
	  .choices = states,
	  .parameter = "state",
	  .help = "alloc only: reused: of a size freed just before; cold: nothing to reuse" },
	{ .name = "sizes",
	  .type = KEY_SIZE,
	  .list = true,
	  .fallback = "4KiB..256MiB *16, 1GiB",
	  .min = 16,
	  .max = 0x1p44,
	  .parameter = "size",
	  .help = "bytes of one allocation" },
	{ 0 },
};

static const char *const axes[] = { "allocators", "operations", "states", "sizes", NULL };

static const struct metric metrics[] = {
	{ "alloc.latency", "s", BETTER_LOWER, 1,
	  "one call that allocates or frees; ordinary and registered host memory is touched in "
	  "it" },
	{ "alloc.latency_p95", "s", BETTER_LOWER, 0, "19 of 20 calls are faster" },
	{ "alloc.latency_p99", "s", BETTER_LOWER, 0,
	  "99 of 100 calls are faster; from 100 calls or more" },
	{ "alloc.first", "s", BETTER_LOWER, 0, "the first call of the case" },
	{ "alloc.rate", "B/s", BETTER_HIGHER, 0,
	  "host memory: bytes touched or page-locked per second" },
	{ "alloc.usable", "s", BETTER_LOWER, 0,
	  "stream-ordered pool: the call and the synchronisation after which any stream may use "
	  "the memory" },
	{ "alloc.failure", "s", BETTER_LOWER, 0, "one call that fails for want of memory" },
	{ 0 },
};

/* Ordinary memory has nothing to do with any device: once is enough. */
static enum status plan_on_first(struct plan *plan, const struct plan_case *point,
				 struct error *err)
{
	size_t first = 0;

	return plan->device_count ? plan_add(plan, point, &first, 1, err) : STATUS_OK;
}

static enum status alloc_expand(struct plan *plan, struct plan_case *point, struct error *err)
{
	enum operation operation = (enum operation)case_integer(point, "operations");
	uint64_t bytes = (uint64_t)case_integer(point, "sizes");
	enum allocator allocator;
	uint64_t most;

	allocator_from_name(case_text(point, "allocators"), &allocator);
	if (operation == OPERATION_FAIL && !plan_drop_axis(point, "sizes"))
		return STATUS_OK;
	if (operation != OPERATION_ALLOC && !plan_drop_axis(point, "states"))
		return STATUS_OK;
	most = operation == OPERATION_FAIL ? AFTERWARDS_BYTES + BUFFER_CHECK_BYTES
					   : bytes * (blocks_held_most(bytes) + 1);
	if (allocator_on_device(allocator))
		point->device_bytes = most;
	else
		point->host_bytes = most;
	point->setup_seconds = 0.02 + (double)most / 2e9;
	if (allocator == ALLOCATOR_PAGEABLE)
		return plan_on_first(plan, point, err);
	return plan_add_each(plan, point, err);
}

struct alloc {
	struct run *run;
	struct blocks blocks;
	enum operation operation;
	enum state state;
	bool wait; /* the clock covers the synchronisation as well */
};

static enum status prepare_alloc(void *state, struct error *err)
{
	struct alloc *a = state;

	if (a->state == STATE_COLD && a->blocks.held_count == a->blocks.held_most)
		return blocks_release(&a->blocks, err);
	return STATUS_OK;
}

static enum status launch_alloc(void *state, unsigned batch, struct error *err)
{
	struct alloc *a = state;

	(void)batch; /* max_batch is 1 */
	if (blocks_get(&a->blocks, err) != STATUS_OK)
		return err->status;
	return a->wait ? blocks_settle(&a->blocks, err) : STATUS_OK;
}

static enum status finish_alloc(void *state, struct error *err)
{
	struct alloc *a = state;

	if (!a->blocks.current)
		return STATUS_OK;
	if (blocks_use(&a->blocks, err) != STATUS_OK)
		return err->status;
	if (a->state == STATE_COLD) {
		blocks_hold(&a->blocks);
		return STATUS_OK;
	}
	if (blocks_give(&a->blocks, err) != STATUS_OK)
		return err->status;
	return blocks_settle(&a->blocks, err);
}

static enum status prepare_free(void *state, struct error *err)
{
	struct alloc *a = state;

	if (blocks_get(&a->blocks, err) != STATUS_OK)
		return err->status;
	return blocks_use(&a->blocks, err);
}

static enum status launch_free(void *state, unsigned batch, struct error *err)
{
	struct alloc *a = state;

	(void)batch;
	return blocks_give(&a->blocks, err);
}

static enum status finish_free(void *state, struct error *err)
{
	struct alloc *a = state;

	return blocks_settle(&a->blocks, err);
}

/* Single operations, and as many as a p99 needs. */
static enum status sample_calls(struct alloc *a, const char *name, const struct series **time,
				struct error *err)
{
	bool frees = a->operation == OPERATION_FREE;
	struct workload w = { .state = a,
			      .prepare = frees ? prepare_free : prepare_alloc,
			      .launch = frees ? launch_free : launch_alloc,
			      .finish = frees ? finish_free : finish_alloc,
			      .clock = CLOCK_HOST,
			      .max_batch = 1,
			      .no_gate = true,
			      .min_samples = TAIL_SAMPLES };

	return run_sample(a->run, &w, name, time, err);
}

static enum status measure_usable(struct alloc *a, struct error *err)
{
	const struct series *time;

	a->wait = true;
	if (sample_calls(a, "alloc.usable", &time, err) != STATUS_OK)
		return err->status;
	run_duration(a->run, "alloc.usable", time);
	return STATUS_OK;
}

static enum status measure_latency(struct alloc *a, struct error *err)
{
	const struct series *time;

	if (sample_calls(a, "alloc.latency", &time, err) != STATUS_OK)
		return err->status;
	run_duration(a->run, "alloc.latency", time);
	run_statistic(a->run, "alloc.latency_p95", time->statistics.p95, time);
	run_statistic(a->run, "alloc.latency_p99", time->statistics.p99, time);
	run_statistic(a->run, "alloc.first", time->first, time);
	if (a->operation == OPERATION_FREE)
		return STATUS_OK;
	if (!allocator_on_device(a->blocks.allocator))
		run_rate(a->run, "alloc.rate", (double)a->blocks.bytes, time);
	return a->blocks.allocator == ALLOCATOR_POOL ? measure_usable(a, err) : STATUS_OK;
}

static enum status run_calls(struct run *run, enum allocator allocator, enum operation operation,
			     struct error *err)
{
	struct alloc a = { .run = run, .operation = operation, .state = STATE_REUSED };
	size_t bytes = (size_t)case_integer(run->c, "sizes");

	if (operation == OPERATION_ALLOC)
		a.state = (enum state)case_integer(run->c, "states");
	if (blocks_open(&a.blocks, run->devices[0], allocator, bytes, run->seed, err) ==
		    STATUS_OK &&
	    measure_latency(&a, err) == STATUS_OK)
		run_verified(run, "both ends of every block written and read back", NAN, NAN);
	blocks_close(&a.blocks);
	return err->status;
}

/*
 * Twice the device's memory, which its driver tries in earnest to find. Memory of the operating
 * system is granted beyond what there is and taken back by killing the process, so there it is more
 * than an address space holds.
 */
static enum status impossible_size(struct device *device, enum allocator allocator, size_t *bytes,
				   struct error *err)
{
	uint64_t unused, total;

	*bytes = (size_t)1 << 50;
	if (!allocator_on_device(allocator) ||
	    device->info.capabilities & DEVICE_SHARES_HOST_MEMORY)
		return STATUS_OK;
	if (backend_device_memory(device, &unused, &total, err) != STATUS_OK)
		return err->status;
	*bytes = 2 * total;
	return STATUS_OK;
}

static enum status launch_fail(void *state, unsigned batch, struct error *err)
{
	struct blocks *b = state;
	struct error refused = ERROR_NONE;
	enum status status = blocks_get(b, &refused);
	char size[32];

	(void)batch;
	if (status == STATUS_NO_MEMORY)
		return STATUS_OK;
	if (status != STATUS_OK)
		return error_set(err, status, "%s", refused.message);
	return error_set(err, STATUS_UNSUPPORTED,
			 "%s of %s memory were granted, more than there is",
			 units_size(b->bytes, size, sizeof(size)), allocator_name(b->allocator));
}

static enum status measure_failure(struct run *run, struct blocks *b, struct error *err)
{
	struct workload w = { .state = b,
			      .launch = launch_fail,
			      .clock = CLOCK_HOST,
			      .max_batch = 1,
			      .no_gate = true };
	const struct series *failure;

	if (run_sample(run, &w, "alloc.failure", &failure, err) != STATUS_OK)
		return err->status;
	run_duration(run, "alloc.failure", failure);
	return STATUS_OK;
}

/* After a failed allocation the device must go on as if nothing had happened. */
static enum status still_works(struct blocks *b, struct error *err)
{
	struct error broken = ERROR_NONE;
	struct buffer buffer;
	enum status status;

	status = buffer_alloc(&buffer, b->device, b->allocator, AFTERWARDS_BYTES, &broken);
	/* The pool's memory belongs to its own stream until the device is synchronised. */
	if (status == STATUS_OK)
		status = backend_device_synchronize(b->device, &broken);
	if (status == STATUS_OK)
		status = buffer_fill(&buffer, b->stream, b->seed, &broken);
	if (status == STATUS_OK)
		status = buffer_check(&buffer, b->stream, 0, AFTERWARDS_BYTES, b->seed, &broken);
	buffer_free(&buffer);
	if (status == STATUS_OK)
		return STATUS_OK;
	return error_set(err, STATUS_MISMATCH,
			 "the device no longer works after a failed allocation: %s",
			 broken.message);
}

static enum status run_failure(struct run *run, enum allocator allocator, struct error *err)
{
	struct device *device = run->devices[0];
	struct blocks blocks;
	size_t bytes;

	if (impossible_size(device, allocator, &bytes, err) != STATUS_OK)
		return err->status;
	if (blocks_open(&blocks, device, allocator, bytes, run->seed, err) == STATUS_OK &&
	    measure_failure(run, &blocks, err) == STATUS_OK &&
	    still_works(&blocks, err) == STATUS_OK)
		run_verified(run, "memory allocated afterwards, filled and checked", NAN, NAN);
	blocks_close(&blocks);
	return err->status;
}

static enum status alloc_run(struct run *run, struct error *err)
{
	enum operation operation = (enum operation)case_integer(run->c, "operations");
	enum allocator allocator = ALLOCATOR_DEVICE;

	allocator_from_name(case_text(run->c, "allocators"), &allocator);
	if (operation == OPERATION_FAIL)
		return run_failure(run, allocator, err);
	return run_calls(run, allocator, operation, err);
}

const struct suite suite_alloc = {
	.name = "alloc",
	.summary = "what it costs to allocate and free memory, and to fail at it",
	.keys = keys,
	.axes = axes,
	.metrics = metrics,
	.processes = SUITE_ONE_PROCESS,
	.expand = alloc_expand,
	.run = alloc_run,
};
