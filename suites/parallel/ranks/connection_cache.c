#include "suites/parallel/ranks/connection_cache.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "suites/mlp/gemm/layer_gemm.h"

/* Worlds of different sizes, with and without a limit for collectives, over different transports. */
#define KEPT_MOST 16

/* A communicator of all ranks of a world. */
struct ring {
	struct communicator *all;
	const struct world_shared *shared;
	enum transport asked;
	int multiprocessors;
	uint64_t bytes;
	bool aside; /* to be closed, not used: see cache_evict_team() */
};

/* A process of this suite has one device at a time. */
static struct {
	struct device *device; /* NULL: nothing is kept */
	struct stream *streams[STREAM_COUNT];
	struct gemm_cache *gemm_cache;
	enum transport asked; /* by the team that is out */
	struct ring rings[KEPT_MOST];
	size_t count;
} kept;

static void forget_ring(struct ring *ring)
{
	kept.count--;
	memmove(ring, ring + 1, (size_t)(kept.rings + kept.count - ring) * sizeof(kept.rings[0]));
}

static void close_ring(struct ring *ring)
{
	backend_communicator_close(ring->all);
	forget_ring(ring);
}

static void close_streams(void)
{
	for (int i = 0; i < STREAM_COUNT; i++)
		backend_stream_destroy(kept.streams[i]);
	free(kept.gemm_cache);
	memset(kept.streams, 0, sizeof(kept.streams));
	kept.gemm_cache = NULL;
}

void connection_cache_clear(void)
{
	while (kept.count)
		close_ring(&kept.rings[0]);
	close_streams();
	kept.device = NULL;
}

static struct ring *find_ring(const struct team *team, enum transport asked)
{
	for (size_t i = 0; i < kept.count; i++)
		if (kept.rings[i].shared == team->world->shared && kept.rings[i].asked == asked &&
		    kept.rings[i].multiprocessors == team->multiprocessors)
			return &kept.rings[i];
	return NULL;
}

/*
 * A rank may have put its own aside, in a case of fewer ranks that failed: then all close theirs. Ranks of a small
 * world are in larger ones as well, and closing may wait for the other ranks: so the order stays that of the cases.
 */
static void take_ring(struct team *team, enum transport asked)
{
	struct ring *ring = find_ring(team, asked);
	bool mine = ring && !ring->aside;

	if (world_sum(team->world, mine) < team->world->size) {
		if (ring)
			close_ring(ring);
		return;
	}
	team->all = ring->all;
	team->transport = ring->all->transport;
	team->communicator_bytes = ring->bytes;
	forget_ring(ring);
}

enum status cached_team_open(struct team *team, struct device *device, struct world *world,
			   enum transport transport, int multiprocessors, struct error *err)
{
	if (kept.device != device)
		connection_cache_clear();
	*team = (struct team){ .device = device,
			       .world = world,
			       .multiprocessors = multiprocessors,
			       .gemm_cache = kept.gemm_cache };
	memcpy(team->streams, kept.streams, sizeof(team->streams));
	memset(kept.streams, 0, sizeof(kept.streams));
	kept.gemm_cache = NULL;
	kept.device = device;
	if (world->size > 1)
		take_ring(team, transport);
	if (!team->gemm_cache)
		team->gemm_cache = xcalloc(1, sizeof(*team->gemm_cache));
	kept.asked = transport;
	return team_open_rest(team, transport, err);
}

/* The team's communicator is no longer the team's. Neighbours may share it. */
static void take_from(struct team *team)
{
	struct communicator **edges[] = { &team->previous_gradients, &team->next_gradients,
					  &team->previous, &team->next };

	for (size_t i = 0; i < ARRAY_SIZE(edges); i++)
		if (*edges[i] == team->all)
			*edges[i] = NULL;
	team->all = NULL;
}

void cache_team(struct team *team)
{
	/* Ranks of a small world may have kept more than those that are only in a large one. */
	if (team->all &&
	    world_sum(team->world, kept.count < KEPT_MOST) == team->world->size) {
		kept.rings[kept.count++] =
			(struct ring){ .all = team->all,
				       .shared = team->world->shared,
				       .asked = kept.asked,
				       .multiprocessors = team->multiprocessors,
				       .bytes = team->communicator_bytes };
		take_from(team);
	}
	memcpy(kept.streams, team->streams, sizeof(kept.streams));
	kept.gemm_cache = team->gemm_cache;
	memset(team->streams, 0, sizeof(team->streams));
	team->gemm_cache = NULL;
	team_close(team);
}

void cache_evict_team(struct team *team, const struct world *world)
{
	team_close(team);
	close_streams();
	for (size_t i = kept.count; i-- > 0;)
		if (kept.rings[i].shared == world->shared)
			close_ring(&kept.rings[i]);
		else
			kept.rings[i].aside = true;
}
