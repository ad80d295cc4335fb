#include "measure/yardstick.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "base/stats.h"
#include "result/statistics.h"

/*
 * Each sample takes 50 to 500 microseconds: long compared with a clock reading, short compared with
 * a time slice.
 */
#define MULTIPLICATIONS 50000
#define CALLS 500
#define PAGES 64
#define WAKE_UPS 20

/* One sample in seconds per operation; NaN: the system call failed. */
typedef double quantity_fn(void *state);

uint64_t yardstick_multiply(uint64_t x, unsigned rounds)
{
	for (unsigned i = 0; i < rounds; i++) {
		x = x * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		/* The compiler must not skip or merge rounds. */
		__asm__ volatile("" : "+r"(x));
	}
	return x;
}

static double yardstick_sample_multiply(void *state)
{
	uint64_t *x = state;
	double began = clock_seconds();

	*x = yardstick_multiply(*x, MULTIPLICATIONS);
	return (clock_seconds() - began) / MULTIPLICATIONS;
}

static double yardstick_sample_call(void *state)
{
	double began = clock_seconds();

	(void)state;
	for (int i = 0; i < CALLS; i++)
		syscall(SYS_getppid);
	return (clock_seconds() - began) / CALLS;
}

static double yardstick_sample_page_fault(void *state)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), size = PAGES * page;
	volatile char *memory;
	double began, seconds;
	void *map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	if (map == MAP_FAILED)
		return (double)NAN;
	madvise(map, size, MADV_NOHUGEPAGE);
	memory = map;
	began = clock_seconds();
	for (size_t i = 0; i < size; i += page)
		memory[i] = 1;
	seconds = clock_seconds() - began;
	munmap(map, size);
	return seconds / PAGES;
}

/* Two threads that alternately wait for each other. */
struct waking {
	int there[2], back[2]; /* pipes */
	pthread_t thread;
};

/* Retries after signals: a thread that gave up would leave the other one waiting. */
static void *yardstick_echo_bytes(void *state)
{
	const struct waking *w = state;
	char byte;

	while (TEMP_FAILURE_RETRY(read(w->there[0], &byte, 1)) == 1 &&
	       TEMP_FAILURE_RETRY(write(w->back[1], &byte, 1)) == 1)
		;
	return NULL;
}

static double yardstick_sample_wake_up(void *state)
{
	const struct waking *w = state;
	double began = clock_seconds();
	char byte = 1;

	for (int i = 0; i < WAKE_UPS; i++)
		if (TEMP_FAILURE_RETRY(write(w->there[1], &byte, 1)) != 1 ||
		    TEMP_FAILURE_RETRY(read(w->back[0], &byte, 1)) != 1)
			return (double)NAN;
	return (clock_seconds() - began) / (2 * WAKE_UPS);
}

static const char *const names[YARDSTICK_QUANTITIES] = { "host.multiply", "host.call",
							 "host.page_fault", "host.wake_up" };

static void yardstick_sample_quantity(struct yardstick *y, size_t quantity, quantity_fn *sample,
				      void *state)
{
	if (y->counts[quantity] + YARDSTICK_SAMPLES > ARRAY_SIZE(y->samples[quantity]))
		return;
	sample(state); /* the first sample loads code and pages */
	for (int i = 0; i < YARDSTICK_SAMPLES; i++) {
		double seconds = sample(state);

		if (seconds > 0)
			y->samples[quantity][y->counts[quantity]++] = seconds;
	}
}

static void yardstick_close_pipe(const int *ends)
{
	close(ends[0]);
	close(ends[1]);
}

static void yardstick_take_wake_ups(struct yardstick *y, size_t quantity)
{
	struct waking w;

	if (pipe(w.there) != 0)
		return;
	if (pipe(w.back) != 0) {
		yardstick_close_pipe(w.there);
		return;
	}
	if (parallel_thread_start(&w.thread, yardstick_echo_bytes, &w) == 0) {
		yardstick_sample_quantity(y, quantity, yardstick_sample_wake_up, &w);
		/* Closing its end of the pipe ends the thread. */
		close(w.there[1]);
		pthread_join(w.thread, NULL);
		close(w.there[0]);
	} else {
		yardstick_close_pipe(w.there);
	}
	yardstick_close_pipe(w.back);
}

void yardstick_take(struct yardstick *y)
{
	uint64_t x = 1;

	yardstick_sample_quantity(y, 0, yardstick_sample_multiply, &x);
	yardstick_sample_quantity(y, 1, yardstick_sample_call, NULL);
	yardstick_sample_quantity(y, 2, yardstick_sample_page_fault, NULL);
	yardstick_take_wake_ups(y, 3);
}

static void yardstick_store_metric(struct metric_value *m, const char *name, const double *samples,
				   size_t n)
{
	double *sorted = stats_median_sorted_copy(samples, n);

	*m = (struct metric_value){ .name = xstrdup(name),
				    .unit = xstrdup("s"),
				    .better = BETTER_LOWER,
				    .value = median_of_sorted(sorted, n),
				    .low = (double)NAN,
				    .high = (double)NAN,
				    .n = n,
				    .series = xstrdup("") };
	median_interval(sorted, n, stats_median_autocorrelation(samples, n), &m->low, &m->high);
	free(sorted);
}

void yardstick_store(const struct yardstick *y, struct result *result)
{
	for (size_t i = 0; i < result->yardstick_count; i++)
		metric_value_release(&result->yardstick[i]);
	free(result->yardstick);
	result->yardstick = xcalloc(YARDSTICK_QUANTITIES, sizeof(*result->yardstick));
	result->yardstick_capacity = YARDSTICK_QUANTITIES;
	result->yardstick_count = 0;
	for (size_t i = 0; i < YARDSTICK_QUANTITIES; i++)
		if (y->counts[i])
			yardstick_store_metric(&result->yardstick[result->yardstick_count++],
					       names[i], y->samples[i], y->counts[i]);
}
