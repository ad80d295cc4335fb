#include "suites/shared/communicators.h"

#include <stdlib.h>

#include "base/memory.h"

enum status join_agree(struct world *world, enum status mine, struct communicator *opened,
		       struct error *err)
{
	enum status status = world_agree(world, mine, err);

	if (opened && status != STATUS_OK)
		opened->abandoned = true;
	return status;
}

/* Rank 0 makes the id that all need. */
static enum status join_over(struct device *device, struct world *world,
			     const struct communicator_options *options, struct communicator **out,
			     struct error *err)
{
	struct communicator_id id = { { 0 } };
	enum status status = STATUS_OK;

	if (world->rank == 0)
		status = transport_id(device, options->transport, &id, err);
	if (world_agree(world, status, err) != STATUS_OK)
		return err->status;
	world_broadcast(world, 0, &id, sizeof(id));
	status =
		backend_communicator_open(device, options, &id, world->rank, world->size, out, err);
	return join_agree(world, status, *out, err);
}

struct device_address *join_addresses(struct device *device, struct world *world)
{
	struct device_address mine = device_address(&device->info),
			      *all = xcalloc((size_t)world->size, sizeof(*all));

	world_gather(world, &mine, all, sizeof(mine));
	return all;
}

/* The devices of all ranks. */
static struct device_set devices_of(struct device *device, struct world *world)
{
	struct device_address *all = join_addresses(device, world);
	struct device_set devices = { 0 };

	for (int rank = 0; rank < world->size; rank++)
		device_set_add(&devices, all[rank]);
	free(all);
	return devices;
}

static enum status try_over(struct device *device, struct world *world,
			    const struct communicator_options *options, struct communicator **out,
			    struct error *err)
{
	struct device_set devices = devices_of(device, world);
	enum status status = backend_transport_usable(device, options->transport, &devices, err);

	device_set_release(&devices);
	if (world_agree(world, status, err) != STATUS_OK)
		return err->status;
	status = join_over(device, world, options, out, err);
	if (status == STATUS_UNSUPPORTED && *out) {
		backend_communicator_close(*out);
		*out = NULL;
	}
	return status;
}

enum status join_world(struct device *device, struct world *world,
		       const struct communicator_options *options, struct communicator **out,
		       struct error *err)
{
	struct communicator_options tried = *options;
	enum status status = STATUS_UNSUPPORTED;

	*out = NULL;
	if (options->transport != TRANSPORT_AUTO)
		return try_over(device, world, options, out, err);
	if (!device->backend->transport_usable)
		return join_over(device, world, options, out, err);
	for (int t = TRANSPORT_AUTO + 1; t < TRANSPORT_COUNT && status == STATUS_UNSUPPORTED; t++) {
		error_clear(err);
		tried.transport = (enum transport)t;
		status = try_over(device, world, &tried, out, err);
	}
	return status;
}
