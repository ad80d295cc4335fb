/* Opens and closes the channels of ranks. */
#include "device/cuda/ranks/channels.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "device/cuda/ranks/channels_layout.h"
#include "device/cuda/ranks/semaphores.h"
#include "device/ranks/shared_memory.h"

/*
 * Timeout for opening, as for host ranks. Closing waits only briefly, because others may be dead.
 */
#define OPEN_SECONDS 60
#define CLOSE_SECONDS 2

/*
 * Closing abandoned channels: how often their semaphores are raised, the interval, and by how many
 * pieces.
 */
#define END_TURNS 50
#define END_SECONDS 2e-3
#define FAR_AHEAD (1u << 30)

/* State of a rank in a stage. */
enum { NOT_YET, DONE, FAILED };

static int channel_device_attribute(const struct device *device, enum cudaDeviceAttr which)
{
	int value = 0;

	if (cudaDeviceGetAttribute(&value, which, device->info.index) != cudaSuccess)
		cudaGetLastError();
	return value;
}

enum status channels_usable(struct device *device, enum transport transport,
			    const struct device_set *devices, struct error *err)
{
	if (transport_reaches(device, transport, devices, err) != STATUS_OK)
		return err->status;
	if (!channel_device_attribute(device, cudaDevAttrCanMapHostMemory) ||
	    !channel_device_attribute(device, cudaDevAttrHostRegisterSupported))
		return error_set(err, STATUS_UNSUPPORTED,
				 "transport %s: %s cannot map memory of the host",
				 transport_names[transport], device->info.id);
	for (size_t i = 0; i < devices->count && transport == TRANSPORT_PEER_COPY; i++) {
		int peer = devices->items[i].index;

		if (peer != device->info.index && !device_bits_has(&device->info.peers, peer))
			return error_set(err, STATUS_UNSUPPORTED,
					 "transport peer_copy: %s has no access to the memory of "
					 "cuda:%d",
					 device->info.id, peer);
	}
	return STATUS_OK;
}

/* A feature that a driver or container refuses counts as unsupported, not as an error. */
static enum status refusal_as_unsupported(cudaError_t code, const char *call, struct error *err)
{
	enum status status = cuda_check(code, call, err);

	if (status != STATUS_DEVICE)
		return status;
	if (err)
		err->status = STATUS_UNSUPPORTED;
	return STATUS_UNSUPPORTED;
}

static enum status channels_map_segment(struct channels *c, struct error *err)
{
	char use[64];
	void *memory, *view;
	enum status status;

	snprintf(use, sizeof(use), "transport %s of %d ranks", transport_names[c->base.transport],
		 c->base.size);
	c->segment_bytes = channels_segment_size(c);
	status = shared_memory_map(c->name, c->segment_bytes, use, &memory, err);
	if (status != STATUS_OK)
		return status;
	c->segment = memory;
	status = refusal_as_unsupported(cudaHostRegister(memory, c->segment_bytes,
							 cudaHostRegisterMapped |
								 cudaHostRegisterPortable),
					"cudaHostRegister of memory shared by ranks", err);
	if (status != STATUS_OK)
		return status;
	c->locked = true;
	status = refusal_as_unsupported(cudaHostGetDevicePointer(&view, memory, 0),
					"cudaHostGetDevicePointer", err);
	c->device_view = status == STATUS_OK ? view : NULL;
	return status;
}

static enum status device_memory(size_t bytes, char **out, struct error *err)
{
	return cuda_check_size(cudaMalloc((void **)out, bytes), "cudaMalloc", bytes, err);
}

/* Allocates everything of this rank before the others access it. */
static enum status channels_allocate(struct channels *c, struct error *err)
{
	size_t others = channels_size(c) > 1 ? channels_size(c) - 1 : 1;
	enum status status = device_memory(c->slot_bytes, &c->scratch, err);

	if (status == STATUS_OK && channels_over_host(c))
		return device_memory(c->slot_bytes, &c->landing, err);
	if (status == STATUS_OK)
		status = device_memory(others * RELAY_SLOTS * c->slot_bytes, &c->slots, err);
	if (status == STATUS_OK)
		status = refusal_as_unsupported(
			cudaIpcGetMemHandle(&channels_cell(c, c->base.rank)->slots, c->slots),
			"cudaIpcGetMemHandle", err);
	return status;
}

static enum status open_peers(struct channels *c, struct error *err)
{
	enum status status = STATUS_OK;

	for (int rank = 0; rank < c->base.size && status == STATUS_OK && !channels_over_host(c);
	     rank++)
		if (rank != c->base.rank)
			status = refusal_as_unsupported(
				cudaIpcOpenMemHandle((void **)&c->peers[rank],
						     channels_cell(c, rank)->slots,
						     cudaIpcMemLazyEnablePeerAccess),
				"cudaIpcOpenMemHandle", err);
	return status;
}

/* Publishes the result of this rank and waits for all others; every rank fails if one does. */
static enum status channels_agree_on_stage(struct channels *c, enum channel_stage stage,
					   enum status mine, double seconds, struct error *err)
{
	double limit = clock_seconds() + seconds;

	atomic_store(&channels_cell(c, c->base.rank)->stages[stage],
		     mine == STATUS_OK ? DONE : FAILED);
	for (int rank = 0; rank < c->base.size && mine == STATUS_OK; rank++) {
		int state;

		while ((state = atomic_load(&channels_cell(c, rank)->stages[stage])) == NOT_YET &&
		       clock_seconds() < limit)
			clock_sleep(1e-4);
		if (state == FAILED)
			return error_set(err, STATUS_UNSUPPORTED, "rank %d could not take part",
					 rank);
		if (state == NOT_YET)
			return error_set(err, STATUS_TIMEOUT, "no rank %d within %g s", rank,
					 seconds);
	}
	return mine;
}

static enum status channels_prepare_flags(struct channels *c, struct error *err)
{
	struct stream *stream;
	enum status status = cuda_stream_create(c->base.device, false, &stream, err);

	if (status != STATUS_OK)
		return status;
	/* Uses the rank's channel to itself, which is otherwise unused. */
	status = cuda_semaphores_prepare(
		stream, &channels_flags(c, c->device_view, c->base.rank, c->base.rank)->written,
		err);
	cuda_stream_destroy(stream);
	return status;
}

static enum status channels_join(struct channels *c, struct error *err)
{
	enum status status = channels_map_segment(c, err);

	if (!c->segment)
		return status;
	if (status == STATUS_OK)
		status = channels_allocate(c, err);
	status = channels_agree_on_stage(c, STAGE_ALLOCATED, status, OPEN_SECONDS, err);
	shared_memory_attached(c->name);
	if (status == STATUS_OK) {
		status = open_peers(c, err);
		if (status == STATUS_OK)
			status = channels_prepare_flags(c, err);
		/* Before the ranks meet: afterwards no rank may fail alone. */
		if (status == STATUS_OK)
			status =
				relay_open(&c->base, &channels_ops, c->slot_bytes, c->scratch, err);
		status = channels_agree_on_stage(c, STAGE_OPENED, status, OPEN_SECONDS, err);
	}
	return status;
}

enum status channels_open(struct device *device, enum transport transport,
			  const struct communicator_id *id, int rank, int size,
			  struct communicator **out, struct error *err)
{
	struct channels *c = xcalloc(1, sizeof(*c));
	enum status status = cuda_use(device, err);

	c->base = (struct communicator){
		.device = device, .rank = rank, .size = size, .transport = transport
	};
	memcpy(c->name, id->bytes, sizeof(c->name));
	c->slot_bytes = channels_slot_size(c);
	c->peers = xcalloc((size_t)size, sizeof(*c->peers));
	c->written = xcalloc((size_t)size, sizeof(*c->written));
	c->taken = xcalloc((size_t)size, sizeof(*c->taken));
	if (status == STATUS_OK)
		status = channels_join(c, err);
	if (status != STATUS_OK) {
		channels_close(&c->base);
		return error_prefix(err, "transport %s", transport_names[transport]), status;
	}
	*out = &c->base;
	return STATUS_OK;
}

/*
 * Memory that other ranks still have open must not be freed, even after a failure, which some
 * notice only after opening it. Waits only briefly for a rank that has died.
 */
static void channels_close_peers(struct channels *c)
{
	struct error ignored = ERROR_NONE;

	for (int rank = 0; rank < c->base.size; rank++)
		if (c->peers[rank])
			cudaIpcCloseMemHandle(c->peers[rank]);
	if (c->segment)
		channels_agree_on_stage(c, STAGE_CLOSED, STATUS_OK, CLOSE_SECONDS, &ignored);
}

/*
 * Raises every flag that this rank's streams may wait for, far beyond the awaited value. An active
 * peer may overwrite it, so it is repeated until the device is done.
 */
static void channels_end_waits(const struct channels *c)
{
	int me = c->base.rank;

	for (int turn = 0; turn < END_TURNS; turn++) {
		for (int peer = 0; peer < c->base.size; peer++) {
			struct channel_flags *out = channels_flags(c, c->segment, me, peer),
					     *in = channels_flags(c, c->segment, peer, me);

			__atomic_store_n(&out->taken, c->written[peer] + FAR_AHEAD,
					 __ATOMIC_SEQ_CST);
			__atomic_store_n(&in->written, c->taken[peer] + FAR_AHEAD,
					 __ATOMIC_SEQ_CST);
		}
		clock_sleep(END_SECONDS);
	}
}

void channels_close(struct communicator *communicator)
{
	struct channels *c = channels(communicator);
	struct error ignored = ERROR_NONE;

	cuda_use(communicator->device, &ignored);
	if (communicator->abandoned && c->segment)
		channels_end_waits(c);
	cudaDeviceSynchronize();
	channels_close_peers(c);
	relay_close(communicator);
	cudaFree(c->slots);
	cudaFree(c->scratch);
	cudaFree(c->landing);
	if (c->locked)
		cudaHostUnregister(c->segment);
	cudaGetLastError();
	shared_memory_unmap(c->segment, c->segment_bytes);
	free(c->peers);
	free(c->written);
	free(c->taken);
	free(c);
}
