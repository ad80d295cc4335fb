#include "device/host/team.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "base/memory.h"
#include "device/host/counter.h"
#include "device/host/share.h"

/*
 * The parts still to be taken, in one word: the job's number above, then how many parts it has,
 * then the next one. Who takes a part of job n by compare-and-swap knows that job n is not over
 * before that part is, so only then may it read what the job is.
 */
#define PART_BITS 16
#define PART_MASK ((UINT64_C(1) << PART_BITS) - 1)

struct team {
	const struct share *share;
	team_part_fn *run;
	void *context;
	_Atomic uint64_t parts;
	struct counter jobs;
	struct counter finished; /* parts, of all jobs */
	uint32_t job, finished_before;
	atomic_bool quit;
	unsigned helper_count;
	pthread_t helpers[];
};

/* Runs parts until none is left. */
static void take_parts(struct team *team)
{
	uint64_t seen = atomic_load(&team->parts);

	for (;;) {
		unsigned next = (unsigned)(seen & PART_MASK),
			 count = (unsigned)(seen >> PART_BITS & PART_MASK);

		if (next >= count)
			return;
		if (!atomic_compare_exchange_weak(&team->parts, &seen, seen + 1))
			continue;
		team->run(team->context, next, count);
		counter_add(&team->finished, 1);
		seen = atomic_load(&team->parts);
	}
}

static void *help(void *context)
{
	struct team *team = context;
	uint32_t seen = 0;

	share_bind_thread(team->share);
	while (!atomic_load(&team->quit)) {
		counter_wait(&team->jobs, seen + 1, INFINITY);
		seen = atomic_load(&team->jobs.value);
		take_parts(team);
	}
	return NULL;
}

struct team *team_new(const struct share *share, unsigned threads)
{
	size_t size = sizeof(struct team) + threads * sizeof(pthread_t);
	struct team *team = xcalloc(1, size);
	sigset_t all, old;

	team->share = share;
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	while (team->helper_count + 1 < threads &&
	       pthread_create(&team->helpers[team->helper_count], NULL, help, team) == 0)
		team->helper_count++;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return team;
}

void team_free(struct team *team)
{
	if (!team)
		return;
	atomic_store(&team->quit, true);
	counter_add(&team->jobs, 1);
	for (unsigned i = 0; i < team->helper_count; i++)
		pthread_join(team->helpers[i], NULL);
	free(team);
}

void team_run(struct team *team, unsigned parts, team_part_fn *run, void *context)
{
	team->run = run;
	team->context = context;
	team->job++;
	atomic_store(&team->parts,
		     (uint64_t)team->job << 2 * PART_BITS | (uint64_t)parts << PART_BITS);
	counter_add(&team->jobs, 1);
	take_parts(team);
	team->finished_before += parts;
	counter_wait(&team->finished, team->finished_before, INFINITY);
}
