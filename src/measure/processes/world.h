/*
 * The ranks of one case together: one process per device, made by fork() before any device call. Shared memory on
 * one node. A world of size 1 does nothing and costs nothing. Every call is collective: all ranks make it in the
 * same order. A rank that dies is noticed by the conductor, which kills the others, so calls here never time out.
 */
#ifndef GPUPROOF_MEASURE_PROCESSES_WORLD_H
#define GPUPROOF_MEASURE_PROCESSES_WORLD_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

struct world {
	int rank, size;
	struct world_shared *shared; /* NULL for size 1 */
};

/* Most bytes that one broadcast or gather moves per rank. */
#define WORLD_MAX_BYTES 4096

/* Before fork(): shared memory for `size` ranks. After fork() each child sets world->rank. */
enum status world_create(struct world *world, int size, struct error *err);
void world_release(struct world *world);

void world_barrier(struct world *world);
/* Copies root's `bytes` to every rank. */
void world_broadcast(struct world *world, int root, void *data, size_t bytes);
/* The same for any number of bytes. */
void world_broadcast_long(struct world *world, int root, void *data, size_t bytes);
/* all[i] = rank i's bytes, on every rank. */
void world_gather(struct world *world, const void *mine, void *all, size_t bytes);
double world_max(struct world *world, double mine);
double world_sum(struct world *world, double mine); /* in rank order: the same bits on every rank */
/*
 * Agrees on success: when any rank has failed, every rank returns the worst failure (what is not
 * supported, or does not fit, is least), the first rank's of several such; the ranks that had
 * another one, or none, get "rank N: <its message>". So all take the same decision. Call it after
 * each step that can fail on one rank only.
 */
enum status world_agree(struct world *world, enum status mine, struct error *err);

/*
 * For the conductor, at any time: true if a rank whose device has failed waits in world_agree() for
 * the others, which may be waiting for it in a collective, without an end. `said` becomes "rank N:
 * <its message>".
 */
bool world_pending_failure(const struct world *world, struct error *said);

#endif
