/*
 * Transports peer_copy and host_copy between rank processes: data goes through slots in the
 * receiving device's memory, which the sender has opened (CUDA IPC handles), or in page-locked host
 * memory shared by both. Flags in shared host memory mark full slots (semaphores.h); the relay
 * builds collectives from it.
 */
#ifndef GPUPROOF_DEVICE_CUDA_RANKS_CHANNELS_H
#define GPUPROOF_DEVICE_CUDA_RANKS_CHANNELS_H

#include "device/backend.h"

enum status channels_usable(struct device *device, enum transport transport,
			    const struct device_set *devices, struct error *err);
/*
 * Collective over all ranks of the communicator; STATUS_UNSUPPORTED if the driver refuses on one.
 */
enum status channels_open(struct device *device, enum transport transport,
			  const struct communicator_id *id, int rank, int size,
			  struct communicator **out, struct error *err);
void channels_close(struct communicator *communicator);

#endif
