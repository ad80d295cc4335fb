/*
 * Transport of messages between the stages of a pipeline: copies into the neighbour's memory where
 * a case leaves the choice and all neighbours can, else the transport of all ranks; also where that
 * shows only when they are opened.
 */
#include "parallel_setups.h"

#include <stdlib.h>

#include "base/memory.h"

enum ability { ALL_CAN, ONE_CANNOT, ONE_IS_REFUSED };

struct edges {
	struct setup setup;
	enum ability ability;
	enum transport expected;
};

static const struct edges *edges;
static const struct backend *sound;
static int rank, opened, closed; /* of copies */

/* The host's copies pass for those between GPUs. */
static enum status may_copy(struct device *device, enum transport transport,
			    const struct device_set *devices, struct error *err)
{
	if (transport != TRANSPORT_PEER_COPY)
		return sound->transport_usable(device, transport, devices, err);
	/* Ranks 0, 1 and 2 are in a row. */
	for (int i = 0; i < 3; i++)
		if (device_set_has(devices, (struct device_address){ 0, i }) !=
		    (abs(i - rank) <= 1))
			return error_set(err, STATUS_INTERNAL, "rank %d: neighbour %d", rank, i);
	return edges->ability == ONE_CANNOT && rank == 1
		       ? error_set(err, STATUS_UNSUPPORTED, "no access")
		       : STATUS_OK;
}

static enum status open_over(struct device *device, const struct communicator_options *asked,
			     const struct communicator_id *id, int index, int size,
			     struct communicator **out, struct error *err)
{
	struct communicator_options options = *asked;
	bool copies = asked->transport == TRANSPORT_PEER_COPY;
	enum status status;

	options.transport = copies ? TRANSPORT_HOST_COPY : asked->transport;
	status = sound->communicator_open(device, &options, id, index, size, out, err);
	opened += copies && status == STATUS_OK;
	if (!copies || status != STATUS_OK || edges->ability != ONE_IS_REFUSED || rank != 1)
		return status;
	closed++;
	sound->communicator_close(*out);
	*out = NULL;
	return error_set(err, STATUS_UNSUPPORTED, "the driver refuses");
}

static void close_one(struct communicator *communicator)
{
	closed += communicator->transport == TRANSPORT_HOST_COPY;
	sound->communicator_close(communicator);
}

static enum status run_edges(struct device *device, struct world *world, void *context,
			     struct error *err)
{
	static struct backend able;
	struct verify_check check = { 0 };
	struct rank_team team;
	enum status status;

	edges = context;
	rank = world->rank;
	sound = device->backend;
	able = *sound;
	able.transport_usable = may_copy;
	able.communicator_open = open_over;
	able.communicator_close = close_one;
	device->backend = &able;
	status = rank_team_open_over(&team, device, world, edges->setup.transport, 0, err);
	if (status == STATUS_OK)
		status = verify_reference(&edges->setup, &team, &check, err);
	if (status == STATUS_OK &&
	    (team.transport != TRANSPORT_SHARED_MEMORY || team.edges != edges->expected))
		status = error_set(err, STATUS_MISMATCH, "over %s, between stages %s",
				   transport_names[team.transport], transport_names[team.edges]);
	rank_team_close(&team);
	if (status == STATUS_OK && opened != closed)
		status = error_set(err, STATUS_MISMATCH, "%d opened, %d closed", opened, closed);
	return world_agree(world, status, err);
}

static void expect(const char *mode, enum transport asked, enum ability ability,
		   enum transport expected)
{
	struct edges e = { tiny(mode, 3, PRECISION_FP64), ability, expected };

	e.setup.microbatches = 4;
	e.setup.transport = asked;
	e.setup.grid = (struct grid){ 1, 1, 3 };
	assert_ranks(run_ranks(3, run_edges, &e), 3, STATUS_OK, mode);
}

static void stages_copy_where_all_neighbours_can(void **state)
{
	static const char *const names[] = { "1f1b", "gpipe", "layer_split", "hybrid" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		expect(names[i], TRANSPORT_AUTO, ALL_CAN, TRANSPORT_PEER_COPY);
		expect(names[i], TRANSPORT_AUTO, ONE_CANNOT, TRANSPORT_SHARED_MEMORY);
		expect(names[i], TRANSPORT_AUTO, ONE_IS_REFUSED, TRANSPORT_SHARED_MEMORY);
		expect(names[i], TRANSPORT_SHARED_MEMORY, ALL_CAN, TRANSPORT_SHARED_MEMORY);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stages_copy_where_all_neighbours_can),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
