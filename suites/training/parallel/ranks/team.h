/*
 * One rank of a case: its device, its streams, its connections. Also moves data between ranks for
 * comparison.
 */
#ifndef GPUPROOF_SUITES_TRAINING_PARALLEL_RANKS_TEAM_H
#define GPUPROOF_SUITES_TRAINING_PARALLEL_RANKS_TEAM_H

#include "device/backend.h"
#include "kernels/comparison.h"
#include "measure/phases.h"
#include "measure/processes/world.h"
#include "suites/training/models/setup.h"

/* Products and kernels run on the first stream; communication on the others, at high priority. */
enum team_stream {
	STREAM_COMPUTE,
	STREAM_PREVIOUS,
	STREAM_NEXT,
	STREAM_PREVIOUS_GRADIENTS,
	STREAM_NEXT_GRADIENTS,
	STREAM_DATA,
	STREAM_COUNT
};

struct arena_source;

struct rank_team {
	struct device *device;
	struct world *world;
	struct stream *streams[STREAM_COUNT];
	struct communicator *all; /* NULL for a single rank */
	struct communicator *previous,
		*next; /* with neighbouring stages; see rank_team_open_edges() */
	struct communicator *previous_gradients, *next_gradients; /* may equal the two above */
	/*
	 * Ranks with other parts of the same layers, and with other parts of the batch;
	 * rank_team_open_grid()
	 */
	struct communicator *tensor, *data;
	enum transport transport; /* of `all`, `tensor` and `data` */
	enum transport edges;     /* of the others, after they are open */
	int multiprocessors;      /* maximum for collectives; 0: no limit */
	/* progress reports; NULL: none. Set by the caller that opened the team */
	struct phases *phases;
	struct tuning_cache *tuning_cache; /* of searches on the compute stream; NULL: none */
	void *scratch;                     /* device memory for sums, allocated when first needed */
	/* source of the trainers' tensors; NULL: the device */
	const struct arena_source *memory;
	/* Device memory that opening the communicators consumed; 0: unknown. */
	uint64_t communicator_bytes;
};

/* Collective, like every call here. */
enum status rank_team_open(struct rank_team *team, struct device *device, struct world *world,
			   struct error *err);
/*
 * The same over a given transport (AUTO: the first that all ranks can use); collectives use at most
 * `multiprocessors` of the device; 0: no limit.
 */
enum status rank_team_open_over(struct rank_team *team, struct device *device, struct world *world,
				enum transport transport, int multiprocessors, struct error *err);
/* Opens the missing parts of a team whose device, world and limit are set. */
enum status rank_team_open_rest(struct rank_team *team, enum transport transport,
				struct error *err);
void rank_team_close(struct rank_team *team);

/*
 * Call after a failure that all ranks have agreed on, before waiting for the streams: some ranks
 * may have enqueued work that others have not. Closes the connections so that no rank waits for the
 * others; the streams stay open.
 */
void rank_team_abandon(struct rank_team *team);

/* A group of ranks: all with the same `id`; this one is `index` of `size`. */
struct team_group {
	int id; /* negative: this rank is in no group */
	int index, size;
	enum transport transport;
	int multiprocessors; /* maximum for collectives; 0: no limit */
};

/*
 * Opens team->tensor and team->data, once, if the grid has more than one rank along these axes;
 * closed with the team. Sums over parts of a layer have no limit unless the setup sets one: nothing
 * else is computed at that time.
 */
enum status rank_team_open_grid(struct rank_team *team, const struct setup *setup,
				struct error *err);

/*
 * Connects every stage of the setup's pipelines with its neighbours, once: team->previous and
 * team->next (NULL at the ends), in which the lower rank is 0 and the other 1. An edge of its own
 * keeps the traffic of one neighbour in order without waiting for the other's. `bidirectional`:
 * previous_gradients and next_gradients are edges of their own, so that what goes up does not wait
 * for what comes down. Closed with the team.
 *
 * With the setup's transport AUTO they go over PEER_COPY where all neighbours can: a copy needs no
 * multiprocessor. A library's kernel that waits for its peer holds some (on H200s, whose products
 * of a micro-batch need all for two waves, forwards took 40 % longer during two of them), and one
 * that would send waits until a running product leaves it some.
 */
enum status rank_team_open_edges(struct rank_team *team, const struct setup *setup,
				 bool bidirectional, struct error *err);

/* phases_next() for all ranks of the team. */
enum status rank_team_phase(struct rank_team *team, const char *name, struct error *err);

/* Number of commands that copy transports have enqueued so far, on all streams; 0 for libraries. */
uint64_t rank_team_commands(const struct rank_team *team);

/* Events of the team's device; after a failure those that exist must still be closed. */
enum status rank_team_open_events(struct rank_team *team, struct event **events, size_t count,
				  struct error *err);
void rank_team_close_events(struct event **events, size_t count);
/*
 * `follower` continues after the work that `leader` has so far; `event` is between them. Nothing
 * after an error.
 */
enum status rank_team_follow(struct stream *leader, struct event *event, struct stream *follower,
			     struct error *err);

/* Waits for every stream. */
enum status rank_team_synchronize(struct rank_team *team, struct error *err);

/*
 * Copies `bytes` of device memory from `from` on rank `source` to `to` on rank 0, and waits. On
 * other ranks it does nothing and may be omitted.
 */
enum status rank_team_collect(struct rank_team *team, int source, const void *from, void *to,
			      uint64_t bytes, struct error *err);

/* Copies device memory to the host and waits. */
enum status rank_team_fetch(struct rank_team *team, void *to, const void *from, uint64_t bytes,
			    struct error *err);

/* A checksum of device memory that changes with every word: kernels/comparison.h. */
enum status rank_team_checksum(struct rank_team *team, const void *memory, uint64_t bytes,
			       uint64_t *sum, struct error *err);

/*
 * Runs the kernel "difference" on two arrays of this device and sums its parts:
 * kernels/comparison.h. This function sets `a->parts`.
 */
enum status rank_team_difference(struct rank_team *team, struct difference_arguments *a,
				 struct difference_part *sum, struct error *err);

#endif
