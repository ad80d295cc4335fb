#include "suites/shared/ranks/communicators.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

const char *const gpudirect_names[] = { "default", "on", "off", NULL };

bool communicators_gpudirect_plan(const struct plan *plan, struct plan_case *point)
{
	/* A single node has no adapter between its devices. */
	if (!plan->group.nodes)
		return plan_drop_axis(point, "gpudirect");
	point->gpudirect = (enum gpudirect)case_integer(point, "gpudirect");
	if (point->gpudirect == GPUDIRECT_DEFAULT)
		plan_drop_axis(point, "gpudirect");
	return true;
}

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

void *communicators_sessions_open(void)
{
	return xcalloc(1, sizeof(struct sessions));
}

static void communicators_sessions_close_one(struct sessions *all, size_t index)
{
	struct collective_session *s = &all->list[index];

	backend_communicator_close(s->communicator);
	backend_stream_destroy(s->stream);
	all->count--;
	memmove(s, s + 1, (all->count - index) * sizeof(*s));
}

void communicators_sessions_close(void *sessions)
{
	struct sessions *all = sessions;

	while (all->count > 0)
		communicators_sessions_close_one(all, 0);
	free(all->list);
	free(all);
}

const struct collective_session *
communicators_session_find(struct sessions *all, struct device *device, struct world *world,
			   enum transport transport, struct error *err)
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
		communicators_sessions_close_one(all, oldest);
	ARRAY_GROW(all->list, all->count, all->capacity);
	s = &all->list[all->count++];
	*s = (struct collective_session){ .world = world->id, .asked = transport };
	status = world_agree(world, backend_stream_create(device, false, &s->stream, err), err);
	if (status == STATUS_OK)
		status = communicators_join_parts(device, world, &options, NULL, &s->communicator,
						  err);
	if (status == STATUS_OK)
		return s;
	communicators_sessions_close_one(all, all->count - 1);
	return NULL;
}

enum status communicators_join_agree(struct world *world, enum status mine,
				     struct communicator *opened, struct error *err)
{
	enum status status = world_agree(world, mine, err);

	if (opened && status != STATUS_OK)
		opened->abandoned = true;
	return status;
}

/* A rank's position in its part. */
struct part_place {
	int index, size;
};

static struct part_place communicators_rank_place_in_part(const struct world *world,
							  const int *part_of, int rank)
{
	struct part_place place = { 0, 0 };

	for (int i = 0; i < world->size; i++) {
		bool same = !part_of || part_of[i] == part_of[rank];

		place.index += same && i < rank;
		place.size += same;
	}
	return place;
}

/* Id of this rank's part, created by the first rank of each part. */
static enum status communicators_share_id(struct device *device, struct world *world,
					  enum transport transport, const int *part_of,
					  struct communicator_id *id, struct error *err)
{
	struct communicator_id mine = { { 0 } }, sent;
	enum status status = STATUS_OK;

	if (communicators_rank_place_in_part(world, part_of, world->rank).index == 0)
		status = transport_id(device, transport, &mine, err);
	if (world_agree(world, status, err) != STATUS_OK)
		return err->status;
	for (int root = 0; root < (part_of ? world->size : 1); root++) {
		if (communicators_rank_place_in_part(world, part_of, root).index > 0)
			continue;
		sent = mine;
		world_broadcast(world, root, &sent, sizeof(sent));
		if (!part_of || part_of[root] == part_of[world->rank])
			*id = sent;
	}
	return STATUS_OK;
}

/* part_of NULL: all ranks form one part. */
static enum status communicators_join_over(struct device *device, struct world *world,
					   const struct communicator_options *options,
					   const int *part_of, struct communicator **out,
					   struct error *err)
{
	struct part_place place = communicators_rank_place_in_part(world, part_of, world->rank);
	struct communicator_id id = { { 0 } };
	enum status status;

	if (communicators_share_id(device, world, options->transport, part_of, &id, err) !=
	    STATUS_OK)
		return err->status;
	status = backend_communicator_open(device, options, &id, place.index, place.size, out, err);
	return communicators_join_agree(world, status, *out, err);
}

struct device_address *communicators_join_addresses(struct device *device, struct world *world)
{
	struct device_address mine = device_address(&device->info),
			      *all = xcalloc((size_t)world->size, sizeof(*all));

	world_gather(world, &mine, all, sizeof(mine));
	return all;
}

static enum status communicators_try_over(struct device *device, struct world *world,
					  const struct communicator_options *options,
					  const int *part_of, struct communicator **out,
					  struct error *err)
{
	struct device_address *all = communicators_join_addresses(device, world);
	struct device_set devices = { 0 };
	enum status status;

	for (int rank = 0; rank < world->size; rank++)
		device_set_add(&devices, all[rank]);
	free(all);
	status = backend_transport_usable(device, options->transport, &devices, err);
	device_set_release(&devices);
	if (world_agree(world, status, err) != STATUS_OK)
		return err->status;
	status = communicators_join_over(device, world, options, part_of, out, err);
	if (status == STATUS_UNSUPPORTED && *out) {
		backend_communicator_close(*out);
		*out = NULL;
	}
	return status;
}

enum status communicators_join_parts(struct device *device, struct world *world,
				     const struct communicator_options *options, const int *part_of,
				     struct communicator **out, struct error *err)
{
	struct communicator_options tried = *options;
	enum status status = STATUS_UNSUPPORTED;

	*out = NULL;
	if (options->transport != TRANSPORT_AUTO)
		return communicators_try_over(device, world, options, part_of, out, err);
	if (!device->backend->transport_usable)
		return communicators_join_over(device, world, options, part_of, out, err);
	for (int t = TRANSPORT_AUTO + 1; t < TRANSPORT_COUNT && status == STATUS_UNSUPPORTED; t++) {
		error_clear(err);
		tried.transport = (enum transport)t;
		status = communicators_try_over(device, world, &tried, part_of, out, err);
	}
	return status;
}
