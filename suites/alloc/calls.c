/*
 * Single calls that allocate or free, timed with the host clock.
 *
 * States of an allocation:
 *   reused  a block of this size was freed just before: an allocator that keeps blocks has one
 *   cold    no freed block can serve it: many blocks are held (alloc/blocks.h), then all are freed
 *           and the allocator returns its cache to the device (memory_trim)
 *
 * Only the call is timed. Stream-ordered pools return before the memory can be used; alloc.usable
 * includes a synchronisation of the stream. Between two timed calls a block is written, read and
 * freed, so that the call finds the processor's caches in use. A loop that only allocates and
 * frees is several times as fast: alloc.row.
 */
#include <math.h>

#include "base/units.h"
#include "suites/alloc/alloc.h"

/* Pairs per sample; the driver's queue has room for this many. */
#define ROW_LONGEST 256

struct calls {
	struct run *run;
	struct blocks blocks;
	enum alloc_operation operation;
	enum alloc_state state;
	bool wait; /* time the synchronisation as well */
};

static enum status alloc_calls_prepare(void *state, struct error *err)
{
	struct calls *a = state;

	if (a->state == STATE_COLD && a->blocks.held_count == a->blocks.held_most)
		return alloc_blocks_release(&a->blocks, err);
	return STATUS_OK;
}

static enum status alloc_calls_launch(void *state, unsigned batch, struct error *err)
{
	struct calls *a = state;

	(void)batch; /* max_batch is 1 */
	if (alloc_blocks_get(&a->blocks, err) != STATUS_OK)
		return err->status;
	return a->wait ? alloc_blocks_settle(&a->blocks, err) : STATUS_OK;
}

static enum status alloc_calls_finish(void *state, struct error *err)
{
	struct calls *a = state;

	if (!a->blocks.current)
		return STATUS_OK;
	if (alloc_blocks_use(&a->blocks, err) != STATUS_OK)
		return err->status;
	if (a->state == STATE_COLD) {
		alloc_blocks_hold(&a->blocks);
		return STATUS_OK;
	}
	if (alloc_blocks_give(&a->blocks, err) != STATUS_OK)
		return err->status;
	return alloc_blocks_settle(&a->blocks, err);
}

static enum status calls_prepare_free(void *state, struct error *err)
{
	struct calls *a = state;

	if (alloc_blocks_get(&a->blocks, err) != STATUS_OK)
		return err->status;
	return alloc_blocks_use(&a->blocks, err);
}

static enum status calls_launch_free(void *state, unsigned batch, struct error *err)
{
	struct calls *a = state;

	(void)batch;
	return alloc_blocks_give(&a->blocks, err);
}

static enum status calls_finish_free(void *state, struct error *err)
{
	struct calls *a = state;

	return alloc_blocks_settle(&a->blocks, err);
}

/* Samples single operations, as many as a p99 needs. */
static enum status sample_calls(struct calls *a, const char *name, const struct series **time,
				struct error *err)
{
	bool frees = a->operation == OPERATION_FREE;
	struct workload w = { .state = a,
			      .prepare = frees ? calls_prepare_free : alloc_calls_prepare,
			      .launch = frees ? calls_launch_free : alloc_calls_launch,
			      .finish = frees ? calls_finish_free : alloc_calls_finish,
			      .clock = CLOCK_HOST,
			      .max_batch = 1,
			      .no_gate = true,
			      .min_samples = ALLOC_TAIL_SAMPLES };

	return run_sample(a->run, &w, name, time, err);
}

static enum status calls_measure_usable(struct calls *a, struct error *err)
{
	const struct series *time;

	a->wait = true;
	if (sample_calls(a, "alloc.usable", &time, err) != STATUS_OK)
		return err->status;
	run_duration(a->run, "alloc.usable", time);
	return STATUS_OK;
}

static enum status calls_launch_row(void *state, unsigned batch, struct error *err)
{
	struct calls *a = state;

	for (unsigned i = 0; i < batch; i++)
		if (alloc_blocks_get(&a->blocks, err) != STATUS_OK ||
		    alloc_blocks_give(&a->blocks, err) != STATUS_OK)
			break;
	return err->status;
}

static enum status alloc_calls_measure_latency(struct calls *a, struct error *err)
{
	int kind = a->blocks.origin.kind;
	const struct series *time;
	struct workload w;

	if (sample_calls(a, "alloc.latency", &time, err) != STATUS_OK)
		return err->status;
	run_duration(a->run, "alloc.latency", time);
	run_statistic(a->run, "alloc.latency_p95", time->statistics.p95, time);
	run_statistic(a->run, "alloc.latency_p99", time->statistics.p99, time);
	run_statistic(a->run, "alloc.first", time->first, time);
	if (a->operation == OPERATION_FREE)
		return STATUS_OK;
	if (!alloc_blocks_origin_on_device(kind))
		run_rate(a->run, "alloc.rate", (double)a->blocks.bytes, time);
	if (kind != ALLOCATOR_POOL && kind != ALLOCATOR_POOL_RELEASE)
		return STATUS_OK;
	if (calls_measure_usable(a, err) != STATUS_OK || a->state != STATE_REUSED)
		return err->status;
	/*
	 * Consecutive pairs without waiting for the device; verifies the block of an additional
	 * pair.
	 */
	w = (struct workload){ .state = a,
			       .launch = calls_launch_row,
			       .finish = calls_finish_free,
			       .clock = CLOCK_HOST,
			       .max_batch = ROW_LONGEST,
			       .no_gate = true };
	if (run_sample(a->run, &w, "alloc.row", &time, err) != STATUS_OK)
		return err->status;
	run_duration(a->run, "alloc.row", time);
	if (alloc_blocks_get(&a->blocks, err) != STATUS_OK ||
	    alloc_blocks_use(&a->blocks, err) != STATUS_OK)
		return err->status;
	return alloc_blocks_give(&a->blocks, err);
}

/* Allocates the share of the device's free memory that the case requests. */
static enum status calls_fill_device(struct run *run, struct memory_filler *filler,
				     struct error *err)
{
	double share = case_value(run->c, "fills")->real;
	struct device *device = run->devices[0];
	char left[32], needed[32];
	uint64_t unused;

	if (share == 0)
		return STATUS_OK;
	if (alloc_blocks_free_bytes(device, &unused, err) != STATUS_OK)
		return err->status;
	unused = (uint64_t)((1 - share) * (double)unused);
	if (unused < run->c->device_bytes)
		return error_set(err, STATUS_UNSUPPORTED,
				 "at this fill level, %s has %s left, but the case needs %s",
				 device->info.id, units_size(unused, left, sizeof(left)),
				 units_size(run->c->device_bytes, needed, sizeof(needed)));
	return alloc_blocks_filler_leave(filler, device, unused, err);
}

enum status alloc_calls(struct run *run, enum alloc_operation operation, int kind,
			struct error *err)
{
	struct calls a = { .run = run, .operation = operation, .state = STATE_REUSED };
	size_t bytes = (size_t)case_integer(run->c, "sizes");
	struct memory_filler filler = { 0 };

	if (operation == OPERATION_ALLOC)
		a.state = (enum alloc_state)case_integer(run->c, "states");
	if ((!alloc_blocks_origin_on_device(kind) ||
	     calls_fill_device(run, &filler, err) == STATUS_OK) &&
	    alloc_blocks_open(&a.blocks, run, kind, bytes, alloc_blocks_limit(run, kind), err) ==
		    STATUS_OK &&
	    alloc_calls_measure_latency(&a, err) == STATUS_OK)
		run_verified(run, "both ends of every block, written and read back", NAN, NAN);
	alloc_blocks_close(&a.blocks);
	alloc_blocks_filler_free(&filler);
	return err->status;
}
