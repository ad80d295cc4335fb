/*
 * Thread pool of a stream that divides the work of one operation. Any idle thread takes the next
 * part, including the stream's own: a helper that the OS schedules late costs nothing, because
 * others take its part. Helpers wait as streams do, so an idle pool uses no CPU time.
 */
#ifndef GPUPROOF_HOST_THREAD_POOL_H
#define GPUPROOF_HOST_THREAD_POOL_H

#include <stdint.h>

struct cpu_partition;
struct thread_pool;

typedef void thread_pool_part_fn(void *context, unsigned part, unsigned parts);

/* Starts threads - 1 helpers bound to the partition; fewer if the OS refuses. */
struct thread_pool *thread_pool_new(const struct cpu_partition *partition, unsigned threads);
void thread_pool_free(struct thread_pool *pool);

#endif
