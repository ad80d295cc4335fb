#include "device/cuda/channels.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "device/cuda/cuda_backend.h"
#include "device/cuda/flags.h"
#include "device/segment.h"

/* As long as host ranks wait for each other. A rank that closes does not wait for others to be alive. */
#define OPEN_SECONDS 60
#define CLOSE_SECONDS 2

/*
 * All slots of a rank in its device's memory, of all ranks in the host's; slots of more than so much gain nothing,
 * those of less waste time. Device memory is exported in blocks of 2 MiB.
 */
#define DEVICE_BYTES ((size_t)256 << 20)
#define DEVICE_SLOT_MOST ((size_t)32 << 20)
#define DEVICE_SLOT_UNIT ((size_t)2 << 20)
#define HOST_BYTES ((size_t)32 << 20)
#define HOST_SLOT_MOST ((size_t)2 << 20)
#define HOST_SLOT_UNIT ((size_t)64 << 10)

/* How far a rank is in opening and closing. */
enum stage { ALLOCATED, OPENED, CLOSED, STAGE_COUNT };
enum { NOT_YET, DONE, FAILED };

struct rank_cell {
	_Atomic int stages[STAGE_COUNT];
	cudaIpcMemHandle_t mailbox;
};

/* One side writes each; in a cache line of its own. */
struct channel_flags {
	_Alignas(64) unsigned written;
	_Alignas(64) unsigned taken;
};

struct channels {
	struct communicator base;
	char name[128];
	char *segment, *device_view; /* rank_cells, channel_flags, and in host_copy slots */
	size_t segment_bytes, slot_bytes;
	bool locked;
	char *mailbox;             /* peer_copy: slots for each other rank */
	char **peers;              /* peer_copy: the other ranks' mailboxes */
	char *scratch;             /* a slot */
	char *landing;             /* host_copy: where a slot lies while it is added */
	unsigned *written, *taken; /* pieces, for each peer */
};

static struct channels *channels(struct communicator *communicator)
{
	return (struct channels *)communicator;
}

static bool over_host(const struct channels *c)
{
	return c->base.transport == TRANSPORT_HOST_COPY;
}

static size_t size_of(const struct channels *c)
{
	return (size_t)c->base.size;
}

static size_t flags_at(const struct channels *c)
{
	return (size_of(c) * sizeof(struct rank_cell) + 4095) / 4096 * 4096;
}

static size_t slots_at(const struct channels *c)
{
	return flags_at(c) +
	       (size_of(c) * size_of(c) * sizeof(struct channel_flags) + 4095) / 4096 * 4096;
}

static size_t slot_size(const struct channels *c)
{
	size_t peers = size_of(c) - 1, slots = (peers ? peers : 1) * RELAY_SLOTS;
	size_t unit = over_host(c) ? HOST_SLOT_UNIT : DEVICE_SLOT_UNIT,
	       most = over_host(c) ? HOST_SLOT_MOST : DEVICE_SLOT_MOST,
	       bytes = (over_host(c) ? HOST_BYTES / size_of(c) : DEVICE_BYTES) / slots / unit *
		       unit;

	return bytes < unit ? unit : bytes > most ? most : bytes;
}

static struct rank_cell *cell(const struct channels *c, int rank)
{
	return (struct rank_cell *)c->segment + rank;
}

static size_t channel_index(const struct channels *c, int from, int to)
{
	return (size_t)from * size_of(c) + (size_t)to;
}

/* Device addresses, for flags.h. */
static struct channel_flags *flags_of(const struct channels *c, int from, int to)
{
	return (struct channel_flags *)(c->device_view + flags_at(c)) + channel_index(c, from, to);
}

/* Without the rank itself, which sends itself nothing. */
static size_t place_among(int rank, int others)
{
	return (size_t)(others < rank ? others : others - 1);
}

static char *slot_of(const struct channels *c, int from, int to, unsigned piece)
{
	size_t place = over_host(c) ? (size_t)to * (size_of(c) - 1) + place_among(to, from)
				    : place_among(to, from);
	char *slots = over_host(c)         ? c->segment + slots_at(c)
		      : to == c->base.rank ? c->mailbox
					   : c->peers[to];

	return slots + (place * RELAY_SLOTS + piece % RELAY_SLOTS) * c->slot_bytes;
}

static enum status channel_put(struct communicator *communicator, struct stream *stream, int peer,
			       const void *from, size_t bytes, struct error *err)
{
	struct channels *c = channels(communicator);
	struct channel_flags *flags = flags_of(c, c->base.rank, peer);
	unsigned piece = c->written[peer];
	enum status status;

	cuda_path("transport", transport_names[c->base.transport]);
	status = cuda_flag_wait(stream, &flags->taken, piece + 1 - RELAY_SLOTS, err);

	if (status == STATUS_OK)
		status = cuda_copy(stream, slot_of(c, c->base.rank, peer, piece), from, bytes, err);
	if (status == STATUS_OK)
		status = cuda_flag_raise(stream, &flags->written, piece + 1, err);
	c->written[peer] += status == STATUS_OK;
	return status;
}

static enum status channel_take(struct communicator *communicator, struct stream *stream, int peer,
				void *to, size_t bytes, struct error *err)
{
	struct channels *c = channels(communicator);
	struct channel_flags *flags = flags_of(c, peer, c->base.rank);
	unsigned piece = c->taken[peer];
	enum status status = cuda_flag_wait(stream, &flags->written, piece + 1, err);

	if (status == STATUS_OK)
		status = cuda_copy(stream, to, slot_of(c, peer, c->base.rank, piece), bytes, err);
	if (status == STATUS_OK)
		status = cuda_flag_raise(stream, &flags->taken, piece + 1, err);
	c->taken[peer] += status == STATUS_OK;
	return status;
}

static enum status channel_add(struct communicator *communicator, struct stream *stream, int peer,
			       const struct relay_sum *sum, struct error *err)
{
	struct channels *c = channels(communicator);
	struct channel_flags *flags = flags_of(c, peer, c->base.rank);
	size_t bytes = sum->count * precision_bytes(sum->precision);
	unsigned piece = c->taken[peer];
	char *slot = slot_of(c, peer, c->base.rank, piece);
	enum status status;

	if (over_host(c)) {
		status = channel_take(communicator, stream, peer, c->landing, bytes, err);
		return status == STATUS_OK ? cuda_sum_launch(stream, c->landing, sum, err) : status;
	}
	status = cuda_flag_wait(stream, &flags->written, piece + 1, err);
	if (status == STATUS_OK)
		status = cuda_sum_launch(stream, slot, sum, err);
	if (status == STATUS_OK)
		status = cuda_flag_raise(stream, &flags->taken, piece + 1, err);
	c->taken[peer] += status == STATUS_OK;
	return status;
}

static const struct relay_ways ways = { .put = channel_put,
					.take = channel_take,
					.add = channel_add };

static int attribute(const struct device *device, enum cudaDeviceAttr which)
{
	int value = 0;

	if (cudaDeviceGetAttribute(&value, which, device->info.index) != cudaSuccess)
		cudaGetLastError();
	return value;
}

enum status channels_usable(struct device *device, enum transport transport, uint64_t devices,
			    struct error *err)
{
	uint64_t others = devices & ~(UINT64_C(1) << device->info.index),
		 far = others & ~device->info.peer_mask;

	if (!attribute(device, cudaDevAttrCanMapHostMemory) ||
	    !attribute(device, cudaDevAttrHostRegisterSupported))
		return error_set(err, STATUS_UNSUPPORTED,
				 "transport %s: %s cannot map memory of the host",
				 transport_names[transport], device->info.id);
	if (transport == TRANSPORT_PEER_COPY && far)
		return error_set(err, STATUS_UNSUPPORTED,
				 "transport peer_copy: %s has no access to the memory of cuda:%d",
				 device->info.id, __builtin_ctzll(far));
	return STATUS_OK;
}

/* What a driver or container refuses is not there, rather than broken. */
static enum status refused(cudaError_t code, const char *call, struct error *err)
{
	enum status status = cuda_check(code, call, err);

	if (status != STATUS_DEVICE)
		return status;
	if (err)
		err->status = STATUS_UNSUPPORTED;
	return STATUS_UNSUPPORTED;
}

static enum status map_segment(struct channels *c, struct error *err)
{
	char use[64];
	void *memory, *view;
	enum status status;

	snprintf(use, sizeof(use), "transport %s of %d ranks", transport_names[c->base.transport],
		 c->base.size);
	c->segment_bytes =
		slots_at(c) +
		(over_host(c) ? size_of(c) * (size_of(c) - 1) * RELAY_SLOTS * c->slot_bytes : 0);
	status = segment_map(c->name, c->segment_bytes, use, &memory, err);
	if (status != STATUS_OK)
		return status;
	c->segment = memory;
	status = refused(cudaHostRegister(memory, c->segment_bytes,
					  cudaHostRegisterMapped | cudaHostRegisterPortable),
			 "cudaHostRegister of memory shared by ranks", err);
	if (status != STATUS_OK)
		return status;
	c->locked = true;
	status = refused(cudaHostGetDevicePointer(&view, memory, 0), "cudaHostGetDevicePointer",
			 err);
	c->device_view = status == STATUS_OK ? view : NULL;
	return status;
}

static enum status device_memory(size_t bytes, char **out, struct error *err)
{
	return cuda_check_size(cudaMalloc((void **)out, bytes), "cudaMalloc", bytes, err);
}

/* Everything of this rank's own, before the others look at it. */
static enum status allocate(struct channels *c, struct error *err)
{
	size_t others = size_of(c) > 1 ? size_of(c) - 1 : 1;
	enum status status = device_memory(c->slot_bytes, &c->scratch, err);

	if (status == STATUS_OK && over_host(c))
		return device_memory(c->slot_bytes, &c->landing, err);
	if (status == STATUS_OK)
		status = device_memory(others * RELAY_SLOTS * c->slot_bytes, &c->mailbox, err);
	if (status == STATUS_OK)
		status = refused(cudaIpcGetMemHandle(&cell(c, c->base.rank)->mailbox, c->mailbox),
				 "cudaIpcGetMemHandle", err);
	return status;
}

static enum status open_peers(struct channels *c, struct error *err)
{
	enum status status = STATUS_OK;

	for (int rank = 0; rank < c->base.size && status == STATUS_OK && !over_host(c); rank++)
		if (rank != c->base.rank)
			status = refused(cudaIpcOpenMemHandle((void **)&c->peers[rank],
							      cell(c, rank)->mailbox,
							      cudaIpcMemLazyEnablePeerAccess),
					 "cudaIpcOpenMemHandle", err);
	return status;
}

/* Says how this rank did, and waits until all have said so; every rank fails when one does. */
static enum status meet(struct channels *c, enum stage stage, enum status mine, double seconds,
			struct error *err)
{
	double limit = clock_seconds() + seconds;

	atomic_store(&cell(c, c->base.rank)->stages[stage], mine == STATUS_OK ? DONE : FAILED);
	for (int rank = 0; rank < c->base.size && mine == STATUS_OK; rank++) {
		int state;

		while ((state = atomic_load(&cell(c, rank)->stages[stage])) == NOT_YET &&
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

static enum status prepare_flags(struct channels *c, struct error *err)
{
	struct stream *stream;
	enum status status = cuda_stream_create(c->base.device, false, &stream, err);

	if (status != STATUS_OK)
		return status;
	/* The rank's channel to itself, which nobody uses. */
	status = cuda_flags_prepare(stream, &flags_of(c, c->base.rank, c->base.rank)->written, err);
	cuda_stream_destroy(stream);
	return status;
}

static enum status join(struct channels *c, struct error *err)
{
	enum status status = map_segment(c, err);

	if (!c->segment)
		return status;
	if (status == STATUS_OK)
		status = allocate(c, err);
	status = meet(c, ALLOCATED, status, OPEN_SECONDS, err);
	segment_unlink(c->name);
	if (status == STATUS_OK) {
		status = open_peers(c, err);
		if (status == STATUS_OK)
			status = prepare_flags(c, err);
		status = meet(c, OPENED, status, OPEN_SECONDS, err);
	}
	return status == STATUS_OK ? relay_open(&c->base, &ways, c->slot_bytes, c->scratch, err)
				   : status;
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
	c->slot_bytes = slot_size(c);
	c->peers = xcalloc((size_t)size, sizeof(*c->peers));
	c->written = xcalloc((size_t)size, sizeof(*c->written));
	c->taken = xcalloc((size_t)size, sizeof(*c->taken));
	if (status == STATUS_OK)
		status = join(c, err);
	if (status != STATUS_OK) {
		channels_close(&c->base);
		return error_prefix(err, "transport %s", transport_names[transport]), status;
	}
	*out = &c->base;
	return STATUS_OK;
}

/* What others still have open must not be freed; one that is gone is not waited for long. */
static void close_peers(struct channels *c)
{
	struct error ignored = ERROR_NONE;

	for (int rank = 0; rank < c->base.size; rank++)
		if (c->peers[rank])
			cudaIpcCloseMemHandle(c->peers[rank]);
	if (c->segment && c->base.relay)
		meet(c, CLOSED, STATUS_OK, CLOSE_SECONDS, &ignored);
}

void channels_close(struct communicator *communicator)
{
	struct channels *c = channels(communicator);
	struct error ignored = ERROR_NONE;

	cuda_use(communicator->device, &ignored);
	cudaDeviceSynchronize();
	close_peers(c);
	relay_close(communicator);
	cudaFree(c->mailbox);
	cudaFree(c->scratch);
	cudaFree(c->landing);
	if (c->locked)
		cudaHostUnregister(c->segment);
	cudaGetLastError();
	segment_unmap(c->segment, c->segment_bytes);
	free(c->peers);
	free(c->written);
	free(c->taken);
	free(c);
}
