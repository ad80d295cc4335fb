#include "suites/collective/session.h"

#include "suites/join.h"

static struct session session;

const struct session *session_open(struct device *device, struct world *world,
				   enum transport transport, struct error *err)
{
	enum status status;

	if (session.communicator && session.asked == transport)
		return &session;
	session_close();
	status =
		world_agree(world, backend_stream_create(device, false, &session.stream, err), err);
	if (status == STATUS_OK)
		status = join_world(device, world, transport, 0, &session.communicator, err);
	session.asked = transport;
	if (status == STATUS_OK)
		return &session;
	session_close();
	return NULL;
}

void session_close(void)
{
	backend_communicator_close(session.communicator);
	backend_stream_destroy(session.stream);
	session = (struct session){ 0 };
}
