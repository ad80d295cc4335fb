#include "suites/training/parallel/ranks/team.h"

#include <stdlib.h>

#include "base/memory.h"
#include "device/ranks/relay.h"
#include "suites/shared/buffers.h"
#include "suites/shared/ranks/communicators.h"
#include "suites/training/models/network.h"

/* One send, or one copy to the host, at a time: keeps the staging buffers of libraries small. */
#define PIECE_BYTES (UINT64_C(64) << 20)
#define SCRATCH_BYTES (DIFFERENCE_PARTS * sizeof(struct difference_part))

enum status rank_team_open(struct rank_team *team, struct device *device, struct world *world,
			   struct error *err)
{
	return rank_team_open_over(team, device, world, TRANSPORT_AUTO, 0, err);
}

enum status rank_team_open_over(struct rank_team *team, struct device *device, struct world *world,
				enum transport transport, int multiprocessors, struct error *err)
{
	*team = (struct rank_team){ .device = device,
				    .world = world,
				    .multiprocessors = multiprocessors };
	return rank_team_open_rest(team, transport, err);
}

/* Free device memory; 0 if it is the machine's memory, which other processes use as well. */
static uint64_t rank_team_groups_free_memory(struct device *device)
{
	struct error ignored = ERROR_NONE;
	uint64_t free_bytes = 0, total = 0;

	if (device->info.capabilities & DEVICE_SHARES_HOST_MEMORY)
		return 0;
	backend_device_memory(device, &free_bytes, &total, &ignored);
	return free_bytes;
}

/* Opens team->all, which determines the transport. */
static enum status rank_team_open_world(struct rank_team *team, enum transport transport,
					struct error *err)
{
	uint64_t before = rank_team_groups_free_memory(team->device), after;
	const struct communicator_options options = { .transport = transport,
						      .multiprocessors = team->multiprocessors };
	enum status status = communicators_join_parts(team->device, team->world, &options, NULL,
						      &team->all, err);

	if (status != STATUS_OK)
		return status;
	after = rank_team_groups_free_memory(team->device);
	team->communicator_bytes += before > after ? before - after : 0;
	team->transport = team->all->transport;
	return STATUS_OK;
}

enum status rank_team_open_rest(struct rank_team *team, enum transport transport, struct error *err)
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
	return rank_team_open_world(team, transport, err);
}

static void rank_team_groups_close_edge(const struct rank_team *team, struct communicator **back,
					struct communicator **edge)
{
	if (*back != *edge)
		backend_communicator_close(*back);
	if (*edge != team->all)
		backend_communicator_close(*edge);
	*back = *edge = NULL;
}

static void rank_team_close_edges(struct rank_team *team)
{
	rank_team_groups_close_edge(team, &team->previous_gradients, &team->previous);
	rank_team_groups_close_edge(team, &team->next_gradients, &team->next);
}

static void rank_team_close_communicators(struct rank_team *team)
{
	rank_team_close_edges(team);
	backend_communicator_close(team->tensor);
	backend_communicator_close(team->data);
	backend_communicator_close(team->all);
	team->tensor = team->data = team->all = NULL;
}

void rank_team_abandon(struct rank_team *team)
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

void rank_team_close(struct rank_team *team)
{
	struct error ignored = ERROR_NONE;

	if (team->scratch)
		backend_memory_free(team->device, ALLOCATOR_DEVICE, team->scratch, SCRATCH_BYTES,
				    NULL, &ignored);
	team->scratch = NULL;
	rank_team_close_communicators(team);
	convolve_tuning_cache_free(team->tuning_cache);
	for (int i = 0; i < STREAM_COUNT; i++)
		backend_stream_destroy(team->streams[i]);
	*team = (struct rank_team){ 0 };
}

enum status rank_team_phase(struct rank_team *team, const char *name, struct error *err)
{
	return err->status == STATUS_OK ? phases_next(team->phases, team->world, name, err)
					: err->status;
}

enum status rank_team_open_events(struct rank_team *team, struct event **events, size_t count,
				  struct error *err)
{
	for (size_t i = 0; i < count && err->status == STATUS_OK; i++)
		backend_event_create(team->device, &events[i], err);
	return err->status;
}

void rank_team_close_events(struct event **events, size_t count)
{
	for (size_t i = 0; i < count; i++)
		backend_event_destroy(events[i]);
}

enum status rank_team_follow(struct stream *leader, struct event *event, struct stream *follower,
			     struct error *err)
{
	if (err->status != STATUS_OK || backend_event_record(event, leader, err) != STATUS_OK)
		return err->status;
	return backend_stream_wait(follower, event, err);
}

enum status rank_team_synchronize(struct rank_team *team, struct error *err)
{
	for (int i = 0; i < STREAM_COUNT; i++)
		if (backend_stream_synchronize(team->streams[i], err) != STATUS_OK)
			return err->status;
	return STATUS_OK;
}

enum status rank_team_collect(struct rank_team *team, int source, const void *from, void *to,
			      uint64_t bytes, struct error *err)
{
	struct stream *stream = team->streams[STREAM_COMPUTE];

	if (team->world->rank != source && team->world->rank != 0)
		return STATUS_OK;
	for (uint64_t done = 0; done < bytes && err->status == STATUS_OK; done += PIECE_BYTES) {
		uint64_t piece = bytes - done < PIECE_BYTES ? bytes - done : PIECE_BYTES;
		const char *sent = (const char *)from + done;
		char *received = (char *)to + done;

		if (team->world->rank == source && source == 0)
			backend_copy(stream, received, sent, piece, err);
		else if (team->world->rank == source)
			backend_send(team->all, stream, sent, piece, 0, err);
		else
			backend_receive(team->all, stream, received, piece, source, err);
	}
	if (err->status != STATUS_OK)
		return err->status;
	return backend_stream_synchronize(stream, err);
}

enum status rank_team_fetch(struct rank_team *team, void *to, const void *from, uint64_t bytes,
			    struct error *err)
{
	if (backend_copy(team->streams[STREAM_COMPUTE], to, from, bytes, err) != STATUS_OK)
		return err->status;
	return backend_stream_synchronize(team->streams[STREAM_COMPUTE], err);
}

static enum status rank_team_open_scratch(struct rank_team *team, struct error *err)
{
	return team->scratch ? STATUS_OK
			     : backend_memory_alloc(team->device, ALLOCATOR_DEVICE, SCRATCH_BYTES,
						    NULL, &team->scratch, err);
}

enum status rank_team_checksum(struct rank_team *team, const void *memory, uint64_t bytes,
			       uint64_t *sum, struct error *err)
{
	struct stream *stream = team->streams[STREAM_COMPUTE];
	struct checksum_arguments checksum = { .memory = memory, .bytes = bytes };

	if (rank_team_open_scratch(team, err) != STATUS_OK)
		return err->status;
	checksum.out = team->scratch;
	if (backend_memory_set(stream, team->scratch, 0, sizeof(*sum), err) != STATUS_OK ||
	    backend_launch(stream, "checksum", &checksum, err) != STATUS_OK)
		return err->status;
	return rank_team_fetch(team, sum, team->scratch, sizeof(*sum), err);
}

enum status rank_team_difference(struct rank_team *team, struct difference_arguments *a,
				 struct difference_part *sum, struct error *err)
{
	if (rank_team_open_scratch(team, err) != STATUS_OK)
		return err->status;
	a->parts = team->scratch;
	return buffer_difference(team->streams[STREAM_COMPUTE], a, sum, err);
}

/* Connections between some of the ranks: groups, and neighbours in a pipeline. */

/*
 * Opens a communicator for each group, all at the same time. After a failure *out is NULL or must
 * still be closed.
 */
static enum status rank_team_open_group(struct rank_team *team, const struct team_group *group,
					struct communicator **out, struct error *err)
{
	struct communicator_id id = { { 0 } }, *ids;
	int mine[2] = { group->id, group->index }, (*all)[2];
	enum status status = STATUS_OK;

	*out = NULL;
	if (group->id >= 0 && group->index == 0)
		status = transport_id(team->device, group->transport, &id, err);
	if (world_agree(team->world, status, err) != STATUS_OK)
		return err->status;
	all = xcalloc((size_t)team->world->size, sizeof(*all));
	ids = xcalloc((size_t)team->world->size, sizeof(*ids));
	world_gather(team->world, mine, all, sizeof(mine));
	world_gather(team->world, &id, ids, sizeof(id));
	for (int rank = 0; rank < team->world->size && group->id >= 0; rank++)
		if (all[rank][0] == group->id && all[rank][1] == 0)
			id = ids[rank];
	free(all);
	free(ids);
	if (group->id >= 0) {
		const struct communicator_options options = { .transport = group->transport,
							      .multiprocessors =
								      group->multiprocessors };
		uint64_t before = rank_team_groups_free_memory(team->device), after;

		status = backend_communicator_open(team->device, &options, &id, group->index,
						   group->size, out, err);
		after = rank_team_groups_free_memory(team->device);
		team->communicator_bytes += before > after ? before - after : 0;
	}
	return communicators_join_agree(team->world, status, *out, err);
}

enum status rank_team_open_grid(struct rank_team *team, const struct setup *setup,
				struct error *err)
{
	bool limited = setup->collective_multiprocessors >= 0;
	struct grid grid = model_setup_grid_of(setup);
	struct grid_place place = model_setup_grid_place(setup, team->world->rank);
	struct grid_place first_part = { .data = place.data, .stage = place.stage },
			  first_replica = { .stage = place.stage, .part = place.part };
	struct team_group parts = { .id = model_setup_grid_rank(setup, first_part),
				    .index = place.part,
				    .size = grid.tensor,
				    .transport = team->transport,
				    .multiprocessors = limited ? team->multiprocessors : 0 };
	struct team_group replicas = { .id = model_setup_grid_rank(setup, first_replica),
				       .index = place.data,
				       .size = grid.data,
				       .transport = team->transport,
				       .multiprocessors = team->multiprocessors };

	if (grid.tensor > 1 && !team->tensor &&
	    rank_team_open_group(team, &parts, &team->tensor, err) != STATUS_OK)
		return err->status;
	return grid.data > 1 && !team->data
		       ? rank_team_open_group(team, &replicas, &team->data, err)
		       : STATUS_OK;
}

/* Opens the edges between stages low and low + 1, for all even or all odd `low`. */
static enum status rank_team_groups_open_pairs(struct rank_team *team, const struct setup *setup,
					       int odd, struct communicator **up,
					       struct communicator **down, struct error *err)
{
	int stages = model_setup_grid_of(setup).pipeline;
	struct grid_place place = model_setup_grid_place(setup, team->world->rank), low = place;
	bool is_low = place.stage % 2 == odd;
	bool there = is_low ? place.stage + 1 < stages : place.stage > 0;
	struct team_group pair = { .index = is_low ? 0 : 1,
				   .size = 2,
				   .transport = team->edges,
				   .multiprocessors = team->multiprocessors };
	struct communicator *opened;
	enum status status;

	if (!is_low)
		low.stage--;
	pair.id = there ? model_setup_grid_rank(setup, low) : -1;
	status = rank_team_open_group(team, &pair, &opened, err);
	if (there)
		*(is_low ? down : up) = opened;
	return status;
}

static enum status rank_team_groups_open_all_pairs(struct rank_team *team,
						   const struct setup *setup,
						   struct communicator **up,
						   struct communicator **down, struct error *err)
{
	if (rank_team_groups_open_pairs(team, setup, 0, up, down, err) != STATUS_OK ||
	    model_setup_grid_of(setup).pipeline == 2)
		return err->status;
	return rank_team_groups_open_pairs(team, setup, 1, up, down, err);
}

/* This rank's device and the devices of the previous and the next stage. */
static struct device_set rank_team_stage_neighbours(struct rank_team *team,
						    const struct setup *setup)
{
	struct grid_place mine = model_setup_grid_place(setup, team->world->rank);
	struct device_address *all = communicators_join_addresses(team->device, team->world);
	struct device_set devices = { 0 };

	for (int stage = mine.stage - 1; stage <= mine.stage + 1; stage++) {
		struct grid_place other = { .data = mine.data, .stage = stage, .part = mine.part };

		if (stage >= 0 && stage < model_setup_grid_of(setup).pipeline)
			device_set_add(&devices, all[model_setup_grid_rank(setup, other)]);
	}
	free(all);
	return devices;
}

static enum transport rank_team_groups_edges_transport(struct rank_team *team,
						       const struct setup *setup)
{
	struct error ignored = ERROR_NONE;
	struct device_set devices = rank_team_stage_neighbours(team, setup);
	enum status status = STATUS_UNSUPPORTED;

	if (setup->transport != TRANSPORT_AUTO || !team->device->backend->transport_usable)
		return device_set_release(&devices), team->transport;
	status = backend_transport_usable(team->device, TRANSPORT_PEER_COPY, &devices, &ignored);
	device_set_release(&devices);
	return world_agree(team->world, status, &ignored) == STATUS_OK ? TRANSPORT_PEER_COPY
								       : team->transport;
}

static enum status rank_team_groups_open_edges(struct rank_team *team, const struct setup *setup,
					       bool bidirectional, struct error *err)
{
	bool open = team->previous || team->next,
	     back = team->previous_gradients != team->previous ||
		    team->next_gradients != team->next;

	/* With two ranks in total, the communicator of all ranks is their edge. */
	if (!open && model_setup_grid_of(setup).pipeline == 2 && team->world->size == 2 &&
	    team->edges == team->transport)
		*(team->world->rank == 0 ? &team->next : &team->previous) = team->all;
	else if (!open && rank_team_groups_open_all_pairs(team, setup, &team->previous, &team->next,
							  err) != STATUS_OK)
		return err->status;
	if (bidirectional && !(open && back))
		return rank_team_groups_open_all_pairs(team, setup, &team->previous_gradients,
						       &team->next_gradients, err);
	if (!open) {
		team->previous_gradients = team->previous;
		team->next_gradients = team->next;
	}
	return STATUS_OK;
}

enum status rank_team_open_edges(struct rank_team *team, const struct setup *setup,
				 bool bidirectional, struct error *err)
{
	enum status status;

	if (model_setup_grid_of(setup).pipeline == 1)
		return STATUS_OK;
	if (!team->previous && !team->next)
		team->edges = rank_team_groups_edges_transport(team, setup);
	status = rank_team_groups_open_edges(team, setup, bidirectional, err);
	if (status != STATUS_UNSUPPORTED || team->edges == team->transport)
		return status;
	/* Only now does a refusal by the driver or a container show. */
	error_clear(err);
	rank_team_close_edges(team);
	team->edges = team->transport;
	return rank_team_groups_open_edges(team, setup, bidirectional, err);
}

uint64_t rank_team_commands(const struct rank_team *team)
{
	const struct communicator *each[] = {
		team->all,
		team->previous != team->all ? team->previous : NULL,
		team->next != team->all ? team->next : NULL,
		team->previous_gradients != team->previous ? team->previous_gradients : NULL,
		team->next_gradients != team->next ? team->next_gradients : NULL,
		team->tensor,
		team->data
	};
	uint64_t pieces = 0;

	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++)
		pieces += each[i] ? relay_pieces(each[i]) : 0;
	return pieces * RELAY_COMMANDS;
}
