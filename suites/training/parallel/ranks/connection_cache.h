/*
 * Streams, with the results of GEMM searches on them, and communicators that one case of the suite
 * leaves to the next one in the same process: opening them takes longer than many a case.
 */
#ifndef GPUPROOF_SUITES_TRAINING_PARALLEL_RANKS_CONNECTION_CACHE_H
#define GPUPROOF_SUITES_TRAINING_PARALLEL_RANKS_CONNECTION_CACHE_H

#include "suites/training/parallel/ranks/team.h"

struct connection_cache;

struct connection_cache *connection_cache_open(void);
/* Clears it, then frees it. */
void connection_cache_close(struct connection_cache *cache);

/*
 * As team_open_over(), with what is kept where it fits. Collective: all ranks have kept the same.
 */
enum status cached_team_open(struct connection_cache *cache, struct rank_team *team,
			     struct device *device, struct world *world, enum transport transport,
			     int multiprocessors, struct error *err);
/*
 * Keeps the team's streams and, if all ranks have room, its communicator of all of them; closes the
 * rest. Collective, after a success.
 */
void cache_team(struct connection_cache *cache, struct rank_team *team);

/*
 * Closes the team after a failure, streams that were kept, and what `world`, the team's, has kept;
 * collective, also of a team that was never opened. Communicators with ranks of other worlds know
 * those streams and are of no use any more, but the others may be at work elsewhere, and NCCL
 * closes a communicator only together: they are put aside until all their ranks meet again, or all
 * keep nothing.
 */
void cache_evict_team(struct connection_cache *cache, struct rank_team *team,
		      const struct world *world);

/*
 * Forgets and closes everything; while the device is open. Collective among all that ever kept
 * something together.
 */
void connection_cache_clear(struct connection_cache *cache);

#endif
