#include "suites/collective/session.h"

static struct session session;

/* Rank 0 makes the id that all need. */
static enum status join(struct device *device, struct world *world, struct error *err)
{
	struct communicator_id id = { { 0 } };
	enum status status = STATUS_OK;

	if (!device->backend->communicator_id)
		status = backend_missing(device, "communicator_id", err);
	else if (world->rank == 0)
		status = device->backend->communicator_id(&id, err);
	if (world_agree(world, status, err) != STATUS_OK)
		return err->status;
	world_broadcast(world, 0, &id, sizeof(id));
	return backend_communicator_open(device, &id, world->rank, world->size,
					 &session.communicator, err);
}

const struct session *session_open(struct device *device, struct world *world, struct error *err)
{
	enum status status;

	if (session.communicator)
		return &session;
	status =
		world_agree(world, backend_stream_create(device, false, &session.stream, err), err);
	if (status == STATUS_OK)
		status = world_agree(world, join(device, world, err), err);
	if (status == STATUS_OK)
		return &session;
	session_close();
	return NULL;
}

void session_close(void)
{
	backend_communicator_close(session.communicator);
	backend_stream_destroy(session.stream);
	session = (struct session){ NULL, NULL };
}
