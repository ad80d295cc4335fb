#include "device/host/stream.h"

#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/memory.h"
#include "base/parallel.h"
#include "device/host/counter.h"
#include "device/host/cpu_partition.h"
#include "device/host/host_kernel.h"

/*
 * Thread pool of a stream that divides the work of one operation. Any idle thread takes the next
 * part, including the stream's own: a helper that the OS schedules late costs nothing, because
 * others take its part. Helpers wait as streams do, so an idle pool uses no CPU time.
 */
/*
 * The remaining parts in one word: the job's number in the high bits, then its number of parts,
 * then the next part. A thread that claims a part of job n by compare-and-swap knows that job n
 * lasts at least until that part is done, so only then may it read the job.
 */
#define PART_BITS 16
#define PART_MASK ((UINT64_C(1) << PART_BITS) - 1)

struct thread_pool {
	const struct cpu_partition *partition;
	/* The job: calls `slice` for each part of `count` items. */
	host_slice_fn *slice;
	void *context;
	uint64_t count;
	_Atomic uint64_t parts;
	struct counter jobs;
	struct counter finished; /* finished parts of all jobs */
	uint32_t job, finished_before;
	atomic_bool quit;
	unsigned helper_count;
	pthread_t helpers[];
};

/* Runs parts until none is left. */
static void host_stream_thread_pool_take_parts(struct thread_pool *pool)
{
	uint64_t seen = atomic_load(&pool->parts);

	for (;;) {
		unsigned next = (unsigned)(seen & PART_MASK),
			 parts = (unsigned)(seen >> PART_BITS & PART_MASK);
		uint64_t share, rest;

		if (next >= parts)
			return;
		if (!atomic_compare_exchange_weak(&pool->parts, &seen, seen + 1))
			continue;
		share = pool->count / parts;
		rest = pool->count % parts;
		pool->slice(pool->context, next, share * next + rest * next / parts,
			    share * (next + 1) + rest * (next + 1) / parts);
		counter_add(&pool->finished, 1);
		seen = atomic_load(&pool->parts);
	}
}

static void *host_stream_thread_pool_worker(void *context)
{
	struct thread_pool *pool = context;
	uint32_t seen = 0;

	cpu_partition_bind_thread(pool->partition);
	while (!atomic_load(&pool->quit)) {
		counter_wait(&pool->jobs, seen + 1, INFINITY);
		seen = atomic_load(&pool->jobs.value);
		host_stream_thread_pool_take_parts(pool);
	}
	return NULL;
}

/* Starts threads - 1 helpers bound to the partition; fewer if the OS refuses. */
static struct thread_pool *host_stream_thread_pool_new(const struct cpu_partition *partition,
						       unsigned threads)
{
	size_t size = sizeof(struct thread_pool) + threads * sizeof(pthread_t);
	struct thread_pool *pool = xcalloc(1, size);

	pool->partition = partition;
	while (pool->helper_count + 1 < threads &&
	       parallel_thread_start(&pool->helpers[pool->helper_count],
				     host_stream_thread_pool_worker, pool) == 0)
		pool->helper_count++;
	return pool;
}

unsigned host_stream_threads(struct stream *stream)
{
	int cores = host_device(stream->device)->partition->cores;

	return cores > HOST_PARALLEL_MAX ? HOST_PARALLEL_MAX : (unsigned)cores;
}

unsigned host_stream_parallel(struct stream *stream, uint64_t count, uint64_t grain,
			      host_slice_fn *slice, void *context)
{
	struct host_stream *s = host_stream(stream);
	struct thread_pool *pool;
	uint64_t most = grain > 0 ? count / grain : count;
	unsigned parts = host_stream_threads(stream);

	if (most < parts)
		parts = most > 1 ? (unsigned)most : 1;
	if (parts == 1) {
		slice(context, 0, 0, count);
		return 1;
	}
	if (!s->pool)
		s->pool = host_stream_thread_pool_new(host_device(stream->device)->partition,
						      host_stream_threads(stream));
	pool = s->pool;
	pool->slice = slice;
	pool->context = context;
	pool->count = count;
	pool->job++;
	atomic_store(&pool->parts,
		     (uint64_t)pool->job << 2 * PART_BITS | (uint64_t)parts << PART_BITS);
	counter_add(&pool->jobs, 1);
	host_stream_thread_pool_take_parts(pool);
	pool->finished_before += parts;
	counter_wait(&pool->finished, pool->finished_before, INFINITY);
	return parts;
}

/*
 * The queue is a linked list with one producer (the driving thread) and one consumer (the stream's
 * thread). The consumer leaves its last operation at the head of the list; the producer reuses all
 * nodes before it, so a queue that has reached its depth does not allocate.
 */
struct host_operation {
	struct host_operation *next;
	kernel_fn *run; /* NULL ends the thread */
	bool always;
	_Alignas(16) unsigned char arguments[OPERATION_BYTES];
};

/* Nodes created with the stream: a batch of this depth is enqueued without malloc. */
#define FIRST_NODES 256

static enum status host_stream_operations_enqueue(struct stream *stream, kernel_fn *run,
						  bool always, const void *arguments, size_t bytes,
						  struct error *err)
{
	struct host_stream *s = host_stream(stream);
	struct host_operation *node;

	if (bytes > OPERATION_BYTES)
		return error_set(err, STATUS_INTERNAL,
				 "the arguments of an operation have %zu bytes; allowed: %d", bytes,
				 OPERATION_BYTES);
	node = s->oldest;
	if (node == atomic_load_explicit(&s->current, memory_order_acquire))
		node = xmalloc(sizeof(*node));
	else
		s->oldest = node->next;
	node->run = run;
	node->always = always;
	if (bytes > 0)
		memcpy(node->arguments, arguments, bytes);
	node->next = NULL;
	s->newest->next = node;
	s->newest = node;
	s->enqueued_count++;
	counter_add(&s->enqueued, 1);
	return STATUS_OK;
}

/*
 * Graphs of the host backend: a list of operations with copies of their arguments. Only operations
 * that depend on nothing but their arguments can run repeatedly: no events, gates, collectives.
 */
struct recorded_operation {
	kernel_fn *run;
	size_t bytes;
	_Alignas(16) unsigned char arguments[OPERATION_BYTES];
};

struct host_graph {
	struct graph base;
	struct recorded_operation *operations;
	size_t count, capacity;
};

enum status host_stream_refuse_recording(struct stream *stream, const char *what, struct error *err)
{
	if (!host_stream(stream)->recording)
		return STATUS_OK;
	return error_set(err, STATUS_UNSUPPORTED, "a graph of the host backend cannot contain %s",
			 what);
}

enum status host_stream_enqueue(struct stream *stream, kernel_fn *run, const void *arguments,
				size_t bytes, struct error *err)
{
	struct host_graph *graph = host_stream(stream)->recording;
	struct recorded_operation *operation;

	if (!graph || bytes > OPERATION_BYTES)
		return host_stream_operations_enqueue(stream, run, false, arguments, bytes, err);
	ARRAY_GROW(graph->operations, graph->count, graph->capacity);
	operation = &graph->operations[graph->count++];
	operation->run = run;
	operation->bytes = bytes;
	if (bytes > 0)
		memcpy(operation->arguments, arguments, bytes);
	return STATUS_OK;
}

enum status host_stream_enqueue_always(struct stream *stream, kernel_fn *run, const void *arguments,
				       size_t bytes, struct error *err)
{
	if (host_stream_refuse_recording(stream, "operations that other streams or ranks wait for",
					 err) != STATUS_OK)
		return STATUS_UNSUPPORTED;
	return host_stream_operations_enqueue(stream, run, true, arguments, bytes, err);
}

static void *host_stream_thread(void *context)
{
	struct host_stream *s = context;
	struct host_operation *node = atomic_load_explicit(&s->current, memory_order_relaxed);
	uint32_t done = 0;

	cpu_partition_bind_thread(host_device(s->base.device)->partition);
	for (;;) {
		counter_wait(&s->enqueued, ++done, INFINITY);
		node = node->next;
		/* From here on, the node before this one may be reused. */
		atomic_store_explicit(&s->current, node, memory_order_release);
		if (!node->run)
			return NULL;
		if (s->error.status == STATUS_OK || node->always) {
			struct error err = ERROR_NONE;
			enum status status = node->run(&s->base, node->arguments, &err);

			if (status != STATUS_OK && s->error.status == STATUS_OK)
				error_set(&s->error, status, "%s", err.message);
		}
		counter_add(&s->completed, 1);
	}
}

static void host_stream_free_nodes(struct host_stream *s)
{
	while (s->oldest) {
		struct host_operation *node = s->oldest;

		s->oldest = node->next;
		free(node);
	}
}

enum status host_stream_create(struct device *device, bool high_priority, struct stream **out,
			       struct error *err)
{
	struct host_stream *s = xcalloc(1, sizeof(*s));
	int failed;
	struct host_operation *first, *last;

	/* the OS schedules threads fairly; raising a priority needs privileges */
	(void)high_priority;
	s->base.device = device;
	pthread_mutex_init(&s->taking, NULL);
	first = xcalloc(1, sizeof(*first));
	last = first;
	for (int i = 1; i < FIRST_NODES; i++) {
		last->next = xcalloc(1, sizeof(*last));
		last = last->next;
	}
	s->oldest = first;
	s->newest = last;
	atomic_init(&s->current, last);
	failed = parallel_thread_start(&s->thread, host_stream_thread, s);
	if (failed) {
		host_stream_free_nodes(s);
		free(s);
		return error_set(err, STATUS_DEVICE, "pthread_create for a stream: %s",
				 strerror(failed));
	}
	s->next = host_device(device)->streams;
	host_device(device)->streams = s;
	*out = &s->base;
	return STATUS_OK;
}

void host_stream_destroy(struct stream *stream)
{
	struct host_stream *s, **link;

	if (!stream)
		return;
	s = host_stream(stream);
	counter_raise(&s->gates_opened, s->gates_closed);
	host_stream_operations_enqueue(stream, NULL, true, NULL, 0, NULL);
	pthread_join(s->thread, NULL);
	for (link = &host_device(stream->device)->streams; *link; link = &(*link)->next) {
		if (*link == s) {
			*link = s->next;
			break;
		}
	}
	if (s->recording)
		host_graph_destroy((struct graph *)s->recording);
	if (s->pool) {
		atomic_store(&s->pool->quit, true);
		counter_add(&s->pool->jobs, 1);
		for (unsigned i = 0; i < s->pool->helper_count; i++)
			pthread_join(s->pool->helpers[i], NULL);
		free(s->pool);
	}
	if (s->workspace)
		munmap(s->workspace, s->workspace_bytes);
	atomic_fetch_sub(&host_device(stream->device)->workspace_bytes, s->workspace_bytes);
	host_stream_free_nodes(s);
	pthread_mutex_destroy(&s->taking);
	free(s);
}

enum status host_stream_synchronize(struct stream *stream, struct error *err)
{
	struct host_stream *s = host_stream(stream);
	enum status status;

	counter_wait(&s->completed, s->enqueued_count, INFINITY);
	/* The stream's thread is idle and does not access `error` until more is enqueued. */
	pthread_mutex_lock(&s->taking);
	status = s->error.status;
	if (status != STATUS_OK)
		error_set(err, status, "%s", s->error.message);
	error_clear(&s->error);
	pthread_mutex_unlock(&s->taking);
	return status;
}

enum status host_device_synchronize(struct device *device, struct error *err)
{
	enum status first = STATUS_OK;

	for (struct host_stream *s = host_device(device)->streams; s; s = s->next) {
		enum status status = host_stream_synchronize(&s->base, err);

		if (first == STATUS_OK)
			first = status;
	}
	return first;
}

enum status host_graph_begin(struct stream *stream, struct error *err)
{
	struct host_stream *s = host_stream(stream);

	if (s->recording)
		return error_set(err, STATUS_INTERNAL,
				 "graph_begin: the stream is already recording");
	s->recording = xcalloc(1, sizeof(*s->recording));
	s->recording->base.device = stream->device;
	return STATUS_OK;
}

enum status host_graph_end(struct stream *stream, struct graph **out, struct error *err)
{
	struct host_stream *s = host_stream(stream);

	if (!s->recording)
		return error_set(err, STATUS_INTERNAL, "graph_end: the stream is not recording");
	*out = &s->recording->base;
	s->recording = NULL;
	return STATUS_OK;
}

enum status host_graph_launch(struct graph *graph, struct stream *stream, struct error *err)
{
	struct host_graph *g = (struct host_graph *)graph;
	enum status status = STATUS_OK;

	for (size_t i = 0; i < g->count && status == STATUS_OK; i++)
		status = host_stream_enqueue(stream, g->operations[i].run,
					     g->operations[i].arguments, g->operations[i].bytes,
					     err);
	return status;
}

void host_graph_destroy(struct graph *graph)
{
	struct host_graph *g = (struct host_graph *)graph;

	if (!g)
		return;
	free(g->operations);
	free(g);
}

struct callback {
	callback_fn *function;
	void *context;
};

static enum status host_stream_callback_run(struct stream *stream, const void *arguments,
					    struct error *err)
{
	const struct callback *callback = arguments;

	(void)stream;
	(void)err;
	callback->function(callback->context);
	return STATUS_OK;
}

enum status host_callback(struct stream *stream, callback_fn *callback, void *context,
			  struct error *err)
{
	struct callback c = { callback, context };

	return host_stream_enqueue(stream, host_stream_callback_run, &c, sizeof(c), err);
}
