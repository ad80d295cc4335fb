/*
 * Communicators of host devices: ranks communicate through POSIX shared memory. The segment is
 * named by the communicator's id, created by the first rank that arrives and unlinked as soon as
 * all have attached, so that nothing remains when ranks die. As with NCCL, operations run in the
 * order of the calls, even on different streams.
 *
 * A rank that waits for another one longer than collective_timeout_seconds without progress returns
 * STATUS_TIMEOUT with its number; the communicator is then unusable for all ranks.
 */
#ifndef GPUPROOF_DEVICE_HOST_RANKS_COMMUNICATOR_H
#define GPUPROOF_DEVICE_HOST_RANKS_COMMUNICATOR_H

#include "device/host/host_device.h"
#include "device/ranks/relay.h"

extern double collective_timeout_seconds;

/* Moves a piece through a slot of the shared memory, or over TCP. */
relay_move_fn host_communicator_move;
/* Installs the relay's operations in an open communicator; replaces an earlier relay. */
enum status host_communicator_relay_open(struct communicator *communicator, relay_move_fn *move,
					 struct error *err);

#endif
