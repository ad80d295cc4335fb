/*
 * How the ranks of a case join a communicator: over the transport that the case asks for, or the first that all of them
 * can use. The communicator says which.
 */
#ifndef GPUPROOF_SUITES_JOIN_H
#define GPUPROOF_SUITES_JOIN_H

#include "device/backend.h"
#include "measure/world.h"

/*
 * One communicator of all ranks; collective. STATUS_UNSUPPORTED with the reason where they cannot use what is asked
 * for. Its collectives hold at most `multiprocessors` of the device, where the transport knows a limit; 0: no limit.
 */
enum status join_world(struct device *device, struct world *world, enum transport transport,
		       int multiprocessors, struct communicator **out, struct error *err);

/* What one rank does: opens its end. AUTO: what a backend with one way has. */
enum status join_open(struct device *device, enum transport transport,
		      const struct communicator_id *id, int rank, int size, int multiprocessors,
		      struct communicator **out, struct error *err);

/*
 * Whether all ranks of `world` have opened theirs, or had none to open; collective. Where one has not, what the others
 * have is marked as abandoned, so that closing it waits for nobody.
 */
enum status join_agree(struct world *world, enum status mine, struct communicator *opened,
		       struct error *err);

#endif
