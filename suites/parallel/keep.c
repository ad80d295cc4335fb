#include "suites/parallel/keep.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "suites/parallel/products.h"

/* Worlds of different sizes, with and without a limit for collectives. */
#define KEPT_MOST 6

/* A communicator of all ranks of a world. */
struct ring {
	struct communicator *all;
	const struct world_shared *shared;
	enum transport asked;
	int multiprocessors;
	uint64_t bytes;
};

/* A process of this suite has one device at a time. */
static struct {
	struct device *device; /* NULL: nothing is kept */
	struct stream *streams[STREAM_COUNT];
	struct product_memory *memory;
	enum transport asked; /* by the team that is out */
	struct ring rings[KEPT_MOST];
	size_t count;
} kept;

void keep_nothing(void)
{
	for (size_t i = 0; i < kept.count; i++)
		backend_communicator_close(kept.rings[i].all);
	for (int i = 0; i < STREAM_COUNT; i++)
		backend_stream_destroy(kept.streams[i]);
	free(kept.memory);
	memset(&kept, 0, sizeof(kept));
}

static struct ring *find_ring(const struct team *team, enum transport asked)
{
	for (size_t i = 0; i < kept.count; i++)
		if (kept.rings[i].shared == team->world->shared && kept.rings[i].asked == asked &&
		    kept.rings[i].multiprocessors == team->multiprocessors)
			return &kept.rings[i];
	return NULL;
}

/* A rank may have lost its own in a case of fewer ranks that failed: then the others give up theirs. */
static void take_ring(struct team *team, enum transport asked)
{
	struct ring *ring = find_ring(team, asked);

	if (world_sum(team->world, ring != NULL) == team->world->size) {
		team->all = ring->all;
		team->transport = ring->all->transport;
		team->communicator_bytes = ring->bytes;
	} else if (ring) {
		backend_communicator_close(ring->all);
	}
	if (ring)
		*ring = kept.rings[--kept.count];
}

enum status keep_team_open(struct team *team, struct device *device, struct world *world,
			   enum transport transport, int multiprocessors, struct error *err)
{
	if (kept.device != device)
		keep_nothing();
	*team = (struct team){ .device = device,
			       .world = world,
			       .multiprocessors = multiprocessors,
			       .memory = kept.memory };
	memcpy(team->streams, kept.streams, sizeof(team->streams));
	memset(kept.streams, 0, sizeof(kept.streams));
	kept.memory = NULL;
	kept.device = device;
	if (world->size > 1)
		take_ring(team, transport);
	if (!team->memory)
		team->memory = xcalloc(1, sizeof(*team->memory));
	kept.asked = transport;
	return team_open_rest(team, transport, err);
}

/* Neighbours may share it. */
static void forget_ring(struct team *team)
{
	struct communicator **edges[] = { &team->up_back, &team->down_back, &team->up,
					  &team->down };

	for (size_t i = 0; i < ARRAY_SIZE(edges); i++)
		if (*edges[i] == team->all)
			*edges[i] = NULL;
	team->all = NULL;
}

void keep_team(struct team *team)
{
	if (kept.count == KEPT_MOST || team->memory->count == PRODUCTS_REMEMBERED) {
		team_close(team);
		keep_nothing();
		return;
	}
	if (team->all)
		kept.rings[kept.count++] =
			(struct ring){ team->all, team->world->shared, kept.asked,
				       team->multiprocessors, team->communicator_bytes };
	memcpy(kept.streams, team->streams, sizeof(kept.streams));
	kept.memory = team->memory;
	memset(team->streams, 0, sizeof(team->streams));
	team->memory = NULL;
	forget_ring(team);
	team_close(team);
}
