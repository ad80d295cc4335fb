/* Loops over large arrays on the host use its cores where the build can. */
#ifndef GPUPROOF_PARALLEL_THREADS_H
#define GPUPROOF_PARALLEL_THREADS_H

#ifdef _OPENMP
#define IN_PARALLEL _Pragma("omp parallel for schedule(static)")
#else
#define IN_PARALLEL
#endif

#endif
