#include "device/host/thread_pool.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/parallel.h"
#include "device/host/counter.h"
#include "device/host/cpu_partition.h"
#include "device/host/host_kernel.h"

/*
 * The remaining parts in one word: the job's number in the high bits, then its number of parts,
 * then the next part. A thread that claims a part of job n by compare-and-swap knows that job n
 * lasts at least until that part is done, so only then may it read the job.
 */
#define PART_BITS 16
#define PART_MASK ((UINT64_C(1) << PART_BITS) - 1)

struct thread_pool {
	const struct cpu_partition *partition;
	thread_pool_part_fn *run;
	void *context;
	_Atomic uint64_t parts;
	struct counter jobs;
	struct counter finished; /* finished parts of all jobs */
	uint32_t job, finished_before;
	atomic_bool quit;
	unsigned helper_count;
	pthread_t helpers[];
};

/* Runs parts until none is left. */
static void thread_pool_take_parts(struct thread_pool *pool)
{
	uint64_t seen = atomic_load(&pool->parts);

	for (;;) {
		unsigned next = (unsigned)(seen & PART_MASK),
			 count = (unsigned)(seen >> PART_BITS & PART_MASK);

		if (next >= count)
			return;
		if (!atomic_compare_exchange_weak(&pool->parts, &seen, seen + 1))
			continue;
		pool->run(pool->context, next, count);
		counter_add(&pool->finished, 1);
		seen = atomic_load(&pool->parts);
	}
}

static void *thread_pool_worker(void *context)
{
	struct thread_pool *pool = context;
	uint32_t seen = 0;

	cpu_partition_bind_thread(pool->partition);
	while (!atomic_load(&pool->quit)) {
		counter_wait(&pool->jobs, seen + 1, INFINITY);
		seen = atomic_load(&pool->jobs.value);
		thread_pool_take_parts(pool);
	}
	return NULL;
}

struct thread_pool *thread_pool_new(const struct cpu_partition *partition, unsigned threads)
{
	size_t size = sizeof(struct thread_pool) + threads * sizeof(pthread_t);
	struct thread_pool *pool = xcalloc(1, size);

	pool->partition = partition;
	while (pool->helper_count + 1 < threads &&
	       parallel_thread_start(&pool->helpers[pool->helper_count], thread_pool_worker,
				     pool) == 0)
		pool->helper_count++;
	return pool;
}

void thread_pool_free(struct thread_pool *pool)
{
	if (!pool)
		return;
	atomic_store(&pool->quit, true);
	counter_add(&pool->jobs, 1);
	for (unsigned i = 0; i < pool->helper_count; i++)
		pthread_join(pool->helpers[i], NULL);
	free(pool);
}

/* accepts NULL */
static void thread_pool_run(struct thread_pool *pool, unsigned parts, thread_pool_part_fn *run,
			    void *context)
{
	pool->run = run;
	pool->context = context;
	pool->job++;
	atomic_store(&pool->parts,
		     (uint64_t)pool->job << 2 * PART_BITS | (uint64_t)parts << PART_BITS);
	counter_add(&pool->jobs, 1);
	thread_pool_take_parts(pool);
	pool->finished_before += parts;
	counter_wait(&pool->finished, pool->finished_before, INFINITY);
}

unsigned host_threads(struct stream *stream)
{
	int cores = host_device(stream->device)->partition->cores;

	return cores > HOST_PARALLEL_MAX ? HOST_PARALLEL_MAX : (unsigned)cores;
}

struct slices {
	host_slice_fn *slice;
	void *context;
	uint64_t count;
};

static void thread_pool_run_part(void *context, unsigned part, unsigned parts)
{
	const struct slices *s = context;
	uint64_t share = s->count / parts, rest = s->count % parts;

	s->slice(s->context, part, share * part + rest * part / parts,
		 share * (part + 1) + rest * (part + 1) / parts);
}

unsigned host_parallel(struct stream *stream, uint64_t count, uint64_t grain, host_slice_fn *slice,
		       void *context)
{
	struct host_stream *s = host_stream(stream);
	struct slices slices = { slice, context, count };
	uint64_t most = grain > 0 ? count / grain : count;
	unsigned parts = host_threads(stream);

	if (most < parts)
		parts = most > 1 ? (unsigned)most : 1;
	if (parts == 1) {
		slice(context, 0, 0, count);
		return 1;
	}
	if (!s->pool)
		s->pool = thread_pool_new(host_device(stream->device)->partition,
					  host_threads(stream));
	thread_pool_run(s->pool, parts, thread_pool_run_part, &slices);
	return parts;
}
