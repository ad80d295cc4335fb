#include "device/ranks/transport.h"

#include <stdlib.h>

#include "device/backend.h"
#include "device/ranks/shared_memory.h"
#include "device/ranks/tcp_mesh.h"

void gpudirect_ask(enum gpudirect wanted)
{
	if (wanted != GPUDIRECT_DEFAULT)
		setenv("NCCL_NET_GDR_LEVEL", wanted == GPUDIRECT_ON ? "SYS" : "LOC", 1);
}

const char *const transport_names[] = {
#define X(symbol, name, within_node, description) name,
	TRANSPORTS(X)
#undef X
		NULL,
};

static const bool within_node[TRANSPORT_COUNT] = {
#define X(symbol, name, within_node, description) within_node,
	TRANSPORTS(X)
#undef X
};

enum status transport_reaches(const struct device *device, enum transport transport,
			      const struct device_set *devices, struct error *err)
{
	if (!within_node[transport] || !devices || device_set_on_node(devices, device->info.node))
		return STATUS_OK;
	return error_set(err, STATUS_UNSUPPORTED,
			 "transport %s works only within one node, but %s communicates with "
			 "devices of other nodes",
			 transport_names[transport], device->info.id);
}

enum status transport_id(struct device *device, enum transport transport,
			 struct communicator_id *out, struct error *err)
{
	if (transport == TRANSPORT_PEER_COPY || transport == TRANSPORT_HOST_COPY)
		return shared_memory_create(out->bytes, sizeof(out->bytes), err);
	if (transport == TRANSPORT_TCP)
		return tcp_mesh_id(out, err);
	if (!device->backend->communicator_id)
		return backend_missing(device, "communicator_id", err);
	return device->backend->communicator_id(out, err);
}
