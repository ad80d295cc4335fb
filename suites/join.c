#include "suites/join.h"

enum status join_open(struct device *device, enum transport transport,
		      const struct communicator_id *id, int rank, int size, int multiprocessors,
		      struct communicator **out, struct error *err)
{
	if (transport == TRANSPORT_AUTO)
		return backend_communicator_open_within(device, id, rank, size, multiprocessors,
							out, err);
	return backend_communicator_open_over(device, transport, id, rank, size, multiprocessors,
					      out, err);
}

enum status join_agree(struct world *world, enum status mine, struct communicator *opened,
		       struct error *err)
{
	enum status status = world_agree(world, mine, err);

	if (opened && status != STATUS_OK)
		opened->abandoned = true;
	return status;
}

/* Rank 0 makes the id that all need. */
static enum status join_over(struct device *device, struct world *world, enum transport transport,
			     int multiprocessors, struct communicator **out, struct error *err)
{
	struct communicator_id id = { { 0 } };
	enum status status = STATUS_OK;

	if (world->rank == 0)
		status = transport_id(device, transport, &id, err);
	if (world_agree(world, status, err) != STATUS_OK)
		return err->status;
	world_broadcast(world, 0, &id, sizeof(id));
	status = join_open(device, transport, &id, world->rank, world->size, multiprocessors, out,
			   err);
	return join_agree(world, status, *out, err);
}

/* Bits of all ranks' devices. */
static uint64_t devices_of(struct device *device, struct world *world)
{
	int mine = device->info.index, all[64];
	uint64_t devices = 0;

	if (world->size > 64)
		return 0;
	world_gather(world, &mine, all, sizeof(mine));
	for (int rank = 0; rank < world->size; rank++)
		devices |= UINT64_C(1) << (all[rank] & 63);
	return devices;
}

static enum status try_over(struct device *device, struct world *world, enum transport transport,
			    int multiprocessors, struct communicator **out, struct error *err)
{
	uint64_t devices = devices_of(device, world);
	enum status status = backend_transport_usable(device, transport, devices, err);

	if (world_agree(world, status, err) != STATUS_OK)
		return err->status;
	status = join_over(device, world, transport, multiprocessors, out, err);
	if (status == STATUS_UNSUPPORTED && *out) {
		backend_communicator_close(*out);
		*out = NULL;
	}
	return status;
}

enum status join_world(struct device *device, struct world *world, enum transport transport,
		       int multiprocessors, struct communicator **out, struct error *err)
{
	enum status status = STATUS_UNSUPPORTED;

	*out = NULL;
	if (!device->backend->communicator_open_over)
		return transport == TRANSPORT_AUTO
			       ? join_over(device, world, transport, multiprocessors, out, err)
			       : backend_missing(device, "communicator_open_over", err);
	if (transport != TRANSPORT_AUTO)
		return try_over(device, world, transport, multiprocessors, out, err);
	for (int t = TRANSPORT_AUTO + 1; t < TRANSPORT_COUNT && status == STATUS_UNSUPPORTED; t++) {
		error_clear(err);
		status = try_over(device, world, (enum transport)t, multiprocessors, out, err);
	}
	return status;
}
