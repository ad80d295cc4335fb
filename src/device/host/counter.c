#include "device/host/counter.h"

#include <linux/futex.h>
#include <limits.h>
#include <math.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

/* Polls before each yield of the core, and time before sleeping. */
#define SPIN_LOOKS 64
#define YIELD_SECONDS 20e-6

/* Without FUTEX_PRIVATE_FLAG, because counters in shared memory connect processes. */
static long counter_futex(_Atomic uint32_t *word, int operation, uint32_t value,
			  const struct timespec *timeout)
{
	return syscall(SYS_futex, word, operation, value, timeout, NULL, 0);
}

static void counter_wake(struct counter *counter)
{
	if (atomic_load(&counter->sleepers) > 0)
		counter_futex(&counter->value, FUTEX_WAKE, INT_MAX, NULL);
}

void counter_add(struct counter *counter, uint32_t amount)
{
	atomic_fetch_add(&counter->value, amount);
	counter_wake(counter);
}

void counter_raise(struct counter *counter, uint32_t value)
{
	uint32_t now = atomic_load(&counter->value);

	while ((int32_t)(value - now) > 0) {
		if (atomic_compare_exchange_weak(&counter->value, &now, value)) {
			counter_wake(counter);
			return;
		}
	}
}

bool counter_reached(const struct counter *counter, uint32_t value)
{
	return (int32_t)(atomic_load_explicit(&counter->value, memory_order_acquire) - value) >= 0;
}

static bool counter_spin(const struct counter *counter, uint32_t value)
{
	double end;

	for (int i = 0; i < SPIN_LOOKS; i++) {
		if (counter_reached(counter, value))
			return true;
#if defined(__x86_64__)
		__builtin_ia32_pause();
#elif defined(__aarch64__)
		__asm__ volatile("yield");
#endif
	}
	end = clock_seconds() + YIELD_SECONDS;
	do {
		if (counter_reached(counter, value))
			return true;
		sched_yield();
	} while (clock_seconds() < end);
	return counter_reached(counter, value);
}

/* Sleeps once, until an increment or the deadline; false after the deadline. */
static bool host_counter_sleep_once(struct counter *counter, uint32_t seen, double deadline)
{
	struct timespec rest, *timeout = NULL;

	if (isfinite(deadline)) {
		double seconds = deadline - clock_seconds();

		if (seconds <= 0)
			return false;
		rest.tv_sec = (time_t)seconds;
		rest.tv_nsec = (long)((seconds - (double)rest.tv_sec) * 1e9);
		timeout = &rest;
	}
	counter_futex(&counter->value, FUTEX_WAIT, seen, timeout);
	return true;
}

bool counter_wait(struct counter *counter, uint32_t value, double deadline)
{
	bool in_time = true;

	if (counter_spin(counter, value))
		return true;
	/*
	 * Registered before the last check: a thread that increments later sees the sleeper and
	 * wakes it.
	 */
	atomic_fetch_add(&counter->sleepers, 1);
	while (in_time) {
		uint32_t seen = atomic_load(&counter->value);

		if ((int32_t)(seen - value) >= 0)
			break;
		in_time = host_counter_sleep_once(counter, seen, deadline);
	}
	atomic_fetch_sub(&counter->sleepers, 1);
	return counter_reached(counter, value);
}
