/*
 * Transports of the fake backend: `nccl` is the host's collectives, refused before compute
 * capability 5.0 as by NCCL 2.28; `peer_copy` and `host_copy` are the relay over the host's
 * messages. Time passes with what each rank puts.
 */
#include "device/host/ranks/communicator.h"
#include "device/ranks/relay.h"
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

static enum status fake_push(struct communicator *communicator, struct stream *stream, int peer,
			     const void *from, size_t bytes, struct error *err)
{
	CALL("push");
	pass(stream, (double)bytes / FAKE_BANDWIDTH);
	return host_transport_ops.push(communicator, host(stream), peer, from, bytes, err);
}

static enum status fake_pull(struct communicator *communicator, struct stream *stream, int peer,
			     void *to, size_t bytes, struct error *err)
{
	CALL("pull");
	pass(stream, 0);
	return host_transport_ops.pull(communicator, host(stream), peer, to, bytes, err);
}

static enum status fake_pull_reduce(struct communicator *communicator, struct stream *stream,
				    int peer, const struct relay_sum *sum, struct error *err)
{
	CALL("pull_reduce");
	pass(stream, 0);
	return host_transport_ops.pull_reduce(communicator, host(stream), peer, sum, err);
}

static const struct transport_ops ops = { .push = fake_push,
					  .pull = fake_pull,
					  .pull_reduce = fake_pull_reduce };

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
			status = host_communicator_relay_open(*out, &ops, err);
			(*out)->operations = NULL;
			(*out)->transport = TRANSPORT_SHARED_MEMORY;
		}
		fake_nested--;
	}
	if (status == STATUS_OK && relayed)
		status = host_communicator_relay_open(*out, &ops, err);
	if (status == STATUS_OK && options->transport != TRANSPORT_AUTO)
		(*out)->transport = options->transport;
	else if (status != STATUS_OK && *out)
		HOST->communicator_close(*out);
	*out = status == STATUS_OK ? *out : NULL;
	return status;
}
