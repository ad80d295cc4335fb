/*
 * Opens and closes the channels of ranks, and moves pieces through their slots; the relay builds
 * collectives from them.
 */
#include "device/cuda/ranks/channels.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "device/architecture.h"
#include "device/cuda/cuda_backend.h"
#include "device/cuda/driver.h"
#include "device/cuda/ranks/semaphores.h"
#include "device/ranks/relay.h"
#include "device/ranks/shared_memory.h"

/*
 * Semaphores in mapped host memory by which streams of several processes wait for each other. A
 * flag only increases; comparisons allow for wraparound. If the driver supports it, a stream waits
 * without occupying a multiprocessor (stream memory operations); otherwise a one-thread kernel
 * polls the flag.
 */

/* The driver determines it, so it is equal for all devices of a machine. */
static enum { UNKNOWN, BY_MEMORY_OPERATIONS, BY_KERNELS } method;

static CUdeviceptr cuda_channels_semaphore_address(const void *flag)
{
	return (CUdeviceptr)(uintptr_t)flag;
}

/* A recorded wait would use the value of its recording forever. */
static enum status cuda_channels_refuse_recording(struct stream *stream, struct error *err)
{
	enum cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
	enum status status =
		CUDA_CALL(err, cudaStreamIsCapturing, cuda_stream_handle(stream), &capture);

	if (status == STATUS_OK && capture != cudaStreamCaptureStatusNone)
		return error_set(err, STATUS_UNSUPPORTED,
				 "copies between ranks (peer_copy, host_copy) cannot be captured "
				 "in a graph");
	return status;
}

/* Later work of the stream waits until the flag reaches `value`. */
static enum status cuda_channels_semaphore_wait(struct stream *stream, void *flag, unsigned value,
						struct error *err)
{
	enum status status = cuda_channels_refuse_recording(stream, err);

	if (status != STATUS_OK)
		return status;
	if (method == BY_KERNELS)
		return cuda_semaphore_wait_launch(stream, flag, value, err);
	cuda_backend_path("flag_wait", "stream memory operation");
	return driver_check(driver.cuStreamWaitValue32_v2(cuda_stream_handle(stream),
							  cuda_channels_semaphore_address(flag),
							  value, CU_STREAM_WAIT_VALUE_GEQ),
			    "cuStreamWaitValue32", sizeof(value), err);
}

/* Sets the flag after all earlier work of the stream, visible to all devices and the host. */
static enum status cuda_channels_semaphore_signal(struct stream *stream, void *flag, unsigned value,
						  struct error *err)
{
	enum status status = cuda_channels_refuse_recording(stream, err);

	if (status != STATUS_OK)
		return status;
	if (method == BY_KERNELS)
		return cuda_semaphore_signal_launch(stream, flag, value, err);
	return driver_check(driver.cuStreamWriteValue32_v2(cuda_stream_handle(stream),
							   cuda_channels_semaphore_address(flag),
							   value, CU_STREAM_WRITE_VALUE_DEFAULT),
			    "cuStreamWriteValue32", sizeof(value), err);
}

/* Drivers may refuse on GPUs before Volta; when one is emulated, the alternative is tested. */
static bool cuda_channels_has_memory_operations(struct stream *stream, void *scratch)
{
	CUstream handle = cuda_stream_handle(stream);
	struct error ignored = ERROR_NONE;

	if (cuda_device_emulated_capability() &&
	    architecture_capability_number(&stream->device->info) < 70)
		return false;
	return library_open(&driver_library, &ignored) == STATUS_OK &&
	       driver.cuStreamWaitValue32_v2 && driver.cuStreamWriteValue32_v2 &&
	       driver.cuStreamWriteValue32_v2(handle, cuda_channels_semaphore_address(scratch), 1,
					      CU_STREAM_WRITE_VALUE_DEFAULT) == CUDA_SUCCESS &&
	       driver.cuStreamWaitValue32_v2(handle, cuda_channels_semaphore_address(scratch), 1,
					     CU_STREAM_WAIT_VALUE_GEQ) == CUDA_SUCCESS;
}

/*
 * Call once per device before the first wait: tests driver support with the flag at `scratch` (a
 * device address), which is then nonzero, and loads the kernels, which must not happen while a
 * stream waits.
 */
static enum status cuda_channels_semaphores_prepare(struct stream *stream, void *scratch,
						    struct error *err)
{
	enum status status = cuda_semaphore_signal_launch(stream, scratch, 1, err);

	if (status == STATUS_OK)
		status = cuda_semaphore_wait_launch(stream, scratch, 1, err);
	/* An empty sum loads the kernel as well. */
	for (int precision = 0; precision < PRECISION_COUNT && status == STATUS_OK; precision++) {
		struct relay_sum none = { .precision = (enum precision)precision };

		status = semaphores_sum_launch(stream, NULL, &none, err);
	}
	if (status == STATUS_OK && method == UNKNOWN)
		method = cuda_channels_has_memory_operations(stream, scratch) ? BY_MEMORY_OPERATIONS
									      : BY_KERNELS;
	return status == STATUS_OK ? cuda_stream_synchronize(stream, err) : status;
}

/*
 * The segment, host memory shared by all ranks, contains a cell per rank, the flags of each channel
 * and, for host_copy, the slots.
 */

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

static size_t channels_size(const struct channels *c)
{
	return (size_t)c->base.size;
}

static bool channels_over_host(const struct channels *c)
{
	return c->base.transport == TRANSPORT_HOST_COPY;
}

/*
 * All slots of a rank in its device's memory (peer_copy), or of all ranks in host memory. Larger
 * slots gain nothing, smaller ones cost time. Device memory is exported in blocks of 2 MiB.
 */
#define DEVICE_BYTES ((size_t)256 << 20)
#define DEVICE_SLOT_MOST ((size_t)32 << 20)
#define DEVICE_SLOT_UNIT ((size_t)2 << 20)
#define HOST_BYTES ((size_t)32 << 20)
#define HOST_SLOT_MOST ((size_t)2 << 20)
#define HOST_SLOT_UNIT ((size_t)64 << 10)

static size_t channels_flags_at(const struct channels *c)
{
	return (channels_size(c) * sizeof(struct rank_cell) + 4095) / 4096 * 4096;
}

static size_t cuda_channels_segment_slots_offset(const struct channels *c)
{
	return channels_flags_at(c) +
	       (channels_size(c) * channels_size(c) * sizeof(struct channel_flags) + 4095) / 4096 *
		       4096;
}

static size_t channels_slot_size(const struct channels *c)
{
	size_t peers = channels_size(c) - 1, slots = (peers ? peers : 1) * RELAY_SLOTS;
	size_t unit = channels_over_host(c) ? HOST_SLOT_UNIT : DEVICE_SLOT_UNIT,
	       most = channels_over_host(c) ? HOST_SLOT_MOST : DEVICE_SLOT_MOST,
	       bytes = (channels_over_host(c) ? HOST_BYTES / channels_size(c) : DEVICE_BYTES) /
		       slots / unit * unit;

	return bytes < unit ? unit : bytes > most ? most : bytes;
}

static struct rank_cell *channels_cell(const struct channels *c, int rank)
{
	return (struct rank_cell *)c->segment + rank;
}

/*
 * Semaphores of the channel between two ranks, in a mapping of the segment, `view`: the host's or
 * the device's.
 */
static struct channel_flags *channels_flags(const struct channels *c, char *view, int from, int to)
{
	return (struct channel_flags *)(view + channels_flags_at(c)) +
	       ((size_t)from * channels_size(c) + (size_t)to);
}

/* Index of a rank among the others, because a rank sends nothing to itself. */
static size_t cuda_channels_place_among(int rank, int others)
{
	return (size_t)(others < rank ? others : others - 1);
}

static char *channels_slot_of(const struct channels *c, int from, int to, unsigned piece)
{
	size_t place = channels_over_host(c) ? (size_t)to * (channels_size(c) - 1) +
						       cuda_channels_place_among(to, from)
					     : cuda_channels_place_among(to, from);
	char *slots = channels_over_host(c) ? c->segment + cuda_channels_segment_slots_offset(c)
		      : to == c->base.rank  ? c->slots
					    : c->peers[to];

	return slots + (place * RELAY_SLOTS + piece % RELAY_SLOTS) * c->slot_bytes;
}

/* A sum is added directly from a slot in device memory, and from a copy of a slot of the host. */
static enum status channels_move(struct communicator *communicator, struct stream *stream,
				 const struct relay_piece *p, struct error *err)
{
	struct channels *c = (struct channels *)communicator;
	int me = c->base.rank, from = p->is_push ? me : p->peer, to = p->is_push ? p->peer : me;
	struct channel_flags *flags = channels_flags(c, c->device_view, from, to);
	unsigned *pieces = p->is_push ? &c->written[p->peer] : &c->taken[p->peer];
	char *slot = channels_slot_of(c, from, to, *pieces);
	bool lands = p->sum.count && channels_over_host(c);
	enum status status;

	if (p->is_push)
		cuda_backend_path("transport", transport_names[c->base.transport]);
	status = cuda_channels_semaphore_wait(stream, p->is_push ? &flags->taken : &flags->written,
					      *pieces + 1 - (p->is_push ? RELAY_SLOTS : 0), err);
	if (status == STATUS_OK && p->sum.count && !lands)
		status = semaphores_sum_launch(stream, slot, &p->sum, err);
	else if (status == STATUS_OK)
		status = cuda_copy(stream,
				   p->is_push ? slot
				   : lands    ? c->landing
					      : p->memory,
				   p->is_push ? p->memory : slot, p->bytes, err);
	if (status == STATUS_OK)
		status =
			cuda_channels_semaphore_signal(stream,
						       p->is_push ? &flags->written : &flags->taken,
						       *pieces + 1, err);
	*pieces += status == STATUS_OK;
	if (status == STATUS_OK && lands)
		status = semaphores_sum_launch(stream, c->landing, &p->sum, err);
	return status;
}

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
		return error_set(err, STATUS_UNSUPPORTED, "transport %s: %s cannot map host memory",
				 transport_names[transport], device->info.id);
	for (size_t i = 0; i < devices->count && transport == TRANSPORT_PEER_COPY; i++) {
		int peer = devices->items[i].index;

		if (peer != device->info.index && !device_bits_has(&device->info.peers, peer))
			return error_set(err, STATUS_UNSUPPORTED,
					 "transport peer_copy: %s cannot access the memory of "
					 "cuda:%d",
					 device->info.id, peer);
	}
	return STATUS_OK;
}

/* A feature that a driver or container refuses counts as unsupported, not as an error. */
static enum status cuda_channels_refusal_as_unsupported(cudaError_t code, const char *call,
							struct error *err)
{
	enum status status = cuda_device_check(code, call, err);

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
	size_t slots;

	snprintf(use, sizeof(use), "transport %s of %d ranks", transport_names[c->base.transport],
		 c->base.size);
	slots = channels_size(c) * (channels_size(c) - 1) * RELAY_SLOTS;
	c->segment_bytes = cuda_channels_segment_slots_offset(c) +
			   (channels_over_host(c) ? slots * c->slot_bytes : 0);
	status = shared_memory_map(c->name, c->segment_bytes, use, &memory, err);
	if (status != STATUS_OK)
		return status;
	c->segment = memory;
	status = cuda_channels_refusal_as_unsupported(
		cudaHostRegister(memory, c->segment_bytes,
				 cudaHostRegisterMapped | cudaHostRegisterPortable),
		"cudaHostRegister of memory shared by ranks", err);
	if (status != STATUS_OK)
		return status;
	c->locked = true;
	status = cuda_channels_refusal_as_unsupported(cudaHostGetDevicePointer(&view, memory, 0),
						      "cudaHostGetDevicePointer", err);
	c->device_view = status == STATUS_OK ? view : NULL;
	return status;
}

/* Allocates everything of this rank before the others access it. */
static enum status channels_allocate(struct channels *c, struct error *err)
{
	size_t others = channels_size(c) > 1 ? channels_size(c) - 1 : 1,
	       bytes = (channels_over_host(c) ? 1 : others * RELAY_SLOTS) * c->slot_bytes;
	char **memory = channels_over_host(c) ? &c->landing : &c->slots;
	enum status status =
		CUDA_CALL_SIZE(err, c->slot_bytes, cudaMalloc, (void **)&c->scratch, c->slot_bytes);

	if (status == STATUS_OK)
		status = CUDA_CALL_SIZE(err, bytes, cudaMalloc, (void **)memory, bytes);
	if (channels_over_host(c))
		return status;
	if (status == STATUS_OK)
		status = cuda_channels_refusal_as_unsupported(
			cudaIpcGetMemHandle(&channels_cell(c, c->base.rank)->slots, c->slots),
			"cudaIpcGetMemHandle", err);
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
			return error_set(err, STATUS_UNSUPPORTED, "rank %d could not join", rank);
		if (state == NOT_YET)
			return error_set(err, STATUS_TIMEOUT, "rank %d did not join within %g s",
					 rank, seconds);
	}
	return mine;
}

static enum status channels_join(struct channels *c, struct error *err)
{
	enum status status = channels_map_segment(c, err);
	struct stream *stream = NULL;
	int me = c->base.rank;

	if (!c->segment)
		return status;
	if (status == STATUS_OK)
		status = channels_allocate(c, err);
	status = channels_agree_on_stage(c, STAGE_ALLOCATED, status, OPEN_SECONDS, err);
	shared_memory_attached(c->name);
	if (status != STATUS_OK)
		return status;
	for (int rank = 0; rank < c->base.size && status == STATUS_OK && !channels_over_host(c);
	     rank++)
		if (rank != me)
			status = cuda_channels_refusal_as_unsupported(
				cudaIpcOpenMemHandle((void **)&c->peers[rank],
						     channels_cell(c, rank)->slots,
						     cudaIpcMemLazyEnablePeerAccess),
				"cudaIpcOpenMemHandle", err);
	if (status == STATUS_OK)
		status = cuda_stream_create(c->base.device, false, &stream, err);
	/* Uses the rank's channel to itself, which is otherwise unused. */
	if (status == STATUS_OK)
		status = cuda_channels_semaphores_prepare(
			stream, &channels_flags(c, c->device_view, me, me)->written, err);
	cuda_stream_destroy(stream);
	/* Before the ranks meet: afterwards no rank may fail alone. */
	if (status == STATUS_OK)
		status = relay_open(&c->base, channels_move, c->slot_bytes, c->scratch, err);
	return channels_agree_on_stage(c, STAGE_OPENED, status, OPEN_SECONDS, err);
}

enum status channels_open(struct device *device, enum transport transport,
			  const struct communicator_id *id, int rank, int size,
			  struct communicator **out, struct error *err)
{
	struct channels *c = xcalloc(1, sizeof(*c));
	enum status status = cuda_device_use(device, err);

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
	struct channels *c = (struct channels *)communicator;
	struct error ignored = ERROR_NONE;

	cuda_device_use(communicator->device, &ignored);
	if (communicator->abandoned && c->segment)
		channels_end_waits(c);
	cudaDeviceSynchronize();
	for (int rank = 0; rank < c->base.size; rank++)
		if (c->peers[rank])
			cudaIpcCloseMemHandle(c->peers[rank]);
	/*
	 * Memory that other ranks still have open must not be freed, even after a failure, which
	 * some notice only after opening it. Waits only briefly for a rank that has died.
	 */
	if (c->segment)
		channels_agree_on_stage(c, STAGE_CLOSED, STATUS_OK, CLOSE_SECONDS, &ignored);
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
