/*
 * Contended allocation: threads that allocate and free at the same time. A sample is a batch of
 * pairs (allocate, free) per thread, from a common start until the last thread is done. For pools,
 * pair i of thread t uses stream t + i * threads, modulo the number of streams: one stream is
 * shared by all threads, as many streams as threads give each its own, and more rotate.
 */
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/parallel.h"
#include "kernels/generator.h"
#include "suites/alloc/alloc.h"

/* Pairs between two synchronisations, small enough for any stream's queue. */
#define LARGEST_BATCH 256

struct contention;
typedef enum status phase_fn(struct contention *c, size_t thread, struct error *err);

struct contention_member {
	struct contention *contention;
	size_t number;
	pthread_t thread;
	struct error err;
	/* for verification; its stream is for copies, never for the order of allocations */
	struct checked_blocks source;
	struct checked_block held[CONTEND_HELD];
	size_t at; /* index of the block that is taken or given */
};

struct contention {
	struct origin origin;
	size_t bytes, threads, streams;
	struct stream **order; /* streams that order the allocations */
	struct contention_member *members;
	size_t started; /* threads; the driving thread is member 0 */
	phase_fn *phase;
	unsigned batch;
	_Atomic unsigned round;
	_Atomic size_t working;
	_Atomic int stop;
};

static struct stream *contention_stream_of(const struct contention *c, size_t thread, size_t pair)
{
	return c->order[(thread + pair * c->threads) % c->streams];
}

static enum status contention_alloc_free_pairs(struct contention *c, size_t thread,
					       struct error *err)
{
	for (unsigned i = 0; i < c->batch; i++) {
		struct stream *stream = contention_stream_of(c, thread, i);
		void *memory;

		if (alloc_blocks_origin_get(&c->origin, c->bytes, stream, &memory, err) !=
			    STATUS_OK ||
		    alloc_blocks_origin_give(&c->origin, memory, c->bytes, stream, err) !=
			    STATUS_OK)
			return err->status;
	}
	return STATUS_OK;
}

/* take() and give() of struct checked_blocks. */
static enum status contention_take_block(void *state, size_t bytes, void **out, struct error *err)
{
	const struct contention_member *m = state;
	struct stream *stream = contention_stream_of(m->contention, m->number, m->at);

	if (alloc_blocks_origin_get(&m->contention->origin, bytes, stream, out, err) != STATUS_OK)
		return err->status;
	if (backend_stream_synchronize(stream, err) != STATUS_OK)
		alloc_blocks_origin_give(&m->contention->origin, *out, bytes, stream, NULL);
	return err->status;
}

static enum status contention_give_block(void *state, void *memory, size_t bytes, struct error *err)
{
	const struct contention_member *m = state;

	return alloc_blocks_origin_give(&m->contention->origin, memory, bytes,
					contention_stream_of(m->contention, m->number, m->at), err);
}

/* First half of the verification: every thread holds blocks with patterns at both ends. */
static enum status contention_hold_blocks(struct contention *c, size_t thread, struct error *err)
{
	struct contention_member *m = &c->members[thread];

	for (m->at = 0; m->at < CONTEND_HELD; m->at++)
		if (checked_blocks_take(&m->source, &m->held[m->at], c->bytes, err) != STATUS_OK)
			return err->status;
	return STATUS_OK;
}

/* Second half, after all have written: each block still contains its own thread's pattern. */
static enum status contention_free_blocks(struct contention *c, size_t thread, struct error *err)
{
	struct contention_member *m = &c->members[thread];

	for (m->at = 0; m->at < CONTEND_HELD; m->at++)
		if (checked_blocks_give(&m->source, &m->held[m->at], err) != STATUS_OK)
			return err->status;
	return STATUS_OK;
}

static void contention_run_phase(struct contention *c, size_t thread)
{
	struct contention_member *m = &c->members[thread];

	if (m->err.status == STATUS_OK)
		c->phase(c, thread, &m->err);
}

/*
 * Spins between samples, so that no sample starts with a thread wake-up; yields if there are few
 * cores.
 */
static void *contention_member_run(void *context)
{
	struct contention_member *m = context;
	struct contention *c = m->contention;
	unsigned seen = 0;

	for (;;) {
		while (atomic_load_explicit(&c->round, memory_order_acquire) == seen)
			sched_yield();
		seen++;
		if (atomic_load(&c->stop))
			return NULL;
		contention_run_phase(c, m->number);
		atomic_fetch_sub_explicit(&c->working, 1, memory_order_release);
	}
}

/* Runs `phase` on every thread, including the driving one, and waits for all. */
static enum status contention_run_together(struct contention *c, phase_fn *phase, struct error *err)
{
	c->phase = phase;
	atomic_store(&c->working, c->started);
	atomic_fetch_add_explicit(&c->round, 1, memory_order_release);
	contention_run_phase(c, 0);
	while (atomic_load_explicit(&c->working, memory_order_acquire) > 0)
		sched_yield();
	for (size_t i = 0; i < c->threads; i++)
		if (c->members[i].err.status != STATUS_OK)
			return error_set(err, c->members[i].err.status, "%s",
					 c->members[i].err.message);
	return STATUS_OK;
}

static enum status contention_synchronize(void *state, struct error *err)
{
	const struct contention *c = state;

	for (size_t i = 0; i < c->streams; i++)
		if (backend_stream_synchronize(c->order[i], err) != STATUS_OK)
			return err->status;
	return STATUS_OK;
}

static int contention_by_address(const void *a, const void *b)
{
	uintptr_t p = *(const uintptr_t *)a, q = *(const uintptr_t *)b;

	return p < q ? -1 : p > q;
}

/* Two threads must never be given the same memory. */
static enum status contention_check_apart(const struct contention *c, struct error *err)
{
	size_t count = c->threads * CONTEND_HELD;
	uintptr_t *at = xcalloc(count, sizeof(*at));
	enum status status = STATUS_OK;

	for (size_t i = 0; i < count; i++)
		at[i] = (uintptr_t)c->members[i / CONTEND_HELD].held[i % CONTEND_HELD].memory;
	qsort(at, count, sizeof(*at), contention_by_address);
	for (size_t i = 1; i < count && status == STATUS_OK; i++)
		if (at[i] - at[i - 1] < c->bytes)
			status = error_set(err, STATUS_MISMATCH,
					   "two threads were given overlapping memory: blocks of "
					   "%zu bytes are %zu bytes apart",
					   c->bytes, (size_t)(at[i] - at[i - 1]));
	free(at);
	return status;
}

static enum status contention_verify(struct contention *c, struct error *err)
{
	if (contention_run_together(c, contention_hold_blocks, err) == STATUS_OK &&
	    contention_check_apart(c, err) == STATUS_OK &&
	    contention_run_together(c, contention_free_blocks, err) == STATUS_OK)
		contention_synchronize(c, err);
	return err->status;
}

static enum status contention_launch(void *state, unsigned batch, struct error *err)
{
	struct contention *c = state;

	c->batch = batch;
	return contention_run_together(c, contention_alloc_free_pairs, err);
}

static enum status open_contention(struct contention *c, struct run *run, int kind,
				   struct error *err)
{
	struct device *device = run->devices[0];
	void *memory;

	alloc_blocks_origin_open(&c->origin, device, kind, alloc_blocks_limit(run, kind));
	for (size_t i = 0; i < c->streams; i++)
		if (backend_stream_create(device, false, &c->order[i], err) != STATUS_OK)
			return err->status;
	for (size_t i = 0; i < c->threads; i++) {
		struct contention_member *m = &c->members[i];

		m->contention = c;
		m->number = i;
		m->source = (struct checked_blocks){ .state = m,
						     .take = contention_take_block,
						     .give = contention_give_block,
						     .on_device = c->origin.on_device,
						     .seed = run->seed,
						     /* the patterns differ between threads */
						     .token = (uint64_t)i << 32 };
		if (backend_stream_create(device, false, &m->source.stream, err) != STATUS_OK)
			return err->status;
	}
	/* The driving thread must make the first allocation of a kind (device/backend.h). */
	if (alloc_blocks_origin_get(&c->origin, c->bytes, c->order[0], &memory, err) != STATUS_OK ||
	    alloc_blocks_origin_give(&c->origin, memory, c->bytes, c->order[0], err) != STATUS_OK)
		return err->status;
	if (backend_stream_synchronize(c->order[0], err) != STATUS_OK)
		return err->status;
	for (size_t i = 1; i < c->threads; i++) {
		if (parallel_thread_start(&c->members[i].thread, contention_member_run,
					  &c->members[i]) != 0)
			return error_set(err, STATUS_IO, "cannot start thread %zu of %zu", i + 1,
					 c->threads);
		c->started++;
	}
	return STATUS_OK;
}

static void close_contention(struct contention *c)
{
	atomic_store(&c->stop, 1);
	atomic_fetch_add(&c->round, 1);
	for (size_t i = 1; i <= c->started; i++)
		pthread_join(c->members[i].thread, NULL);
	for (size_t i = 0; i < c->threads; i++) {
		struct contention_member *m = &c->members[i];

		if (m->source.stream)
			backend_stream_synchronize(m->source.stream, NULL);
		for (m->at = 0; m->at < CONTEND_HELD; m->at++)
			if (m->held[m->at].memory)
				contention_give_block(m, m->held[m->at].memory, c->bytes, NULL);
		backend_stream_destroy(m->source.stream);
	}
	for (size_t i = 0; i < c->streams; i++)
		if (c->order[i])
			backend_stream_synchronize(c->order[i], NULL);
	alloc_blocks_origin_trim(&c->origin, NULL);
	alloc_blocks_origin_close(&c->origin);
	for (size_t i = 0; i < c->streams; i++)
		backend_stream_destroy(c->order[i]);
	free(c->order);
	free(c->members);
}

enum status alloc_contend(struct run *run, int kind, struct error *err)
{
	bool pool = kind == ALLOCATOR_POOL || kind == ALLOCATOR_POOL_RELEASE;
	const struct series *time;
	struct contention c = {
		.bytes = (size_t)case_integer(run->c, "sizes"),
		.threads = (size_t)case_integer(run->c, "threads"),
		.streams = pool ? (size_t)case_integer(run->c, "streams") : 1,
	};

	struct workload w = { .state = &c,
			      .launch = contention_launch,
			      .finish = contention_synchronize,
			      .clock = CLOCK_HOST,
			      .max_batch = LARGEST_BATCH,
			      .no_gate = true };

	c.order = xcalloc(c.streams, sizeof(struct stream *));
	c.members = xcalloc(c.threads, sizeof(*c.members));
	if (open_contention(&c, run, kind, err) == STATUS_OK &&
	    contention_verify(&c, err) == STATUS_OK &&
	    run_sample(run, &w, "alloc.pair", &time, err) == STATUS_OK) {
		run_duration(run, "alloc.pair", time);
		run_rate(run, "alloc.pair_rate", (double)c.threads, time);
		if (contention_verify(&c, err) == STATUS_OK)
			run_verified(run,
				     "blocks held by all threads at once do not overlap, and both "
				     "ends of every block keep their data",
				     NAN, NAN);
	}
	close_contention(&c);
	return err->status;
}
