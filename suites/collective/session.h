/*
 * What the ranks keep from case to case: opening a communicator takes as long as many cases. One
 * session per process; all its cases are of the same ranks.
 */
#ifndef GPUPROOF_COLLECTIVE_SESSION_H
#define GPUPROOF_COLLECTIVE_SESSION_H

#include "device/backend.h"
#include "measure/world.h"

struct session {
	struct stream *stream;
	struct communicator *communicator;
	enum transport asked; /* what the communicator was opened for */
};

/*
 * The session of this process, opened by the first call and anew when another transport is asked for; NULL on failure.
 * Every rank calls it; when it fails on one it fails on all.
 */
const struct session *session_open(struct device *device, struct world *world,
				   enum transport transport, struct error *err);
/* Does nothing where none is open. */
void session_close(void);

#endif
