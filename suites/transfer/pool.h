/*
 * Pool of memory that outlives a case. Page-locking 1 GiB takes half a second, and memory of a
 * device with peer access is mapped for each peer; often that takes longer than the measurement.
 * Memory that a case returns is therefore kept for the next one of this process: same allocator,
 * same device or NUMA node, at least the size. It has one user at a time and contains whatever the
 * last one left.
 */
#ifndef GPUPROOF_SUITES_TRANSFER_POOL_H
#define GPUPROOF_SUITES_TRANSFER_POOL_H

#include "suites/shared/buffers.h"

struct pool;

struct pool *pool_open(void);
/* Frees the pool; nothing may be in use. */
void pool_close(struct pool *pool);

/*
 * Memory of `bytes` on or near `device`; return `buffer` with pool_give(), never with
 * buffer_free(). *node: its NUMA node, -1 if there is no choice.
 */
enum status pool_take(struct pool *pool, struct buffer *buffer, struct device *device,
		      enum allocator allocator, size_t bytes, int *node, struct error *err);
/* Does nothing for a zeroed buffer, or after pool_take() failed; `pool` is not used then. */
void pool_give(struct pool *pool, struct buffer *buffer);
/* Frees everything that is not in use. */
void pool_empty(struct pool *pool);

#endif
