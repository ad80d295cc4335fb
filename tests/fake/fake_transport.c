/*
 * Transports of the fake backend: `nccl` is the host's collectives, refused before compute
 * capability 5.0 as by NCCL 2.28; `peer_copy` and `host_copy` are the relay over the host's
 * messages. Time passes with what each rank puts.
 */
#include "device/host/ranks/communicator.h"
#include "fake_device.h"

enum status fake_transport_usable(struct device *device, enum transport transport,
				  const struct device_set *devices, struct error *err)
{
	const struct device_info *info = &device->info;
	int capability = info->capability_major * 10 + info->capability_minor;

	CALL("transport_usable");
	if (transport == TRANSPORT_SHARED_MEMORY)
		return error_set(err, STATUS_UNSUPPORTED,
				 "transport shared_memory works only between CPU devices");
	if (transport == TRANSPORT_NCCL && capability && capability < 50)
		return error_set(err, STATUS_UNSUPPORTED,
				 "NCCL 2.28 has no code for compute capability %d.%d",
				 info->capability_major, info->capability_minor);
	return transport_reaches(device, transport, devices, err);
}

static enum status fake_move(struct communicator *communicator, struct stream *stream,
			     const struct relay_piece *piece, struct error *err)
{
	CALL(piece->is_push ? "push" : piece->sum.count ? "pull_reduce" : "pull");
	pass(stream, piece->is_push ? (double)piece->bytes / FAKE_BANDWIDTH : 0);
	return host_communicator_move(communicator, host(stream), piece, err);
}

enum status fake_communicator_open(struct device *device,
				   const struct communicator_options *options,
				   const struct communicator_id *id, int rank, int size,
				   struct communicator **out, struct error *err)
{
	const struct communicator_options direct = { .transport = TRANSPORT_SHARED_MEMORY };
	bool relayed = options->transport != TRANSPORT_AUTO && options->transport != TRANSPORT_NCCL;
	enum status status = STATUS_OK;

	if (options->transport != TRANSPORT_AUTO)
		status = fake_transport_usable(device, options->transport, NULL, err);
	CALL("communicator_open");
	if (status == STATUS_OK) {
		fake_nested++;
		status = HOST->communicator_open(device, &direct, id, rank, size, out, err);
		if (status == STATUS_OK && !relayed) {
			status = host_communicator_relay_open(*out, fake_move, err);
			(*out)->operations = NULL;
			(*out)->transport = TRANSPORT_SHARED_MEMORY;
		}
		fake_nested--;
	}
	if (status == STATUS_OK && relayed)
		status = host_communicator_relay_open(*out, fake_move, err);
	if (status == STATUS_OK && options->transport != TRANSPORT_AUTO)
		(*out)->transport = options->transport;
	else if (status != STATUS_OK && *out)
		HOST->communicator_close(*out);
	*out = status == STATUS_OK ? *out : NULL;
	return status;
}
