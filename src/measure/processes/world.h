/*
 * The ranks of one case together: one process per device. A world of size 1 does nothing and costs
 * nothing. Every call is collective unless it says otherwise: all ranks make it in the same order.
 *
 * How the ranks reach each other is the implementation's (struct world_ops): shared memory of
 * processes made by fork() before any device call (world_shm.c), or TCP between nodes
 * (world_tcp.h). Shared memory has no deadline: the conductor notices a rank that dies, and kills
 * the others. Over TCP a rank that dies or stays silent ends the world.
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
	uint64_t id; /* the same on every rank, different from every other world's; 0: one rank */
	const struct world_ops *ops; /* NULL for size 1 */
	void *state;                 /* of the implementation; copies of a world share it */
};

/* Most bytes that one broadcast or gather moves per rank. */
#define WORLD_MAX_BYTES 4096
/* Exit code of a rank that ends because its world has: another rank is missing. */
#define WORLD_ENDED_EXIT 75

/*
 * Before fork(): a world of `size` ranks in shared memory. After fork() each child sets
 * world->rank. The process that made it releases it after the ranks have ended; it may watch it
 * meanwhile.
 */
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
 * another one, or none, get "rank N: <its message>"; err->rank says which. So all take the same
 * decision. Call it after each step that can fail on one rank only. When the world has ended, the
 * reason.
 */
enum status world_agree(struct world *world, enum status mine, struct error *err);

/*
 * For the process that made the world, at any time: true if a rank whose device has failed waits in
 * world_agree() for the others, which may be waiting for it in a collective, without an end; or if
 * a rank was lost. `said` becomes "rank N: <its message>", with its rank.
 */
bool world_pending_failure(const struct world *world, struct error *said);

/*
 * At any time, by any process that has the world: ends it. Ranks that wait in a call, or make
 * another, fail with `reason`.
 */
void world_stop(struct world *world, const char *reason);
/* Not collective: this rank makes no further call, and may end without being missed. */
void world_leave(struct world *world);

/*
 * Takes over when a call other than world_agree() finds that the world has ended. By default the
 * process prints the reason and exits: without its peers a rank can do nothing, and would not know
 * when to stop. If the handler returns, the call does: broadcasts leave data as it is, gathers
 * zeros, numbers are NaN.
 */
typedef void world_ended_fn(const struct world *world, const struct error *reason);
extern world_ended_fn *world_ended;

#endif
