/*
 * One rank among the ranks of a case: its device, its streams, its connections. Moving data between
 * ranks for comparison also happens here.
 */
#ifndef GPUPROOF_PARALLEL_TEAM_H
#define GPUPROOF_PARALLEL_TEAM_H

#include "device/backend.h"
#include "measure/world.h"

/* Products and kernels on the first; communication on the others, at high priority. */
enum team_stream {
	STREAM_COMPUTE,
	STREAM_UP,
	STREAM_DOWN,
	STREAM_UP_BACK,
	STREAM_DOWN_BACK,
	STREAM_COUNT
};

struct team {
	struct device *device;
	struct world *world;
	struct stream *streams[STREAM_COUNT];
	struct communicator *all; /* NULL for one rank */
	struct communicator *up, *down; /* with the rank before, behind; see team_open_edges() */
	struct communicator *up_back, *down_back; /* for gradients; may be the same two */
	/* Device memory that vanished while communicators were opened; 0: unknown. */
	uint64_t communicator_bytes;
};

/* Collective, as is every call here. */
enum status team_open(struct team *team, struct device *device, struct world *world,
		      struct error *err);
void team_close(struct team *team);

/*
 * Connects every rank with its neighbours, once: team->up and team->down (NULL at the ends), in
 * which the lower rank is 0 and the other 1. An edge of its own keeps the traffic of one neighbour
 * in order without waiting for the other's. `both_ways`: up_back and down_back are edges of their
 * own, so that what goes up does not wait for what comes down. Closed with the team.
 */
enum status team_open_edges(struct team *team, bool both_ways, struct error *err);

/* Waits for every stream. */
enum status team_synchronize(struct team *team, struct error *err);

/*
 * Copies `bytes` at `from` on rank `source` to `to` on rank 0, device memory both, and waits. Only
 * the ranks that are concerned do something; the others may call it or not.
 */
enum status team_collect(struct team *team, int source, const void *from, void *to, uint64_t bytes,
			 struct error *err);

/* Device memory to the host, waits. */
enum status team_fetch(struct team *team, void *to, const void *from, uint64_t bytes,
		       struct error *err);

/* A checksum of device memory that any changed bit changes. */
enum status team_checksum(struct team *team, const void *memory, uint64_t bytes, uint64_t *sum,
			  struct error *err);

#endif
