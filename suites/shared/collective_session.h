/*
 * What the ranks keep from case to case: opening a communicator takes as long as many cases. One
 * session for each world and transport; a rank of many devices is one of few as well (run/workers/worker.h).
 */
#ifndef GPUPROOF_SUITES_SHARED_COLLECTIVE_SESSION_H
#define GPUPROOF_SUITES_SHARED_COLLECTIVE_SESSION_H

#include "device/backend.h"
#include "measure/processes/world.h"

struct session {
	struct stream *stream;
	struct communicator *communicator;
	const struct world_shared *shared; /* of the world */
	enum transport asked; /* what the communicator was opened for */
};

/*
 * The session of this world over the transport, opened by the first call; NULL on failure. Every rank of the world calls
 * it; when it fails on one it fails on all. Valid until the next call.
 */
const struct session *session_open(struct device *device, struct world *world,
				   enum transport transport, struct error *err);
/* All of them; every rank that has one calls it, too, for NCCL closes a communicator only together. */
void session_close(void);

#endif
