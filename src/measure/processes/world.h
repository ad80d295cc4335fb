/*
 * World: the ranks of one case, one process per device. A world of size 1 does nothing at no cost.
 * Unless stated otherwise every call is collective: all ranks make it in the same order.
 *
 * struct world_ops implements the communication: shared memory between processes forked before any
 * device call (world.c), or TCP between nodes (world_tcp.h). Shared memory has no timeout: the
 * conductor detects a rank that dies, and kills the others. Over TCP a rank that dies or stays
 * silent ends the world.
 */
#ifndef GPUPROOF_MEASURE_PROCESSES_WORLD_H
#define GPUPROOF_MEASURE_PROCESSES_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct world_ops;

struct world {
	int rank, size;
	uint64_t id;                 /* equal on all ranks, unique per world; 0: a single rank */
	const struct world_ops *ops; /* NULL for size 1 */
	void *state;                 /* state of the implementation; copies of a world share it */
};

/* Maximum bytes per rank in one gather. */
#define WORLD_MAX_BYTES 4096
/*
 * Exit code of a rank whose world ended because another rank is missing. When a call other than
 * world_agree() finds that, the process prints the reason and exits: without its peers a rank can
 * do nothing.
 */
#define WORLD_ENDED_EXIT 75

/*
 * Call before fork(): creates a world of `size` ranks in shared memory. After fork() each child
 * sets world->rank. The creating process may watch the world and releases it after the ranks have
 * exited.
 */
enum status world_create(struct world *world, int size, struct error *err);
void world_release(struct world *world);

void world_barrier(struct world *world);
/* Copies root's `bytes`, any number of them, to every rank. */
void world_broadcast(struct world *world, int root, void *data, size_t bytes);
/* all[i] = bytes of rank i, on every rank. */
void world_gather(struct world *world, const void *mine, void *all, size_t bytes);
double world_max(struct world *world, double mine);
/* sum in rank order: bitwise equal on every rank */
double world_sum(struct world *world, double mine);
/*
 * Agrees on success. If any rank failed, every rank returns the worst failure (not supported and
 * out of memory are least severe), of equal ones that of the first rank. Ranks with another failure
 * or none get "rank N: <its message>"; err->rank has the rank. All ranks therefore take the same
 * decision. Call it after each step that can fail on a single rank. If the world has ended, returns
 * the reason.
 */
enum status world_agree(struct world *world, enum status mine, struct error *err);

/*
 * For the process that created the world, at any time: true if a rank was lost, or a rank with a
 * failed device waits in world_agree() for others that may wait for it in a collective forever.
 * `said` becomes "rank N: <its message>", with its rank.
 */
bool world_pending_failure(const struct world *world, struct error *said);

/* Not collective: this rank makes no further calls and may exit without being reported missing. */
void world_leave(struct world *world);

#endif
