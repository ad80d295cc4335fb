#include "suites/collective/session.h"

#include "suites/join.h"

/* Worlds of 2, 4, 8 devices, over a transport or two. */
#define SESSIONS 6

static struct session sessions[SESSIONS];
static size_t count;

static void close_one(struct session *s)
{
	backend_communicator_close(s->communicator);
	backend_stream_destroy(s->stream);
	*s = sessions[--count];
	sessions[count] = (struct session){ 0 };
}

/* What all ranks of the world have; a rank may have lost its own in a case of other ranks, and then none keeps it. */
static struct session *find(struct world *world, enum transport transport)
{
	struct session *found = NULL;

	for (size_t i = 0; i < count; i++)
		if (sessions[i].shared == world->shared && sessions[i].asked == transport)
			found = &sessions[i];
	if (world_sum(world, found != NULL) == world->size)
		return found;
	if (found)
		close_one(found);
	return NULL;
}

const struct session *session_open(struct device *device, struct world *world,
				   enum transport transport, struct error *err)
{
	struct session *s = find(world, transport);
	enum status status;

	if (s)
		return s;
	if (count == SESSIONS)
		session_close();
	s = &sessions[count++];
	s->shared = world->shared;
	s->asked = transport;
	status = world_agree(world, backend_stream_create(device, false, &s->stream, err), err);
	if (status == STATUS_OK)
		status = join_world(device, world, transport, 0, &s->communicator, err);
	if (status == STATUS_OK)
		return s;
	close_one(s);
	return NULL;
}

void session_close(void)
{
	while (count > 0)
		close_one(&sessions[0]);
}
