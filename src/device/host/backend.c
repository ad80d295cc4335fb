/* The host backend: devices that are shares of the CPU, and the table of what they can do. */
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "device/host/communicator.h"
#include "device/limits.h"
#include "device/host/stream.h"

static enum status host_open(const struct backend_options *options, struct error *err)
{
	return shares_open(options ? options->host_devices : 0, err);
}

static enum status host_device_info(int index, struct device_info *out, struct error *err)
{
	const struct share *share = shares_get(index);
	int count = shares_count();

	if (!share)
		return error_set(err, STATUS_USAGE,
				 "there is no device host:%d; the CPU is cut into %d", index,
				 count);
	*out = (struct device_info){
		.backend = "host",
		.module = "built-in",
		.index = index,
		.multiprocessors = share->cores,
		.memory_bytes = share->memory_bytes,
		.memory_free_bytes = limits_memory_available() / (uint64_t)count,
		.l2_bytes = share->cache_bytes,
		.clock_hz = share_clock_hz(share),
		.ecc = -1,
		.numa_node = share->numa_node,
		.capabilities = DEVICE_HAS_FP64 | DEVICE_HAS_FP32 | DEVICE_HAS_FP16 |
				DEVICE_HAS_BF16 | DEVICE_HAS_COLLECTIVES |
				DEVICE_SHARES_HOST_MEMORY,
		.peer_mask = count < 64 ? (UINT64_C(1) << count) - 1 : UINT64_MAX,
	};
	snprintf(out->id, sizeof(out->id), "host:%d", index);
	snprintf(out->name, sizeof(out->name), "%s", share_cpu_name());
	return STATUS_OK;
}

static enum status host_device_open(int index, struct device **out, struct error *err)
{
	struct host_device *device = xcalloc(1, sizeof(*device));
	enum status status = host_device_info(index, &device->base.info, err);

	if (status != STATUS_OK) {
		free(device);
		return status;
	}
	device->base.backend = &backend_host;
	device->share = shares_get(index);
	device->machine_bytes = limits_memory_total();
	*out = &device->base;
	return STATUS_OK;
}

static void host_device_close(struct device *device)
{
	if (!device)
		return;
	while (host_device(device)->streams)
		host_stream_destroy(&host_device(device)->streams->base);
	free(device);
}

/* All memory is one: access to a peer's cannot be switched off. */
static enum status host_peer_access(struct device *device, struct device *peer, bool enable,
				    struct error *err)
{
	(void)device;
	(void)peer;
	if (enable)
		return STATUS_OK;
	return error_set(err, STATUS_UNSUPPORTED,
			 "on the CPU every device reaches all memory: "
			 "peer access is always on");
}

const struct backend backend_host = {
	.abi = BACKEND_ABI,
	.name = "host",
	.module = "built-in",
	.open = host_open,
	.close = shares_close,
	.device_count = shares_count,
	.device_info = host_device_info,
	.facts = host_facts,
	.components = host_components,
	.device_open = host_device_open,
	.device_close = host_device_close,
	.device_synchronize = host_device_synchronize,
	.device_memory = host_device_memory,
	.peer_access = host_peer_access,
	.telemetry = host_telemetry,
	.memory_alloc = host_memory_alloc,
	.memory_free = host_memory_free,
	.memory_trim = host_memory_trim,
	.memory_granularity = host_memory_granularity,
	.range_reserve = host_range_reserve,
	.range_map = host_range_map,
	.range_release = host_range_release,
	.stream_create = host_stream_create,
	.stream_destroy = host_stream_destroy,
	.stream_synchronize = host_stream_synchronize,
	.stream_wait = host_stream_wait,
	.event_create = host_event_create,
	.event_destroy = host_event_destroy,
	.event_record = host_event_record,
	.event_synchronize = host_event_synchronize,
	.event_elapsed = host_event_elapsed,
	.gate_close = host_gate_close,
	.gate_open = host_gate_open,
	.copy = host_copy,
	.copy_peer = host_copy_peer,
	.copy_rows = host_copy_rows,
	.memory_set = host_memory_set,
	.gemm = host_gemm,
	.gemm_workspace = host_gemm_workspace,
	.kernel = host_kernel,
	.host_callback = host_callback,
	.graph_begin = host_graph_begin,
	.graph_end = host_graph_end,
	.graph_launch = host_graph_launch,
	.graph_destroy = host_graph_destroy,
	.telemetry_quick = host_telemetry,
	.memory_view = host_memory_view,
	.communicator_id = host_communicator_id,
	.communicator_open = host_communicator_open,
	.communicator_close = host_communicator_close,
	.all_reduce = host_all_reduce,
	.broadcast = host_broadcast,
	.send = host_send,
	.receive = host_receive,
	.group_begin = host_group_begin,
	.group_end = host_group_end,
	.all_gather = host_all_gather,
	.reduce_scatter = host_reduce_scatter,
	.reduce = host_reduce,
	.all_to_all = host_all_to_all,
	.transport_usable = host_transport_usable,
	.communicator_open_over = host_communicator_open_over,
};
