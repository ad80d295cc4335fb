/*
 * Transports: how data of collectives and messages moves from one rank's device to another's.
 *
 * `auto` is the first of nccl, shared_memory, peer_copy, host_copy and tcp that all ranks can use;
 * for messages between pipeline stages it prefers peer_copy to nccl if neighbours support it
 * (suites/training/parallel/ranks/team.h).
 *
 * Adding a transport: add a row to TRANSPORTS, at its place in the order of `auto`, and extend
 * transport_usable and communicator_open of the backends. A transport that only moves pieces
 * implements relay.h and gets all collectives.
 */
#ifndef GPUPROOF_DEVICE_RANKS_TRANSPORT_H
#define GPUPROOF_DEVICE_RANKS_TRANSPORT_H

#include <stdbool.h>

#include "base/error.h"

/*
 * TRANSPORTS(X): X(symbol, name in INI and reports, only within a node, description), in the order
 * in which `auto` tries them
 */
#define TRANSPORTS(X)                                                                             \
	X(AUTO, "auto", false, "the first other transport that all ranks can use")                \
	X(NCCL, "nccl", false, "NVIDIA's collective library")                                     \
	X(SHARED_MEMORY, "shared_memory", true, "CPU devices of one node, through shared memory") \
	X(PEER_COPY, "peer_copy", true, "GPUs: copies to the memory of the other GPU")            \
	X(HOST_COPY, "host_copy", true, "GPUs: copies through the host")                          \
	X(TCP, "tcp", false, "CPU devices, also on several nodes, over TCP")

enum transport {
#define X(symbol, name, within_node, description) TRANSPORT_##symbol,
	TRANSPORTS(X)
#undef X
		TRANSPORT_COUNT
};

/* In the order of the enum, NULL-terminated: choices of an INI key. */
extern const char *const transport_names[];

struct device;
struct device_set;
struct communicator_id;

/*
 * STATUS_UNSUPPORTED if the transport connects devices of one node only and `devices` are on
 * several. For transport_usable() of the backends; NULL: devices not known yet.
 */
enum status transport_reaches(const struct device *device, enum transport transport,
			      const struct device_set *devices, struct error *err);

/* Creates an id for communicator_open() on one rank; all ranks of the communicator need it. */
enum status transport_id(struct device *device, enum transport transport,
			 struct communicator_id *out, struct error *err);

/*
 * GPUDirect RDMA: the network adapter accesses GPU memory directly, instead of through buffers in
 * host memory. NCCL decides once per process, by the distance of GPU and adapter and by
 * NCCL_NET_GDR_LEVEL.
 */
enum gpudirect { GPUDIRECT_DEFAULT, GPUDIRECT_ON, GPUDIRECT_OFF };

/*
 * Call before NCCL's first call in this process or its children: at any distance (SYS), or never
 * (LOC). GPUDIRECT_DEFAULT changes nothing.
 */
void gpudirect_ask(enum gpudirect wanted);

#endif
