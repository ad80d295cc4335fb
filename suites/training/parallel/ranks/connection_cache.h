/*
 * Streams, with the results of GEMM searches on them, and communicators that a case of the suite
 * leaves to the next one in the same process: opening them takes longer than many cases.
 */
#ifndef GPUPROOF_SUITES_TRAINING_PARALLEL_RANKS_CONNECTION_CACHE_H
#define GPUPROOF_SUITES_TRAINING_PARALLEL_RANKS_CONNECTION_CACHE_H

#include "suites/training/parallel/ranks/team.h"

struct connection_cache;

struct connection_cache *connection_cache_open(void);
/* Clears the cache, then frees it. */
void connection_cache_close(struct connection_cache *cache);

/*
 * Like rank_team_open_over(), but reuses cached parts that match. Collective: all ranks have cached
 * the same.
 */
enum status connection_cache_team_open(struct connection_cache *cache, struct rank_team *team,
				       struct device *device, struct world *world,
				       enum transport transport, int multiprocessors,
				       struct error *err);
/*
 * Stores the team's streams and, if all ranks have room, the communicator of all its ranks; closes
 * the rest. Collective, after a success.
 */
void connection_cache_keep_team(struct connection_cache *cache, struct rank_team *team);

/*
 * Closes the team after a failure, together with the cached streams and communicators of `world`,
 * the team's world; collective, also for a team that was never opened. Communicators that include
 * ranks of other worlds use the closed streams and are unusable, but the other ranks may be busy,
 * and NCCL closes a communicator only collectively: they are marked until all their ranks meet
 * again, or until all clear their caches.
 */
void connection_cache_evict_team(struct connection_cache *cache, struct rank_team *team,
				 const struct world *world);

/* Closes all entries while the device is open. Collective among all ranks that share an entry. */
void connection_cache_clear(struct connection_cache *cache);

#endif
