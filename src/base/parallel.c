#include "base/parallel.h"

#include <sched.h>
#include <signal.h>
#include <stdbool.h>

/* More threads would only wait for the same memory. */
#define MAX_THREADS 16
/* About a quarter of a millisecond. */
#define THREAD_OPERATIONS (UINT64_C(1) << 18)

struct parallel_range {
	parallel_fn *fn;
	void *context;
	size_t begin, end;
	pthread_t thread;
	bool started;
};

size_t parallel_grain(uint64_t operations)
{
	return operations >= THREAD_OPERATIONS ? 1
	       : operations                    ? (size_t)(THREAD_OPERATIONS / operations)
					       : (size_t)THREAD_OPERATIONS;
}

static void *parallel_run_range(void *argument)
{
	struct parallel_range *r = argument;

	r->fn(r->context, r->begin, r->end);
	return NULL;
}

int parallel_thread_start(pthread_t *thread, void *(*run)(void *), void *context)
{
	sigset_t all, before;
	int failure;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	failure = pthread_create(thread, NULL, run, context);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return failure;
}

void parallel_for(size_t count, size_t grain, parallel_fn *fn, void *context)
{
	struct parallel_range ranges[MAX_THREADS];
	size_t useful = grain ? count / grain : count, threads = 1, begin = 0;
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set) == 0)
		threads = (size_t)CPU_COUNT(&set);
	if (threads > MAX_THREADS)
		threads = MAX_THREADS;
	if (threads > useful)
		threads = useful ? useful : 1;
	for (size_t i = 0; i < threads; i++) {
		size_t length = count / threads + (i < count % threads);

		ranges[i] = (struct parallel_range){
			.fn = fn, .context = context, .begin = begin, .end = begin + length
		};
		begin += length;
		/* This thread runs the last range, and any range whose thread cannot be created. */
		ranges[i].started = i + 1 < threads &&
				    parallel_thread_start(&ranges[i].thread, parallel_run_range,
							  &ranges[i]) == 0;
	}
	for (size_t i = 0; i < threads; i++)
		if (!ranges[i].started)
			parallel_run_range(&ranges[i]);
	for (size_t i = 0; i < threads; i++)
		if (ranges[i].started)
			pthread_join(ranges[i].thread, NULL);
}
