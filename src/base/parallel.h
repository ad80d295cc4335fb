/*
 * Bookkeeping work (filling, checking, references) spread over vector units and the cores this
 * process may use; single threads.
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
 * VECTORISED, before a function of loops over elements: compiled once for plain x86-64 and once for
 * AVX2 and AVX-512, chosen at start. Not under a sanitizer, whose run-time is not ready when that
 * choice is made.
 */
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && \
	!defined(__clang__)
#if __GNUC__ >= 12
#define VECTORISED __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else /* GCC 11 (Ubuntu 22.04) knows no levels; a model's name would mean that model alone. */
#define VECTORISED __attribute__((target_clones("avx512f", "avx2", "default")))
#endif
#else
#define VECTORISED
#endif

/* Works on elements begin to end-1. Calls run at the same time on different ranges. */
typedef void parallel_fn(void *context, size_t begin, size_t end);

/*
 * The elements that are worth a thread, each of them `operations` simple operations. A thread is
 * started and joined in some ten microseconds on an idle machine, and in a tenth of a second on one
 * with more to do than cores.
 */
size_t parallel_grain(uint64_t operations);

/* Cuts `count` elements into ranges of at least `grain` and returns when all are done. */
void parallel_for(size_t count, size_t grain, parallel_fn *fn, void *context);

/*
 * pthread_create() with all signals blocked in the new thread: they are for the thread that drives
 * the device or conducts the run. Returns 0, or the error's number.
 */
int parallel_thread_start(pthread_t *thread, void *(*run)(void *), void *context);

#ifdef __cplusplus
}
#endif

#endif
