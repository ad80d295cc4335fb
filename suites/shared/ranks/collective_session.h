/*
 * Streams and communicators that ranks keep between cases, because opening a communicator takes as
 * long as many cases. One session per world and transport; a rank of many devices also belongs to
 * smaller worlds (run/workers/worker.h).
 */
#ifndef GPUPROOF_SUITES_SHARED_RANKS_COLLECTIVE_SESSION_H
#define GPUPROOF_SUITES_SHARED_RANKS_COLLECTIVE_SESSION_H

#include "device/backend.h"
#include "measure/processes/world.h"

struct collective_session {
	struct stream *stream;
	struct communicator *communicator;
	uint64_t world;       /* its id */
	enum transport asked; /* requested transport of the communicator */
};

/* The sessions of one rank; part of a suite's state. */
struct sessions;

struct sessions *sessions_open(void);
/*
 * Closes all of them; collective among the ranks that have one, because NCCL closes a communicator
 * collectively.
 */
void sessions_close(struct sessions *sessions);

/*
 * The session of this world over the transport, opened by the first call; NULL on failure.
 * Collective over the world; a failure on one rank fails on all. Valid until the next call.
 */
const struct collective_session *session_find(struct sessions *sessions, struct device *device,
					      struct world *world, enum transport transport,
					      struct error *err);

#endif
