/* Collectives with NCCL: one rank per process, one communicator per case. */
#include "device/cuda/ranks/nccl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "device/architecture.h"
#include "device/cuda/cuda_backend.h"
#include "device/cuda/ranks/channels.h"

struct nccl_functions nccl;

static const struct library_symbol symbols[] = {
#define NCCL(required, name, parameters) { #name, offsetof(struct nccl_functions, name), required },
#include "device/cuda/ranks/nccl.def"
#undef NCCL
	{ "ncclGetErrorString", offsetof(struct nccl_functions, ncclGetErrorString), true },
	{ "ncclGetLastError", offsetof(struct nccl_functions, ncclGetLastError), false },
};

struct library nccl_library = {
	.name = "NCCL",
	.soname = "libnccl.so.2",
	.cost = "collectives and training steps on several devices use copies, which are slower",
	.symbols = symbols,
	.symbol_count = ARRAY_SIZE(symbols),
	.functions = &nccl,
};

struct cuda_communicator {
	struct communicator base;
	ncclComm_t handle;
	struct cuda_communicator *next; /* list of the same device */
};

static ncclComm_t nccl_handle(struct communicator *communicator)
{
	return ((struct cuda_communicator *)communicator)->handle;
}

bool nccl_version(char *out, size_t size)
{
	int version = 0;

	if (library_open(&nccl_library, NULL) != STATUS_OK)
		return false;
	nccl.ncclGetVersion(&version);
	if (version < 10000) /* 2.8 and older: 2804 */
		snprintf(out, size, "%d.%d.%d", version / 1000, version / 100 % 10, version % 100);
	else
		snprintf(out, size, "%d.%d.%d", version / 10000, version / 100 % 100,
			 version % 100);
	return true;
}

enum status nccl_serves(int capability, struct error *err)
{
	char version[32];
	int number = 0;

	if (library_open(&nccl_library, err) != STATUS_OK)
		return STATUS_UNSUPPORTED;
	nccl.ncclGetVersion(&number);
	if (capability >= 50 || number < 22803)
		return STATUS_OK;
	nccl_version(version, sizeof(version));
	return error_set(err, STATUS_UNSUPPORTED,
			 "NCCL %s has no code for compute capability %d.%d; use 2.27 built "
			 "with CUDA 11",
			 version, capability / 10, capability % 10);
}

/* `handle` may be NULL. */
static enum status nccl_check(int result, const char *call, ncclComm_t handle, struct error *err)
{
	static const char *const names[] = {
#define X(name) #name,
		NCCL_RESULTS(X)
#undef X
	};
	bool known = result >= 0 && (size_t)result < ARRAY_SIZE(names);
	const char *last = NULL;

	if (result == ncclSuccess)
		return STATUS_OK;
	if (nccl.ncclGetLastError)
		last = nccl.ncclGetLastError(handle);
	cudaGetLastError();
	return error_set(err, STATUS_DEVICE, "%s: %s: %s%s%s", call,
			 known ? names[result] : "unknown NCCL result",
			 nccl.ncclGetErrorString(result), last && *last ? ": " : "",
			 last ? last : "");
}

#define NCCL_CALL(err, handle, function, ...) \
	nccl_check(nccl.function(__VA_ARGS__), #function, handle, err)

enum status cuda_communicator_id(struct communicator_id *out, struct error *err)
{
	ncclUniqueId id;
	enum status status = library_open(&nccl_library, err);

	_Static_assert(sizeof(id) == sizeof(out->bytes), "NCCL's unique id fits into an id");
	if (status == STATUS_OK)
		status = NCCL_CALL(err, NULL, ncclGetUniqueId, &id);
	if (status == STATUS_OK)
		memcpy(out->bytes, id.internal, sizeof(out->bytes));
	return status;
}

/* Each block of a collective occupies a multiprocessor. Versions before 2.17 have no limit. */
static int nccl_init_rank(ncclComm_t *handle, int size, ncclUniqueId id, int rank,
			  int multiprocessors)
{
	ncclConfig_t config = {
		.size = sizeof(config),
		.magic = NCCL_CONFIG_MAGIC,
		.version = NCCL_CONFIG_VERSION,
		.blocking = NCCL_CONFIG_UNSET,
		.cga_cluster_size = NCCL_CONFIG_UNSET,
		.min_ctas = NCCL_CONFIG_UNSET,
		.max_ctas = multiprocessors,
	};
	int version = 0;

	nccl.ncclGetVersion(&version);
	if (multiprocessors <= 0 || !nccl.ncclCommInitRankConfig || version < NCCL_CONFIG_VERSION)
		return nccl.ncclCommInitRank(handle, size, id, rank);
	return nccl.ncclCommInitRankConfig(handle, size, id, rank, &config);
}

static enum status open_nccl(struct device *device, int multiprocessors,
			     const struct communicator_id *id, int rank, int size,
			     struct communicator **out, struct error *err)
{
	struct cuda_device *d = (struct cuda_device *)device;
	struct cuda_communicator *c;
	ncclUniqueId nccl_id;
	enum status status = nccl_serves(architecture_capability_number(&device->info), err);

	if (status == STATUS_OK)
		status = cuda_device_use(device, err);
	if (status != STATUS_OK)
		return status;
	c = xcalloc(1, sizeof(*c));
	c->base = (struct communicator){
		.device = device, .rank = rank, .size = size, .transport = TRANSPORT_NCCL
	};
	memcpy(nccl_id.internal, id->bytes, sizeof(nccl_id.internal));
	status = nccl_check(nccl_init_rank(&c->handle, size, nccl_id, rank, multiprocessors),
			    "ncclCommInitRank", NULL, err);
	if (status != STATUS_OK) {
		free(c);
		return status;
	}
	c->next = d->communicators;
	d->communicators = c;
	*out = &c->base;
	return STATUS_OK;
}

enum status cuda_transport_usable(struct device *device, enum transport transport,
				  const struct device_set *devices, struct error *err)
{
	if (transport == TRANSPORT_NCCL)
		return nccl_serves(architecture_capability_number(&device->info), err);
	if (transport == TRANSPORT_PEER_COPY || transport == TRANSPORT_HOST_COPY)
		return channels_usable(device, transport, devices, err);
	return error_set(err, STATUS_UNSUPPORTED, "transport %s works only between CPU devices",
			 transport_names[transport]);
}

enum status cuda_communicator_open(struct device *device,
				   const struct communicator_options *options,
				   const struct communicator_id *id, int rank, int size,
				   struct communicator **out, struct error *err)
{
	enum transport transport = options->transport;

	if (transport == TRANSPORT_AUTO || transport == TRANSPORT_NCCL)
		return open_nccl(device, options->multiprocessors, id, rank, size, out, err);
	return channels_open(device, transport, id, rank, size, out, err);
}

static int nccl_asynchronous_result(struct cuda_communicator *c)
{
	int result = ncclSuccess, asked = nccl.ncclCommGetAsyncError(c->handle, &result);

	return asked != ncclSuccess ? asked : result;
}

enum status nccl_communicators_check(struct cuda_device *device, struct error *err)
{
	enum status status = STATUS_OK;

	for (struct cuda_communicator *c = device->communicators; c && status == STATUS_OK;
	     c = c->next)
		status = nccl_check(nccl_asynchronous_result(c), "asynchronous error of NCCL",
				    c->handle, err);
	return status;
}

/*
 * A communicator that has failed or was abandoned can only be aborted: destroying it would wait for
 * the peers.
 */
void cuda_communicator_close(struct communicator *communicator)
{
	struct error err = ERROR_NONE;
	struct cuda_communicator *c;
	struct cuda_communicator **at;

	if (!communicator)
		return;
	if (communicator->transport != TRANSPORT_NCCL) {
		channels_close(communicator);
		return;
	}
	c = (struct cuda_communicator *)communicator;
	at = &((struct cuda_device *)c->base.device)->communicators;
	while (*at && *at != c)
		at = &(*at)->next;
	if (*at)
		*at = c->next;
	cuda_device_use(communicator->device, &err);
	if (nccl_check(nccl_asynchronous_result(c),
		       "error of NCCL found when the communicator was closed", c->handle,
		       &err) == STATUS_OK &&
	    !communicator->abandoned) {
		NCCL_CALL(&err, c->handle, ncclCommDestroy, c->handle);
	} else {
		nccl.ncclCommAbort(c->handle);
	}
	if (err.status != STATUS_OK)
		fprintf(stderr, "gpuproof: %s: %s\n", communicator->device->info.id, err.message);
	free(c);
}

static const int nccl_types[PRECISION_COUNT] = {
	[PRECISION_FP64] = ncclFloat64,  [PRECISION_FP32] = ncclFloat32,
	[PRECISION_TF32] = ncclFloat32,  [PRECISION_FP16] = ncclFloat16,
	[PRECISION_BF16] = ncclBfloat16,
};

static const int nccl_reductions[] = {
	[REDUCE_SUM] = ncclSum,
	[REDUCE_AVERAGE] = ncclAvg,
	[REDUCE_MAX] = ncclMax,
};

enum status cuda_all_reduce(struct communicator *communicator, struct stream *stream, void *to,
			    const void *from, size_t count, enum precision precision,
			    enum reduction reduction, struct error *err)
{
	ncclComm_t handle = nccl_handle(communicator);

	return NCCL_CALL(err, handle, ncclAllReduce, from, to, count, nccl_types[precision],
			 nccl_reductions[reduction], handle, cuda_stream_handle(stream));
}

enum status cuda_broadcast(struct communicator *communicator, struct stream *stream, void *buffer,
			   size_t bytes, int root, struct error *err)
{
	ncclComm_t handle = nccl_handle(communicator);

	return NCCL_CALL(err, handle, ncclBroadcast, buffer, buffer, bytes, ncclUint8, root, handle,
			 cuda_stream_handle(stream));
}

enum status cuda_send(struct communicator *communicator, struct stream *stream, const void *from,
		      size_t bytes, int peer, struct error *err)
{
	ncclComm_t handle = nccl_handle(communicator);

	return NCCL_CALL(err, handle, ncclSend, from, bytes, ncclUint8, peer, handle,
			 cuda_stream_handle(stream));
}

enum status cuda_receive(struct communicator *communicator, struct stream *stream, void *to,
			 size_t bytes, int peer, struct error *err)
{
	ncclComm_t handle = nccl_handle(communicator);

	return NCCL_CALL(err, handle, ncclRecv, to, bytes, ncclUint8, peer, handle,
			 cuda_stream_handle(stream));
}

enum status cuda_group_begin(struct communicator *communicator, struct error *err)
{
	return nccl_check(nccl.ncclGroupStart(), "ncclGroupStart", nccl_handle(communicator), err);
}

enum status cuda_group_end(struct communicator *communicator, struct error *err)
{
	return nccl_check(nccl.ncclGroupEnd(), "ncclGroupEnd", nccl_handle(communicator), err);
}

enum status cuda_all_gather(struct communicator *communicator, struct stream *stream, void *to,
			    const void *from, size_t count_per_rank, enum precision precision,
			    struct error *err)
{
	ncclComm_t handle = nccl_handle(communicator);

	return NCCL_CALL(err, handle, ncclAllGather, from, to, count_per_rank,
			 nccl_types[precision], handle, cuda_stream_handle(stream));
}

enum status cuda_reduce_scatter(struct communicator *communicator, struct stream *stream, void *to,
				const void *from, size_t count_per_rank, enum precision precision,
				enum reduction reduction, struct error *err)
{
	ncclComm_t handle = nccl_handle(communicator);

	return NCCL_CALL(err, handle, ncclReduceScatter, from, to, count_per_rank,
			 nccl_types[precision], nccl_reductions[reduction], handle,
			 cuda_stream_handle(stream));
}

enum status cuda_reduce(struct communicator *communicator, struct stream *stream, void *to,
			const void *from, size_t count, enum precision precision,
			enum reduction reduction, int root, struct error *err)
{
	ncclComm_t handle = nccl_handle(communicator);

	return NCCL_CALL(err, handle, ncclReduce, from, to, count, nccl_types[precision],
			 nccl_reductions[reduction], root, handle, cuda_stream_handle(stream));
}

/*
 * NCCL has a function for this since 2.28; grouped messages are its implementation and work with
 * every version.
 */
enum status cuda_all_to_all(struct communicator *communicator, struct stream *stream, void *to,
			    const void *from, size_t count_per_rank, enum precision precision,
			    struct error *err)
{
	size_t part = count_per_rank * precision_bytes(precision);
	enum status status = cuda_group_begin(communicator, err);

	for (int i = 0; i < communicator->size && status == STATUS_OK; i++) {
		status = cuda_send(communicator, stream, (const char *)from + (size_t)i * part,
				   part, i, err);
		if (status == STATUS_OK)
			status = cuda_receive(communicator, stream, (char *)to + (size_t)i * part,
					      part, i, err);
	}
	/* Ends a group that was begun, even after a failure. */
	return status == STATUS_OK ? cuda_group_end(communicator, err)
				   : (nccl.ncclGroupEnd(), status);
}
