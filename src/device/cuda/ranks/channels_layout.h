/*
 * Declarations shared by channels.c (pieces through slots) and channels_open.c (how ranks open
 * them). The segment, host memory of all ranks, contains a cell per rank, the flags of each channel
 * and, for host_copy, the slots.
 */
#ifndef GPUPROOF_DEVICE_CUDA_RANKS_CHANNELS_LAYOUT_H
#define GPUPROOF_DEVICE_CUDA_RANKS_CHANNELS_LAYOUT_H

#include "device/cuda/cuda_backend.h"
#include "device/ranks/relay.h"

/* Stages of opening and closing; each is NOT_YET, DONE or FAILED. */
enum channel_stage { STAGE_ALLOCATED, STAGE_OPENED, STAGE_CLOSED, STAGE_COUNT };

struct rank_cell {
	_Atomic int stages[STAGE_COUNT];
	cudaIpcMemHandle_t slots;
};

/* Each is written by one side only, in a separate cache line. */
struct channel_flags {
	_Alignas(64) unsigned written;
	_Alignas(64) unsigned taken;
};

struct channels {
	struct communicator base;
	char name[128];
	char *segment, *device_view; /* the same memory, mapped for the host and for the device */
	size_t segment_bytes, slot_bytes;
	bool locked;
	char *slots;               /* peer_copy: own slots, for each other rank */
	char **peers;              /* peer_copy: slots of the other ranks */
	char *scratch;             /* a slot */
	char *landing;             /* host_copy: copy of a slot on the device */
	unsigned *written, *taken; /* number of pieces, per peer */
};

static inline struct channels *channels(struct communicator *communicator)
{
	return (struct channels *)communicator;
}

static inline size_t channels_size(const struct channels *c)
{
	return (size_t)c->base.size;
}

static inline bool channels_over_host(const struct channels *c)
{
	return c->base.transport == TRANSPORT_HOST_COPY;
}

/* Bytes per slot, and of the whole segment. */
size_t channels_slot_size(const struct channels *c);
size_t channels_segment_size(const struct channels *c);

struct rank_cell *channels_cell(const struct channels *c, int rank);
/*
 * Semaphores of the channel between two ranks, in a mapping of the segment, `view`: the host's or
 * the device's.
 */
struct channel_flags *channels_flags(const struct channels *c, char *view, int from, int to);

extern const struct transport_ops channels_ops;

#endif
