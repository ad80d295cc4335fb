/*
 * An allocator of the kind that frameworks put on top of device memory: it takes segments from the
 * device, cuts blocks out of them, and keeps what is freed. The rules are those PyTorch documents: sizes
 * in steps of 512 B; requests up to 1 MiB from segments of 2 MiB, up to 10 MiB from segments of 20 MiB,
 * larger ones from a segment of their own in steps of 2 MiB; the best fit; free neighbours merge; when
 * nothing fits and the device refuses, segments that are free as a whole are given back first.
 *
 * It may be used by several threads, which wait for each other. Suite trainmem has a heap by the same rules
 * (suites/trainmem/heap.h), which counts by class and goes through steps without any memory, on one thread;
 * this one is timed, and so does nothing but hand out memory.
 */
#ifndef GPUPROOF_SUITES_ALLOC_CACHING_H
#define GPUPROOF_SUITES_ALLOC_CACHING_H

#include "device/backend.h"

struct caching;

/* Segments take `limit` bytes together at most; 0: as much as the device has. */
struct caching *caching_open(struct device *device, uint64_t limit);
/* Gives all segments back, used or not. NULL is allowed. */
void caching_close(struct caching *caching);

enum status caching_alloc(struct caching *caching, size_t bytes, void **out, struct error *err);
/* `memory` that did not come from here is STATUS_INTERNAL. NULL is allowed. */
enum status caching_free(struct caching *caching, void *memory, struct error *err);
/* Gives segments back in which nothing is used. */
enum status caching_trim(struct caching *caching, struct error *err);
/* Bytes of all segments. */
uint64_t caching_reserved(struct caching *caching);

#endif
