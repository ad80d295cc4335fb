#include "device/ranks/transport.h"

#include "device/backend.h"
#include "device/ranks/shared_memory.h"

const char *const transport_names[] = {
#define X(symbol, name, description) name,
	TRANSPORTS(X)
#undef X
		NULL,
};

enum status transport_id(struct device *device, enum transport transport,
			 struct communicator_id *out, struct error *err)
{
	if (transport == TRANSPORT_PEER_COPY || transport == TRANSPORT_HOST_COPY)
		return shared_memory_name(out->bytes, sizeof(out->bytes), err);
	if (!device->backend->communicator_id)
		return backend_missing(device, "communicator_id", err);
	return device->backend->communicator_id(out, err);
}
