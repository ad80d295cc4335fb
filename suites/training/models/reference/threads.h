/* Parallel loops over large host arrays, if the build supports them. */
#ifndef GPUPROOF_SUITES_TRAINING_MODELS_REFERENCE_THREADS_H
#define GPUPROOF_SUITES_TRAINING_MODELS_REFERENCE_THREADS_H

#ifdef _OPENMP
#define IN_PARALLEL _Pragma("omp parallel for schedule(static) num_threads(threads_here())")
#else
#define IN_PARALLEL
#endif

/*
 * Limits this process's later loops to its part of the cores: `ranks` processes work at the same
 * time. Initially 1.
 */
void threads_share(int ranks);
/* Threads of a loop: the cores that this process may use, or its part of them; at least 1. */
int threads_here(void);

#endif
