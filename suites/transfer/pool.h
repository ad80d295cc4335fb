/*
 * Memory that outlives a case. Page-locking 1 GiB takes half a second, and where other devices have
 * access to a device its memory is mapped for each of them; often that takes longer than what is
 * measured with it. So what a case gives back is kept for the next one of this process: the same
 * allocator, the same device or NUMA node, at least the size. It is lent to one user at a time and
 * holds whatever the last one left there.
 */
#ifndef GPUPROOF_SUITES_TRANSFER_POOL_H
#define GPUPROOF_SUITES_TRANSFER_POOL_H

#include "suites/shared/buffers.h"

struct pool;

struct pool *pool_open(void);
/* Frees it; nothing may be lent out. */
void pool_close(struct pool *pool);

/*
 * Memory of `bytes` on or near `device`; `buffer` is given back with pool_give() and never freed by
 * buffer_free(). *node: the NUMA node it was placed on, -1 where there is no choice.
 */
enum status pool_take(struct pool *pool, struct buffer *buffer, struct device *device,
		      enum allocator allocator, size_t bytes, int *node, struct error *err);
/*
 * Does nothing for a zeroed buffer or one that pool_take() failed to get; `pool` is not used then.
 */
void pool_give(struct pool *pool, struct buffer *buffer);
/* Frees what is not lent out. */
void pool_empty(struct pool *pool);

#endif
