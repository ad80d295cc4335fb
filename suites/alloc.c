/*
 * What it costs to get and to give back memory, one operation a sample, on the host's clock.
 *
 * States of an allocation:
 *   reused  a block of this size was freed just before, so an allocator that keeps blocks has one at hand
 *   cold    no freed block can serve it: blocks are held until they take HOLD_BYTES together, then all are
 *           freed and the allocator's cache is given back to the device (memory_trim)
 * What the clock covers is the call. The stream-ordered pool returns before the memory can be used; until then it is
 * alloc.usable (the call and a synchronisation of its stream).
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/units.h"
#include "kernels/generator.h"
#include "measure/run.h"
#include "suites/buffers.h"
#include "suites/suite.h"

#define HOLD_BYTES (UINT64_C(256) << 20)
#define HOLD_MOST 256
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
	{ .name = "allocators", .type = KEY_CHOICE, .list = true,
	  .fallback = "device, pool, pinned, write_combined, registered, pageable", .choices = allocator_names,
	  .parameter = "allocator", .help = "where the memory comes from" },
	{ .name = "operations", .type = KEY_CHOICE, .list = true, .fallback = "alloc, free, fail",
	  .choices = operations, .parameter = "operation",
	  .help = "fail: an allocation larger than all memory, and whether the device works after it" },
	{ .name = "states", .type = KEY_CHOICE, .list = true, .fallback = "cold, reused", .choices = states,
	  .parameter = "state", .help = "alloc only: reused: of a size freed just before; cold: nothing to reuse" },
	{ .name = "sizes", .type = KEY_SIZE, .list = true, .fallback = "4KiB..256MiB *16, 1GiB", .min = 16, .max = 0x1p44,
	  .parameter = "size", .help = "bytes of one allocation" },
	{ 0 }
};

static const char *const axes[] = { "allocators", "operations", "states", "sizes", NULL };

static const struct metric metrics[] = {
	{ "alloc.latency", "s", BETTER_LOWER, 1,
	  "one call that allocates or frees; ordinary and registered host memory is touched in it" },
	{ "alloc.latency_p95", "s", BETTER_LOWER, 0, "19 of 20 calls are faster" },
	{ "alloc.latency_p99", "s", BETTER_LOWER, 0, "99 of 100 calls are faster; from 100 calls or more" },
	{ "alloc.first", "s", BETTER_LOWER, 0, "the first call of the case" },
	{ "alloc.rate", "B/s", BETTER_HIGHER, 0, "bytes of one allocation over its latency" },
	{ "alloc.usable", "s", BETTER_LOWER, 0,
	  "stream-ordered pool: the call and the synchronisation after which any stream may use the memory" },
	{ "alloc.failure", "s", BETTER_LOWER, 0, "one call that fails for want of memory" },
	{ 0 }
};

static size_t held_blocks(uint64_t bytes)
{
	uint64_t count = HOLD_BYTES / bytes;

	return count < 1 ? 1 : count > HOLD_MOST ? HOLD_MOST : (size_t)count;
}

/* Ordinary memory has nothing to do with any device: once is enough. */
static enum status plan_on_first(struct plan *plan, const struct plan_case *point, struct error *err)
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
	most = operation == OPERATION_FAIL ? AFTERWARDS_BYTES + BUFFER_CHECK_BYTES : bytes * (held_blocks(bytes) + 1);
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
	struct device *device;
	struct stream *stream;
	enum allocator allocator;
	enum operation operation;
	enum state state;
	size_t bytes;
	bool wait;      /* the clock covers the synchronisation as well */
	void *block;    /* the one of the sample in progress */
	void **held;    /* cold: blocks kept from being used again */
	size_t held_count, held_most;
	uint64_t token; /* number of the latest pattern */
	uint64_t sent, received; /* copies in flight use them, also after a failure */
};

static enum status get(struct alloc *a, struct error *err)
{
	return backend_memory_alloc(a->device, a->allocator, a->bytes, a->stream, &a->block, err);
}

static enum status give(struct alloc *a, void *block, struct error *err)
{
	return backend_memory_free(a->device, a->allocator, block, a->bytes, a->stream, err);
}

static enum status settle(struct alloc *a, struct error *err)
{
	return backend_stream_synchronize(a->stream, err);
}

/* Memory is what it says when both its ends keep what was written there; a new pattern for each block. */
static enum status write_and_read(struct alloc *a, char *at, struct error *err)
{
	a->sent = generator_bits(a->run->seed, a->token++);
	a->received = ~a->sent;
	if (!allocator_on_device(a->allocator)) {
		*(volatile uint64_t *)at = a->sent;
		a->received = *(volatile uint64_t *)at;
	} else if (backend_copy(a->stream, at, &a->sent, sizeof(a->sent), err) != STATUS_OK ||
		   backend_copy(a->stream, &a->received, at, sizeof(a->received), err) != STATUS_OK ||
		   settle(a, err) != STATUS_OK) {
		return err->status;
	}
	if (a->received == a->sent)
		return STATUS_OK;
	return error_set(err, STATUS_MISMATCH,
			 "memory just allocated does not keep its data: wrote 0x%016" PRIx64 ", read 0x%016" PRIx64,
			 a->sent, a->received);
}

static enum status use(struct alloc *a, struct error *err)
{
	size_t last = (a->bytes - sizeof(uint64_t)) & ~(sizeof(uint64_t) - 1);

	if (write_and_read(a, a->block, err) != STATUS_OK)
		return err->status;
	return write_and_read(a, (char *)a->block + last, err);
}

static enum status release_held(struct alloc *a, struct error *err)
{
	struct error trimmed = ERROR_NONE;
	enum status status = STATUS_OK;

	while (a->held_count > 0) {
		enum status freed = give(a, a->held[--a->held_count], err);

		status = status == STATUS_OK ? freed : status;
	}
	if (settle(a, err) != STATUS_OK)
		return err->status;
	/* What has no cache has nothing to give back. */
	if (backend_memory_trim(a->device, &trimmed) == STATUS_OK || trimmed.status == STATUS_UNSUPPORTED)
		return status;
	return error_set(err, trimmed.status, "%s", trimmed.message);
}

static enum status prepare_alloc(void *state, struct error *err)
{
	struct alloc *a = state;

	if (a->state == STATE_COLD && a->held_count == a->held_most)
		return release_held(a, err);
	return STATUS_OK;
}

static enum status launch_alloc(void *state, unsigned batch, struct error *err)
{
	struct alloc *a = state;

	(void)batch; /* max_batch is 1 */
	if (get(a, err) != STATUS_OK)
		return err->status;
	return a->wait ? settle(a, err) : STATUS_OK; /* only the pool's `usable` waits */
}

static enum status finish_alloc(void *state, struct error *err)
{
	struct alloc *a = state;
	void *block = a->block;

	if (!block)
		return STATUS_OK;
	if (use(a, err) != STATUS_OK)
		return err->status;
	a->block = NULL;
	if (a->state == STATE_COLD) {
		a->held[a->held_count++] = block;
		return STATUS_OK;
	}
	if (give(a, block, err) != STATUS_OK)
		return err->status;
	return settle(a, err);
}

static enum status prepare_free(void *state, struct error *err)
{
	struct alloc *a = state;

	return get(a, err) != STATUS_OK ? err->status : use(a, err);
}

static enum status launch_free(void *state, unsigned batch, struct error *err)
{
	struct alloc *a = state;
	void *block = a->block;

	(void)batch;
	a->block = NULL;
	return give(a, block, err);
}

static enum status finish_free(void *state, struct error *err)
{
	return settle(state, err);
}

/*
 * Twice the device's memory, which its driver tries in earnest to find. Memory of the operating system is granted
 * beyond what there is and taken back by killing the process, so there it is more than an address space holds.
 */
static enum status impossible_size(const struct alloc *a, size_t *bytes, struct error *err)
{
	uint64_t unused, total;

	*bytes = (size_t)1 << 50;
	if (!allocator_on_device(a->allocator) || a->device->info.capabilities & DEVICE_SHARES_HOST_MEMORY)
		return STATUS_OK;
	if (backend_device_memory(a->device, &unused, &total, err) != STATUS_OK)
		return err->status;
	*bytes = 2 * total;
	return STATUS_OK;
}

static enum status launch_fail(void *state, unsigned batch, struct error *err)
{
	struct alloc *a = state;
	struct error refused = ERROR_NONE;
	enum status status = get(a, &refused);
	char size[32];

	(void)batch;
	if (status == STATUS_NO_MEMORY)
		return STATUS_OK;
	if (status != STATUS_OK)
		return error_set(err, status, "%s", refused.message);
	return error_set(err, STATUS_UNSUPPORTED, "%s of %s memory were granted, more than there is",
			 units_size(a->bytes, size, sizeof(size)), allocator_name(a->allocator));
}

static enum status measure_failure(struct alloc *a, struct error *err)
{
	struct workload w = { .state = a, .launch = launch_fail, .clock = CLOCK_HOST, .max_batch = 1,
			      .no_gate = true };
	const struct series *failure;

	if (impossible_size(a, &a->bytes, err) != STATUS_OK ||
	    run_sample(a->run, &w, "alloc.failure", &failure, err) != STATUS_OK)
		return err->status;
	run_duration(a->run, "alloc.failure", failure);
	return STATUS_OK;
}

/* After a failed allocation the device must go on as if nothing had happened. */
static enum status still_works(struct alloc *a, struct error *err)
{
	struct error broken = ERROR_NONE;
	struct buffer buffer;

	/* The pool's memory belongs to its own stream until the device is synchronised. */
	if (buffer_alloc(&buffer, a->device, a->allocator, AFTERWARDS_BYTES, &broken) == STATUS_OK &&
	    backend_device_synchronize(a->device, &broken) == STATUS_OK &&
	    buffer_fill(&buffer, a->stream, a->run->seed, &broken) == STATUS_OK)
		buffer_check(&buffer, a->stream, 0, AFTERWARDS_BYTES, a->run->seed, &broken);
	buffer_free(&buffer);
	if (broken.status == STATUS_OK)
		return STATUS_OK;
	return error_set(err, STATUS_MISMATCH, "the device no longer works after a failed allocation: %s",
			 broken.message);
}

/* Single operations, and as many as a p99 needs. */
static enum status measure_latency(struct alloc *a, struct error *err)
{
	bool frees = a->operation == OPERATION_FREE;
	struct workload w = { .state = a, .prepare = frees ? prepare_free : prepare_alloc,
			      .launch = frees ? launch_free : launch_alloc,
			      .finish = frees ? finish_free : finish_alloc, .clock = CLOCK_HOST, .max_batch = 1,
			      .no_gate = true, .min_samples = TAIL_SAMPLES };
	const struct series *time;

	if (run_sample(a->run, &w, "alloc.latency", &time, err) != STATUS_OK)
		return err->status;
	run_duration(a->run, "alloc.latency", time);
	run_statistic(a->run, "alloc.latency_p95", time->statistics.p95, time);
	run_statistic(a->run, "alloc.latency_p99", time->statistics.p99, time);
	run_statistic(a->run, "alloc.first", time->first, time);
	if (frees)
		return STATUS_OK;
	run_rate(a->run, "alloc.rate", (double)a->bytes, time);
	if (a->allocator != ALLOCATOR_POOL)
		return STATUS_OK;
	a->wait = true;
	if (run_sample(a->run, &w, "alloc.usable", &time, err) != STATUS_OK)
		return err->status;
	run_duration(a->run, "alloc.usable", time);
	return STATUS_OK;
}

static void alloc_init(struct alloc *a, struct run *run)
{
	const struct plan_case *c = run->c;

	*a = (struct alloc){ .run = run, .device = run->devices[0],
			     .operation = (enum operation)case_integer(c, "operations") };
	allocator_from_name(case_text(c, "allocators"), &a->allocator);
	if (a->operation != OPERATION_FAIL)
		a->bytes = (size_t)case_integer(c, "sizes");
	if (a->operation == OPERATION_ALLOC)
		a->state = (enum state)case_integer(c, "states");
	else
		a->state = STATE_REUSED;
	a->held_most = a->bytes ? held_blocks(a->bytes) : 0;
	a->held = xcalloc(a->held_most, sizeof(*a->held));
}

static void alloc_close(struct alloc *a)
{
	if (a->stream)
		settle(a, NULL); /* nothing still uses what is freed now */
	if (a->block)
		give(a, a->block, NULL);
	if (a->stream)
		release_held(a, NULL);
	backend_stream_destroy(a->stream);
	free(a->held);
}

static enum status alloc_run(struct run *run, struct error *err)
{
	struct alloc a;

	alloc_init(&a, run);
	if (backend_stream_create(a.device, false, &a.stream, err) != STATUS_OK ||
	    release_held(&a, err) != STATUS_OK)
		goto out;
	if (a.operation == OPERATION_FAIL) {
		if (measure_failure(&a, err) == STATUS_OK && still_works(&a, err) == STATUS_OK)
			run_verified(run, "memory allocated afterwards, filled and checked", NAN, NAN);
	} else if (measure_latency(&a, err) == STATUS_OK) {
		run_verified(run, "both ends of every block written and read back", NAN, NAN);
	}
out:
	alloc_close(&a);
	return err->status;
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
