#include "suites/training/parallel/ranks/connection_cache.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "suites/training/models/gemm/layer.h"

/*
 * Maximum kept: worlds of different sizes, with and without a limit for collectives, over different
 * transports.
 */
#define KEPT_MOST 16

/* A communicator of all ranks of a world. */
struct cached_comm {
	struct communicator *all;
	uint64_t world; /* its id */
	enum transport asked;
	int multiprocessors;
	uint64_t bytes;
	bool aside; /* to be closed, not used: see connection_cache_evict_team() */
};

/* A process of this suite uses one device at a time. */
struct connection_cache {
	struct device *device; /* NULL: the cache is empty */
	struct stream *streams[STREAM_COUNT];
	struct tuning_cache *tuning_cache;
	enum transport asked; /* by the current team */
	struct cached_comm comms[KEPT_MOST];
	size_t count;
};

struct connection_cache *connection_cache_open(void)
{
	return xcalloc(1, sizeof(struct connection_cache));
}

static void connection_cache_forget_comm(struct connection_cache *cache, struct cached_comm *comm)
{
	cache->count--;
	memmove(comm, comm + 1,
		(size_t)(cache->comms + cache->count - comm) * sizeof(cache->comms[0]));
}

static void connection_cache_close_comm(struct connection_cache *cache, struct cached_comm *comm)
{
	backend_communicator_close(comm->all);
	connection_cache_forget_comm(cache, comm);
}

static void connection_cache_close_streams(struct connection_cache *cache)
{
	convolve_tuning_cache_free(cache->tuning_cache);
	for (int i = 0; i < STREAM_COUNT; i++)
		backend_stream_destroy(cache->streams[i]);
	memset(cache->streams, 0, sizeof(cache->streams));
	cache->tuning_cache = NULL;
}

void connection_cache_clear(struct connection_cache *cache)
{
	while (cache->count)
		connection_cache_close_comm(cache, &cache->comms[0]);
	connection_cache_close_streams(cache);
	cache->device = NULL;
}

void connection_cache_close(struct connection_cache *cache)
{
	connection_cache_clear(cache);
	free(cache);
}

/*
 * In a failed case with fewer ranks, a rank may have marked its communicator for closing: then all
 * ranks close theirs. Ranks of a small world are also in larger ones, and closing may wait for the
 * other ranks: so communicators are closed in the order of the cases.
 */
static void connection_cache_take_comm(struct connection_cache *cache, struct rank_team *team,
				       enum transport asked)
{
	struct cached_comm *comm = NULL;
	bool mine;

	for (size_t i = 0; i < cache->count && !comm; i++)
		if (cache->comms[i].world == team->world->id && cache->comms[i].asked == asked &&
		    cache->comms[i].multiprocessors == team->multiprocessors)
			comm = &cache->comms[i];
	mine = comm && !comm->aside;
	if (world_sum(team->world, mine) < team->world->size) {
		if (comm)
			connection_cache_close_comm(cache, comm);
		return;
	}
	team->all = comm->all;
	team->transport = comm->all->transport;
	team->communicator_bytes = comm->bytes;
	connection_cache_forget_comm(cache, comm);
}

enum status connection_cache_team_open(struct connection_cache *cache, struct rank_team *team,
				       struct device *device, struct world *world,
				       enum transport transport, int multiprocessors,
				       struct error *err)
{
	if (cache->device != device)
		connection_cache_clear(cache);
	*team = (struct rank_team){ .device = device,
				    .world = world,
				    .multiprocessors = multiprocessors,
				    .tuning_cache = cache->tuning_cache };
	memcpy(team->streams, cache->streams, sizeof(team->streams));
	memset(cache->streams, 0, sizeof(cache->streams));
	cache->tuning_cache = NULL;
	cache->device = device;
	if (world->size > 1)
		connection_cache_take_comm(cache, team, transport);
	if (!team->tuning_cache)
		team->tuning_cache = xcalloc(1, sizeof(*team->tuning_cache));
	cache->asked = transport;
	return rank_team_open_rest(team, transport, err);
}

void connection_cache_keep_team(struct connection_cache *cache, struct rank_team *team)
{
	/*
	 * Ranks of a small world may have kept more communicators than ranks that are only in a
	 * large one.
	 */
	if (team->all && world_sum(team->world, cache->count < KEPT_MOST) == team->world->size) {
		struct communicator **edges[] = { &team->previous_gradients, &team->next_gradients,
						  &team->previous, &team->next };

		cache->comms[cache->count++] =
			(struct cached_comm){ .all = team->all,
					      .world = team->world->id,
					      .asked = cache->asked,
					      .multiprocessors = team->multiprocessors,
					      .bytes = team->communicator_bytes };
		/* Removes a communicator from the team; both neighbours may share it. */
		for (size_t i = 0; i < ARRAY_SIZE(edges); i++)
			if (*edges[i] == team->all)
				*edges[i] = NULL;
		team->all = NULL;
	}
	memcpy(cache->streams, team->streams, sizeof(cache->streams));
	cache->tuning_cache = team->tuning_cache;
	memset(team->streams, 0, sizeof(team->streams));
	team->tuning_cache = NULL;
	rank_team_close(team);
}

void connection_cache_evict_team(struct connection_cache *cache, struct rank_team *team,
				 const struct world *world)
{
	rank_team_close(team);
	connection_cache_close_streams(cache);
	for (size_t i = cache->count; i-- > 0;)
		if (cache->comms[i].world == world->id)
			connection_cache_close_comm(cache, &cache->comms[i]);
		else
			cache->comms[i].aside = true;
}
