/* Loops over large arrays on the host use its cores where the build can. */
#ifndef GPUPROOF_SUITES_TRAINING_MODELS_REFERENCE_THREADS_H
#define GPUPROOF_SUITES_TRAINING_MODELS_REFERENCE_THREADS_H

#ifdef _OPENMP
#define IN_PARALLEL _Pragma("omp parallel for schedule(static) num_threads(threads_here())")
#else
#define IN_PARALLEL
#endif

/*
 * This process's later loops use its part of the cores: `ranks` processes work at the same time. 1
 * at first.
 */
void threads_share(int ranks);
/* Threads of a loop: the cores that this process may run on, or its part of them; 1 at least. */
int threads_here(void);

#endif
