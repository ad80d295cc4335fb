/*
 * The transports peer_copy and host_copy: ranks are processes, and their data goes through slots in
 * the receiving device's memory, which the sender has opened (CUDA's inter-process handles), or in
 * host memory that both share and have page-locked. Flags in shared host memory say which slots are
 * full (semaphores.h); the relay makes collectives of it.
 */
#ifndef GPUPROOF_DEVICE_CUDA_RANKS_CHANNELS_H
#define GPUPROOF_DEVICE_CUDA_RANKS_CHANNELS_H

#include "device/backend.h"

enum status channels_usable(struct device *device, enum transport transport,
			    const struct device_set *devices, struct error *err);
/*
 * Every rank of the communicator calls it at the same time; STATUS_UNSUPPORTED where the driver
 * refuses on one.
 */
enum status channels_open(struct device *device, enum transport transport,
			  const struct communicator_id *id, int rank, int size,
			  struct communicator **out, struct error *err);
void channels_close(struct communicator *communicator);

#endif
