#include "suites/training/parallel/ranks/team.h"

#include <stdlib.h>

#include "base/memory.h"

/* One send, or one copy to the host, at a time: keeps the staging buffers of libraries small. */
#define PIECE_BYTES (UINT64_C(64) << 20)
#define SCRATCH_BYTES (DIFFERENCE_PARTS * sizeof(struct difference_part))

enum status team_open(struct rank_team *team, struct device *device, struct world *world,
		      struct error *err)
{
	return team_open_over(team, device, world, TRANSPORT_AUTO, 0, err);
}

enum status team_open_over(struct rank_team *team, struct device *device, struct world *world,
			   enum transport transport, int multiprocessors, struct error *err)
{
	*team = (struct rank_team){ .device = device,
				    .world = world,
				    .multiprocessors = multiprocessors };
	return team_open_rest(team, transport, err);
}

enum status team_open_rest(struct rank_team *team, enum transport transport, struct error *err)
{
	struct world *world = team->world;
	enum status status = STATUS_OK;

	for (int i = 0; i < STREAM_COUNT && status == STATUS_OK; i++)
		if (!team->streams[i])
			status = backend_stream_create(team->device, i != STREAM_COMPUTE,
						       &team->streams[i], err);
	status = world_agree(world, status, err);
	if (status != STATUS_OK || world->size == 1 || team->all)
		return status;
	return team_open_world(team, transport, err);
}

static void rank_team_close_communicators(struct rank_team *team)
{
	team_close_edges(team);
	backend_communicator_close(team->tensor);
	backend_communicator_close(team->data);
	backend_communicator_close(team->all);
	team->tensor = team->data = team->all = NULL;
}

void team_abandon(struct rank_team *team)
{
	struct communicator *each[] = { team->all,
					team->previous,
					team->next,
					team->previous_gradients,
					team->next_gradients,
					team->tensor,
					team->data };

	for (size_t i = 0; i < ARRAY_SIZE(each); i++)
		if (each[i])
			each[i]->abandoned = true;
	rank_team_close_communicators(team);
}

void team_close(struct rank_team *team)
{
	struct error ignored = ERROR_NONE;

	if (team->scratch)
		backend_memory_free(team->device, ALLOCATOR_DEVICE, team->scratch, SCRATCH_BYTES,
				    NULL, &ignored);
	team->scratch = NULL;
	rank_team_close_communicators(team);
	for (int i = 0; i < STREAM_COUNT; i++)
		backend_stream_destroy(team->streams[i]);
	free(team->gemm_cache);
	*team = (struct rank_team){ 0 };
}

enum status team_phase(struct rank_team *team, const char *name, struct error *err)
{
	return phases_next(team->phases, team->world, name, err);
}

enum status team_open_events(struct rank_team *team, struct event **events, size_t count,
			     struct error *err)
{
	for (size_t i = 0; i < count && err->status == STATUS_OK; i++)
		backend_event_create(team->device, &events[i], err);
	return err->status;
}

void team_close_events(struct event **events, size_t count)
{
	for (size_t i = 0; i < count; i++)
		backend_event_destroy(events[i]);
}

enum status team_follow(struct stream *leader, struct event *event, struct stream *follower,
			struct error *err)
{
	if (err->status != STATUS_OK || backend_event_record(event, leader, err) != STATUS_OK)
		return err->status;
	return backend_stream_wait(follower, event, err);
}

enum status team_synchronize(struct rank_team *team, struct error *err)
{
	for (int i = 0; i < STREAM_COUNT; i++)
		if (backend_stream_synchronize(team->streams[i], err) != STATUS_OK)
			return err->status;
	return STATUS_OK;
}

static enum status rank_team_move_piece(struct rank_team *team, int source, const void *from,
					void *to, uint64_t bytes, struct error *err)
{
	struct stream *stream = team->streams[STREAM_COMPUTE];

	if (team->world->rank == source && source == 0)
		return backend_copy(stream, to, from, bytes, err);
	if (team->world->rank == source)
		return backend_send(team->all, stream, from, bytes, 0, err);
	return backend_receive(team->all, stream, to, bytes, source, err);
}

enum status team_collect(struct rank_team *team, int source, const void *from, void *to,
			 uint64_t bytes, struct error *err)
{
	if (team->world->rank != source && team->world->rank != 0)
		return STATUS_OK;
	for (uint64_t done = 0; done < bytes; done += PIECE_BYTES) {
		uint64_t piece = bytes - done < PIECE_BYTES ? bytes - done : PIECE_BYTES;

		if (rank_team_move_piece(team, source, (const char *)from + done, (char *)to + done,
					 piece, err) != STATUS_OK)
			return err->status;
	}
	return backend_stream_synchronize(team->streams[STREAM_COMPUTE], err);
}

enum status team_fetch(struct rank_team *team, void *to, const void *from, uint64_t bytes,
		       struct error *err)
{
	if (backend_copy(team->streams[STREAM_COMPUTE], to, from, bytes, err) != STATUS_OK)
		return err->status;
	return backend_stream_synchronize(team->streams[STREAM_COMPUTE], err);
}

static enum status team_open_scratch(struct rank_team *team, struct error *err)
{
	return team->scratch ? STATUS_OK
			     : backend_memory_alloc(team->device, ALLOCATOR_DEVICE, SCRATCH_BYTES,
						    NULL, &team->scratch, err);
}

enum status team_checksum(struct rank_team *team, const void *memory, uint64_t bytes, uint64_t *sum,
			  struct error *err)
{
	struct stream *stream = team->streams[STREAM_COMPUTE];
	struct checksum_arguments checksum = { .memory = memory, .bytes = bytes };

	if (team_open_scratch(team, err) != STATUS_OK)
		return err->status;
	checksum.out = team->scratch;
	if (backend_memory_set(stream, team->scratch, 0, sizeof(*sum), err) != STATUS_OK ||
	    backend_launch(stream, "checksum", &checksum, err) != STATUS_OK)
		return err->status;
	return team_fetch(team, sum, team->scratch, sizeof(*sum), err);
}

enum status team_difference(struct rank_team *team, struct difference_arguments *a,
			    struct difference_part *sum, struct error *err)
{
	struct difference_part *parts;

	*sum = (struct difference_part){ 0, 0 };
	if (team_open_scratch(team, err) != STATUS_OK)
		return err->status;
	a->parts = team->scratch;
	parts = xmalloc(SCRATCH_BYTES);
	if (backend_launch(team->streams[STREAM_COMPUTE], "difference", a, err) == STATUS_OK &&
	    team_fetch(team, parts, team->scratch, SCRATCH_BYTES, err) == STATUS_OK)
		for (int i = 0; i < DIFFERENCE_PARTS; i++) {
			sum->difference += parts[i].difference;
			sum->expected += parts[i].expected;
		}
	free(parts);
	return err->status;
}
