#include "suites/shared/ranks/collective_session.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "suites/shared/ranks/communicators.h"

/* Sessions per world, for one or two transports; more would only occupy device memory. */
#define SESSIONS_OF_WORLD 2

/*
 * In the order of the cases, equal on all ranks: closing may wait for other ranks, some of which
 * are also in other worlds.
 */
struct sessions {
	struct collective_session *list;
	size_t count, capacity;
};

struct sessions *sessions_open(void)
{
	return xcalloc(1, sizeof(struct sessions));
}

static void sessions_close_one(struct sessions *all, size_t index)
{
	struct collective_session *s = &all->list[index];

	backend_communicator_close(s->communicator);
	backend_stream_destroy(s->stream);
	all->count--;
	memmove(s, s + 1, (all->count - index) * sizeof(*s));
}

void sessions_close(struct sessions *all)
{
	while (all->count > 0)
		sessions_close_one(all, 0);
	free(all->list);
	free(all);
}

const struct collective_session *session_find(struct sessions *all, struct device *device,
					      struct world *world, enum transport transport,
					      struct error *err)
{
	const struct communicator_options options = { .transport = transport };
	struct collective_session *s;
	enum status status;
	size_t oldest, of_world;

	for (size_t i = 0; i < all->count; i++)
		if (all->list[i].world == world->id && all->list[i].asked == transport)
			return &all->list[i];
	/*
	 * Closes the oldest session of this world, as all of its ranks do now; sessions of other
	 * worlds must stay.
	 */
	oldest = 0;
	of_world = 0;
	for (size_t i = all->count; i-- > 0;)
		if (all->list[i].world == world->id) {
			oldest = i;
			of_world++;
		}
	if (of_world == SESSIONS_OF_WORLD)
		sessions_close_one(all, oldest);
	ARRAY_GROW(all->list, all->count, all->capacity);
	s = &all->list[all->count++];
	*s = (struct collective_session){ .world = world->id, .asked = transport };
	status = world_agree(world, backend_stream_create(device, false, &s->stream, err), err);
	if (status == STATUS_OK)
		status = join_world(device, world, &options, &s->communicator, err);
	if (status == STATUS_OK)
		return s;
	sessions_close_one(all, all->count - 1);
	return NULL;
}
