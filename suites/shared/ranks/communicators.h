/*
 * How the ranks of a case join a communicator: over the transport that the case asks for, or the
 * first that all of them can use. The communicator says which.
 */
#ifndef GPUPROOF_SUITES_SHARED_RANKS_COMMUNICATORS_H
#define GPUPROOF_SUITES_SHARED_RANKS_COMMUNICATORS_H

#include "device/backend.h"
#include "measure/processes/world.h"

/*
 * One communicator of all ranks; collective. STATUS_UNSUPPORTED with the reason where they cannot
 * use the transport that the options ask for; AUTO: the first of all transports that every rank can
 * use.
 */
enum status join_world(struct device *device, struct world *world,
		       const struct communicator_options *options, struct communicator **out,
		       struct error *err);

/*
 * One communicator for the ranks of each part: part_of[i] is that of rank i; NULL: all are one
 * part.
 * *out is that of this rank's part; all are over the same transport. Collective over the world.
 */
enum status join_parts(struct device *device, struct world *world,
		       const struct communicator_options *options, const int *part_of,
		       struct communicator **out, struct error *err);

/* Devices by rank; collective. The caller frees them. */
struct device_address *join_addresses(struct device *device, struct world *world);

/*
 * STATUS_OK if all ranks of `world` have opened theirs, or had none to open; collective. If one has
 * not, those of the others are marked as abandoned, so that closing them does not wait.
 */
enum status join_agree(struct world *world, enum status mine, struct communicator *opened,
		       struct error *err);

#endif
