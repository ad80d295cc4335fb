/* Threads: bookkeeping work (filling, checking, references) spread over the cores this process may use, and single ones. */
#ifndef GPUPROOF_BASE_PARALLEL_H
#define GPUPROOF_BASE_PARALLEL_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Works on elements begin to end-1. Calls run at the same time on different ranges. */
typedef void parallel_fn(void *context, size_t begin, size_t end);

/*
 * The elements that are worth a thread, each of them `operations` simple operations. A thread is started and joined in
 * some ten microseconds on an idle machine, and in a tenth of a second on one with more to do than cores.
 */
size_t parallel_grain(uint64_t operations);

/* Cuts `count` elements into ranges of at least `grain` and returns when all are done. */
void parallel_for(size_t count, size_t grain, parallel_fn *fn, void *context);

/*
 * pthread_create() with all signals blocked in the new thread: they are for the thread that drives the device or
 * conducts the run. Returns 0, or the error's number.
 */
int thread_start(pthread_t *thread, void *(*run)(void *), void *context);

#ifdef __cplusplus
}
#endif

#endif
