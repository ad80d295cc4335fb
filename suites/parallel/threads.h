/* Loops over large arrays on the host use its cores where the build can. */
#ifndef GPUPROOF_PARALLEL_THREADS_H
#define GPUPROOF_PARALLEL_THREADS_H

#ifdef _OPENMP
#include <omp.h>
#define IN_PARALLEL _Pragma("omp parallel for schedule(static)")
#else
#define IN_PARALLEL
#endif

/* This process's later loops use its part of the cores: `ranks` processes work at the same time. */
static inline void threads_share(int ranks)
{
#ifdef _OPENMP
	int mine = omp_get_num_procs() / ranks;

	omp_set_num_threads(mine > 1 ? mine : 1);
#else
	(void)ranks;
#endif
}

#endif
