/* Promises of the allocators beyond memory: growth in place, limits, giving back, threads. */
#include "gpu_check.h"

#include <pthread.h>
#include <stdio.h>

#define THREADS 4
#define ROUNDS 50

/*
 * The device's free memory, for others than the default pool, which keeps what it has: after a
 * request that was refused that can be nearly everything, taken on the way there.
 */
static enum status free_bytes(struct check_context *context, uint64_t *out, struct error *err)
{
	uint64_t total;

	STEP(backend_device_synchronize(context->device, err));
	STEP(backend_memory_trim(context->device, err));
	return backend_device_memory(context->device, out, &total, err);
}

/* Memory mapped in two pieces is one to a kernel, and all of it comes back. */
static enum status range_grows(struct check_context *context, struct error *err)
{
	uint64_t before, grown, after;
	struct memory_range *range;
	size_t unit;

	STEP(backend_memory_granularity(context->device, ALLOCATOR_VMM, &unit, err));
	STEP(free_bytes(context, &before, err));
	STEP(backend_range_reserve(context->device, 64 * unit, &range, err));
	STEP(backend_range_map(range, 3 * unit, err));
	STEP(gpu_fill(context->stream, range->start, 3 * unit, 31, err));
	STEP(backend_range_map(range, 5 * unit, err));
	STEP(gpu_expect(context->stream, range->start, 3 * unit, 31, err));
	STEP(gpu_fill(context->stream, range->start, 8 * unit, 32, err));
	STEP(gpu_expect(context->stream, range->start, 8 * unit, 32, err));
	STEP(free_bytes(context, &grown, err));
	STEP(backend_range_release(range, err));
	STEP(free_bytes(context, &after, err));
	snprintf(context->detail, sizeof(context->detail),
		 "granularity %zu, 8 of them took %lld bytes, %lld kept", unit,
		 (long long)(before - grown), (long long)(before - after));
	if (before - grown < 8 * unit || after < before)
		return error_set(err, STATUS_MISMATCH, "%s", context->detail);
	return STATUS_OK;
}

/* The driver would grant it and move what does not fit to the host. */
static enum status managed_within_free(struct check_context *context, struct error *err)
{
	struct error refusal = ERROR_NONE;
	uint64_t available;
	enum status status;
	void *memory;

	STEP(free_bytes(context, &available, err));
	status = backend_memory_alloc(context->device, ALLOCATOR_MANAGED, available + (64u << 20),
				      NULL, &memory, &refusal);
	if (status == STATUS_UNSUPPORTED)
		return error_set(err, status, "%s", refusal.message);
	if (status != STATUS_NO_MEMORY)
		return error_set(err, STATUS_MISMATCH, "more than is free: %s",
				 status_name(status));
	snprintf(context->detail, sizeof(context->detail), "%.200s", refusal.message);
	STEP(backend_memory_alloc(context->device, ALLOCATOR_MANAGED, 1 << 20, NULL, &memory, err));
	return backend_memory_free(context->device, ALLOCATOR_MANAGED, memory, 1 << 20, NULL, err);
}

static enum status pool_releases(struct check_context *context, struct error *err)
{
	const size_t bytes = 256u << 20;
	uint64_t before, held, after;
	void *memory;

	if (!(context->device->info.capabilities & DEVICE_HAS_POOLS))
		return error_set(err, STATUS_UNSUPPORTED, "no pools");
	STEP(free_bytes(context, &before, err));
	STEP(backend_memory_alloc(context->device, ALLOCATOR_POOL_RELEASE, bytes, context->stream,
				  &memory, err));
	STEP(free_bytes(context, &held, err));
	STEP(backend_memory_free(context->device, ALLOCATOR_POOL_RELEASE, memory, bytes,
				 context->stream, err));
	STEP(free_bytes(context, &after, err));
	snprintf(context->detail, sizeof(context->detail), "took %lld, kept %lld",
		 (long long)(before - held), (long long)(before - after));
	if (held + bytes > before || after < held + bytes)
		return error_set(err, STATUS_MISMATCH, "%s", context->detail);
	return STATUS_OK;
}

struct allocating {
	struct device *device;
	enum allocator allocator;
	int number;
	struct error err;
};

static enum status allocate_often(struct allocating *a, struct stream *stream, struct error *err)
{
	for (int i = 0; i < ROUNDS; i++) {
		uint64_t sent = (uint64_t)a->number << 32 | (unsigned)i, back = 0;
		void *memory;

		STEP(backend_memory_alloc(a->device, a->allocator, 3 << 20, stream, &memory, err));
		STEP(backend_copy(stream, memory, &sent, sizeof(sent), err));
		STEP(backend_copy(stream, &back, memory, sizeof(back), err));
		STEP(backend_stream_synchronize(stream, err));
		if (back != sent)
			return error_set(err, STATUS_MISMATCH, "thread %d wrote %llx, read %llx",
					 a->number, (unsigned long long)sent,
					 (unsigned long long)back);
		STEP(backend_memory_free(a->device, a->allocator, memory, 3 << 20, stream, err));
	}
	return backend_stream_synchronize(stream, err);
}

struct thread {
	pthread_t id;
	struct allocating work;
	struct stream *stream;
};

static void *run_thread(void *context)
{
	struct thread *t = context;

	allocate_often(&t->work, t->stream, &t->work.err);
	return NULL;
}

static enum status from_threads_with(struct check_context *context, enum allocator allocator,
				     struct error *err)
{
	struct thread threads[THREADS] = { 0 };
	void *first;

	STEP(backend_memory_alloc(context->device, allocator, 3 << 20, context->stream, &first,
				  err));
	STEP(backend_memory_free(context->device, allocator, first, 3 << 20, context->stream, err));
	for (int i = 0; i < THREADS; i++) {
		threads[i].work = (struct allocating){ context->device, allocator, i, ERROR_NONE };
		STEP(backend_stream_create(context->device, false, &threads[i].stream, err));
	}
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i].id, NULL, run_thread, &threads[i]) != 0)
			return error_set(err, STATUS_IO, "no thread");
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i].id, NULL);
	for (int i = 0; i < THREADS; i++) {
		backend_stream_destroy(threads[i].stream);
		if (threads[i].work.err.status != STATUS_OK)
			return error_set(err, threads[i].work.err.status, "%s: %.300s",
					 allocator_name(allocator), threads[i].work.err.message);
	}
	return STATUS_OK;
}

static enum status from_threads(struct check_context *context, struct error *err)
{
	static const enum allocator allocators[] = { ALLOCATOR_DEVICE,       ALLOCATOR_POOL,
						     ALLOCATOR_POOL_RELEASE, ALLOCATOR_VMM,
						     ALLOCATOR_MANAGED,      ALLOCATOR_PINNED };

	for (size_t i = 0; i < ARRAY_SIZE(allocators); i++) {
		struct error own = ERROR_NONE;
		enum status status = from_threads_with(context, allocators[i], &own);

		if (status != STATUS_OK && status != STATUS_UNSUPPORTED)
			return error_set(err, status, "%s", own.message);
	}
	snprintf(context->detail, sizeof(context->detail), "%d threads, %zu allocators", THREADS,
		 ARRAY_SIZE(allocators));
	return STATUS_OK;
}

const struct check allocator_checks[] = {
	{ "range grows", range_grows },
	{ "managed within free", managed_within_free },
	{ "pool releases", pool_releases },
	{ "allocating from threads", from_threads },
	{ 0 },
};
