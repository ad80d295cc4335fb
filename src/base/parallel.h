/*
 * Distributes CPU work (filling, checking, references) over vector units and the available cores;
 * starts single threads.
 */
#ifndef GPUPROOF_BASE_PARALLEL_H
#define GPUPROOF_BASE_PARALLEL_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * VECTORISED marks functions with loops over elements: compiled for plain x86-64, AVX2 and AVX-512,
 * selected at program start. Not with a sanitizer, whose run-time is not ready at that time.
 */
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && \
	!defined(__clang__)
#if __GNUC__ >= 12
#define VECTORISED __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else /* GCC 11 (Ubuntu 22.04) has no levels; a model's name selects only that model. */
#define VECTORISED __attribute__((target_clones("avx512f", "avx2", "default")))
#endif
#else
#define VECTORISED
#endif

/* Processes elements begin to end-1. Calls run concurrently on different ranges. */
typedef void parallel_fn(void *context, size_t begin, size_t end);

/*
 * Minimum number of elements per thread, for elements with `operations` simple operations each.
 * Starting and joining a thread takes about ten microseconds on an idle machine, and a tenth of a
 * second on an overloaded one.
 */
size_t parallel_grain(uint64_t operations);

/* Divides `count` elements into ranges of at least `grain` and returns when all are done. */
void parallel_for(size_t count, size_t grain, parallel_fn *fn, void *context);

/*
 * pthread_create() with all signals blocked in the new thread, because they are for the main
 * thread. Returns 0 or an error number.
 */
int parallel_thread_start(pthread_t *thread, void *(*run)(void *), void *context);

#ifdef __cplusplus
}
#endif

#endif
