#include "suites/training/models/reference/threads.h"

#include <sched.h>

static int sharing = 1;

void threads_share(int ranks)
{
	sharing = ranks;
}

int threads_here(void)
{
	cpu_set_t mine;
	int cores = sched_getaffinity(0, sizeof(mine), &mine) == 0 ? CPU_COUNT(&mine) : 1;

	return cores > sharing ? cores / sharing : 1;
}
