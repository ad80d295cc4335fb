/*
 * Streams and communicators that ranks keep from case to case: opening a communicator takes as long
 * as many cases. One session for each world and transport; a rank of many devices is one of few as
 * well (run/workers/worker.h).
 */
#ifndef GPUPROOF_SUITES_SHARED_RANKS_COLLECTIVE_SESSION_H
#define GPUPROOF_SUITES_SHARED_RANKS_COLLECTIVE_SESSION_H

#include "device/backend.h"
#include "measure/processes/world.h"

struct collective_session {
	struct stream *stream;
	struct communicator *communicator;
	uint64_t world;       /* its id */
	enum transport asked; /* what the communicator was opened for */
};

/* The sessions of one rank; part of a suite's state. */
struct sessions;

struct sessions *sessions_open(void);
/*
 * Closes all of them; collective among the ranks that have one, because NCCL closes a communicator
 * only together.
 */
void sessions_close(struct sessions *sessions);

/*
 * The session of this world over the transport, opened by the first call; NULL on failure. Every
 * rank of the world calls it; when it fails on one it fails on all. Valid until the next call.
 */
const struct collective_session *session_find(struct sessions *sessions, struct device *device,
					      struct world *world, enum transport transport,
					      struct error *err);

#endif
