/*
 * One rank among the ranks of a case: its device, its streams, its connections. Moving data between
 * ranks for comparison also happens here.
 */
#ifndef GPUPROOF_SUITES_TRAINING_PARALLEL_RANKS_TEAM_H
#define GPUPROOF_SUITES_TRAINING_PARALLEL_RANKS_TEAM_H

#include "device/backend.h"
#include "kernels/comparison.h"
#include "measure/phases.h"
#include "measure/processes/world.h"
#include "suites/training/parallel/ranks/grid.h"

/* Products and kernels on the first; communication on the others, at high priority. */
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
	struct communicator *all;             /* NULL for one rank */
	struct communicator *previous, *next; /* with neighbouring stages; see team_open_edges() */
	struct communicator *previous_gradients, *next_gradients; /* may be the same two */
	/*
	 * Ranks with other parts of the same layers, with other parts of the batch;
	 * team_open_grid()
	 */
	struct communicator *tensor, *data;
	enum transport transport; /* of all, tensor and data */
	enum transport edges;     /* of the others, once they are open */
	int multiprocessors;      /* that collectives hold at most; 0: no limit */
	/* progress reports; NULL: none. Set by the caller that opened the team */
	struct phases *phases;
	struct gemm_cache *gemm_cache; /* of searches on the compute stream; NULL: none */
	void *scratch;                 /* device memory for sums, made when first needed */
	/* where trainers take their tensors from; NULL: the device */
	const struct arena_source *memory;
	/* Device memory that vanished while communicators were opened; 0: unknown. */
	uint64_t communicator_bytes;
};

/* Collective, as is every call here. */
enum status team_open(struct rank_team *team, struct device *device, struct world *world,
		      struct error *err);
/*
 * The same over a transport (AUTO: the first that all ranks can use), with collectives that hold at
 * most `multiprocessors` of the device; 0: no limit.
 */
enum status team_open_over(struct rank_team *team, struct device *device, struct world *world,
			   enum transport transport, int multiprocessors, struct error *err);
/* Opens the missing parts of a team whose device, world and limit are set. */
enum status team_open_rest(struct rank_team *team, enum transport transport, struct error *err);
void team_close(struct rank_team *team);

/*
 * After a failure that all ranks have agreed on, before anything waits for the streams: some may
 * have enqueued what others have not. Closes the connections so that no rank waits for the others;
 * the streams stay.
 */
void team_abandon(struct rank_team *team);

/* Opens team->all and so settles the transport. */
enum status team_open_world(struct rank_team *team, enum transport transport, struct error *err);

/* Some ranks among others: those with the same `id`, in which this one is `index` of `size`. */
struct team_group {
	int id; /* negative: this rank is in none */
	int index, size;
	enum transport transport;
	int multiprocessors; /* that collectives hold at most; 0: no limit */
};

/*
 * A communicator for each group, all opened at the same time. After a failure *out is NULL or still
 * to be closed.
 */
enum status team_open_group(struct rank_team *team, const struct team_group *group,
			    struct communicator **out, struct error *err);

/*
 * Opens team->tensor and team->data where the grid has more than one rank of a kind, once; closed
 * with the team. Unless the setup says so there is no limit for sums over parts of a layer: nothing
 * else is computed meanwhile.
 */
enum status team_open_grid(struct rank_team *team, const struct setup *setup, struct error *err);

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
enum status team_open_edges(struct rank_team *team, const struct setup *setup, bool bidirectional,
			    struct error *err);

void team_close_edges(struct rank_team *team);

/* phases_next() over the team's ranks. */
enum status team_phase(struct rank_team *team, const char *name, struct error *err);

/*
 * Commands that transports made of copies have enqueued so far, on all streams; 0 over libraries.
 */
uint64_t team_commands(const struct rank_team *team);

/* Waits for every stream. */
enum status team_synchronize(struct rank_team *team, struct error *err);

/*
 * Copies `bytes` at `from` on rank `source` to `to` on rank 0, device memory both, and waits. Only
 * the ranks that are concerned do something; the others may call it or not.
 */
enum status team_collect(struct rank_team *team, int source, const void *from, void *to,
			 uint64_t bytes, struct error *err);

/* Device memory to the host, waits. */
enum status team_fetch(struct rank_team *team, void *to, const void *from, uint64_t bytes,
		       struct error *err);

/* A checksum of device memory that any changed word changes: kernels/comparison.h. */
enum status team_checksum(struct rank_team *team, const void *memory, uint64_t bytes, uint64_t *sum,
			  struct error *err);

/*
 * "difference" of two arrays of this device, its parts added up: kernels/comparison.h. `a->parts`
 * is this function's.
 */
enum status team_difference(struct rank_team *team, struct difference_arguments *a,
			    struct difference_part *sum, struct error *err);

#endif
