#include "suites/shared/collective_session.h"

#include <string.h>

#include "plan/plan.h"
#include "suites/shared/communicators.h"

/* Over a transport or two; more would hold memory of the device for nothing. */
#define SESSIONS_OF_WORLD 2
/* Worlds differ in size. */
#define SESSIONS (SESSIONS_OF_WORLD * PLAN_MAX_CASE_DEVICES)

/*
 * In the order of the cases, as all ranks have them: closing may wait for the other ranks, some of which are in other
 * worlds as well.
 */
static struct session sessions[SESSIONS];
static size_t count;

static void close_one(struct session *s)
{
	backend_communicator_close(s->communicator);
	backend_stream_destroy(s->stream);
	count--;
	memmove(s, s + 1, (size_t)(sessions + count - s) * sizeof(*s));
	sessions[count] = (struct session){ 0 };
}

static struct session *find(const struct world *world, enum transport transport)
{
	for (size_t i = 0; i < count; i++)
		if (sessions[i].shared == world->shared && sessions[i].asked == transport)
			return &sessions[i];
	return NULL;
}

/* Closes the oldest of this world, as all of its ranks do now; those of other worlds are not theirs to close. */
static void make_room(const struct world *world)
{
	struct session *oldest = NULL;
	size_t of_world = 0;

	for (size_t i = count; i-- > 0;)
		if (sessions[i].shared == world->shared) {
			oldest = &sessions[i];
			of_world++;
		}
	if (of_world == SESSIONS_OF_WORLD)
		close_one(oldest);
}

const struct session *session_open(struct device *device, struct world *world,
				   enum transport transport, struct error *err)
{
	struct session *s = find(world, transport);
	const struct communicator_options options = { .transport = transport };
	enum status status;

	if (s)
		return s;
	make_room(world);
	s = &sessions[count++];
	s->shared = world->shared;
	s->asked = transport;
	status = world_agree(world, backend_stream_create(device, false, &s->stream, err), err);
	if (status == STATUS_OK)
		status = join_world(device, world, &options, &s->communicator, err);
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
