/* The CUDA backend's table: what each operation is, is in the other files. */
#include "device/cuda/cuda_backend.h"

#include <string.h>

#include "base/memory.h"

#define KERNEL_HOST(name)
#define KERNEL_CUDA(name) KERNEL(name)

#define KERNEL(name) kernel_fn kernel_cuda_##name;
#include "kernels/kernels.def"
#undef KERNEL

static const struct {
	const char *name;
	kernel_fn *launch;
} kernels[] = {
#define KERNEL(name) { #name, kernel_cuda_##name },
#include "kernels/kernels.def"
#undef KERNEL
};

static kernel_fn *kernel_by_name(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(kernels); i++)
		if (strcmp(kernels[i].name, name) == 0)
			return kernels[i].launch;
	return NULL;
}

static enum status backend_open(const struct backend_options *options, struct error *err)
{
	return cuda_devices_find(options ? options->emulate_capability : 0, err);
}

/* The context ends with the process, which is a worker's: short-lived. */
static void backend_close(void)
{
}

extern const struct backend gpuproof_backend;
__attribute__((visibility("default"))) const struct backend gpuproof_backend = {
	.abi = BACKEND_ABI,
	.name = "cuda",
	.module = GPUPROOF_CUDA_MODULE,

	.open = backend_open,
	.close = backend_close,
	.device_count = cuda_device_count,
	.device_info = cuda_device_info,
	.facts = cuda_facts,
	.components = cuda_components,
	.findings = cuda_findings,

	.device_open = cuda_device_open,
	.device_close = cuda_device_close,
	.device_synchronize = cuda_device_synchronize,
	.device_memory = cuda_device_memory,
	.peer_access = cuda_peer_access,
	.telemetry = cuda_telemetry,

	.memory_alloc = cuda_memory_alloc,
	.memory_free = cuda_memory_free,
	.memory_trim = cuda_memory_trim,
	.memory_granularity = cuda_memory_granularity,
	.range_reserve = cuda_range_reserve,
	.range_map = cuda_range_map,
	.range_release = cuda_range_release,

	.stream_create = cuda_stream_create,
	.stream_destroy = cuda_stream_destroy,
	.stream_synchronize = cuda_stream_synchronize,
	.stream_wait = cuda_stream_wait,
	.event_create = cuda_event_create,
	.event_destroy = cuda_event_destroy,
	.event_record = cuda_event_record,
	.event_synchronize = cuda_event_synchronize,
	.event_elapsed = cuda_event_elapsed,
	.gate_close = cuda_gate_close,
	.gate_open = cuda_gate_open,

	.copy = cuda_copy,
	.copy_peer = cuda_copy_peer,
	.copy_rows = cuda_copy_rows,
	.memory_set = cuda_memory_set,
	.gemm = cuda_gemm,
	.gemm_workspace = cuda_gemm_workspace,
	.gemm_search = cuda_gemm_search,
	.kernel = kernel_by_name,
	.host_callback = cuda_host_callback,
	.graph_begin = cuda_graph_begin,
	.graph_end = cuda_graph_end,
	.graph_launch = cuda_graph_launch,
	.graph_destroy = cuda_graph_destroy,
	.telemetry_quick = cuda_telemetry_quick,
	.link_errors = cuda_link_errors,
	.communicator_open_within = cuda_communicator_open_within,
	.memory_view = cuda_memory_view,
	.drives = cuda_drives,
	.paths = cuda_paths,

	.communicator_id = cuda_communicator_id,
	.communicator_open = cuda_communicator_open,
	.communicator_close = cuda_communicator_close,
	.all_reduce = cuda_all_reduce,
	.broadcast = cuda_broadcast,
	.send = cuda_send,
	.receive = cuda_receive,
	.group_begin = cuda_group_begin,
	.group_end = cuda_group_end,
	.all_gather = cuda_all_gather,
	.reduce_scatter = cuda_reduce_scatter,
	.reduce = cuda_reduce,
	.all_to_all = cuda_all_to_all,
	.transport_usable = cuda_transport_usable,
	.communicator_open_over = cuda_communicator_open_over,
};
