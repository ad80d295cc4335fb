#include "measure/host/host_core.h"

#include <math.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/memory.h"

#define ROUNDS 4000
/* A shared core takes 1.6 to 2.1 times as long; full speed itself varies by 15 % with the clock. */
#define FAST_RATIO 1.25
/* Cores that are tried in one search: a move takes some 20 us. */
#define CORES_MOST 16
#define SEARCH_INTERVAL_SECONDS 5e-3

struct host_core {
	cpu_set_t allowed; /* before it was taken */
	double searched;   /* clock_seconds() of the latest search */
	bool moved;        /* since the latest question */
};

/* The best of two: an interrupt delays one. */
static double chain(void)
{
	static volatile uint64_t sink = 1;
	double best = INFINITY;

	for (int n = 0; n < 2; n++) {
		uint64_t x = sink | 1;
		double began = clock_seconds();

		for (int i = 0; i < ROUNDS; i++)
			x = x * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		sink = x;
		best = fmin(best, clock_seconds() - began);
	}
	return best;
}

double (*host_core_pace)(void) = chain;

/* Pace of the fastest core that this process has tried. */
static double fastest = INFINITY;

static double pace_here(void)
{
	double pace = host_core_pace();

	fastest = fmin(fastest, pace);
	return pace;
}

static bool is_fast(double pace)
{
	return pace <= FAST_RATIO * fastest;
}

static bool move_to(int cpu)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	return sched_setaffinity(0, sizeof(one), &one) == 0;
}

/*
 * To the fastest core; the first that is at full speed will do, but the first search of a process
 * has to learn what that is.
 */
static bool search(struct host_core *c)
{
	bool first = isinf(fastest);
	int here = sched_getcpu(), best = -1, tried = 0;
	double best_pace = INFINITY;

	c->searched = clock_seconds();
	c->moved = true;
	for (int i = 0; i < CPU_SETSIZE && tried < CORES_MOST; i++) {
		int cpu = (here + i) % CPU_SETSIZE;
		double pace;

		if (here < 0 || !CPU_ISSET(cpu, &c->allowed) || !move_to(cpu))
			continue;
		tried++;
		pace = pace_here();
		if (pace < best_pace) {
			best_pace = pace;
			best = cpu;
		}
		if (!first && is_fast(pace))
			break;
	}
	return best >= 0 && move_to(best);
}

struct host_core *host_core_take(void)
{
	struct host_core *c = xcalloc(1, sizeof(*c));

	if (sched_getaffinity(0, sizeof(c->allowed), &c->allowed) == 0 && search(c))
		return c;
	host_core_release(c);
	return NULL;
}

bool host_core_was_fast(struct host_core *c)
{
	bool fast;

	if (!c)
		return true;
	fast = is_fast(pace_here());
	if (fast && !c->moved)
		return true;
	c->moved = false;
	if (!fast && clock_seconds() - c->searched > SEARCH_INTERVAL_SECONDS)
		search(c);
	return false;
}

void host_core_release(struct host_core *c)
{
	if (c && CPU_COUNT(&c->allowed))
		sched_setaffinity(0, sizeof(c->allowed), &c->allowed);
	free(c);
}
