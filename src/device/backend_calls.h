/*
 * How suites call a backend: one inline wrapper per operation, named backend_<operation>,
 * that answers STATUS_UNSUPPORTED where the backend has no such operation. Included by
 * device/backend.h only.
 */
#ifndef GPUPROOF_DEVICE_BACKEND_CALLS_H
#define GPUPROOF_DEVICE_BACKEND_CALLS_H

#include "device/backend.h"

static inline enum status backend_missing(const struct device *device, const char *operation,
					  struct error *err)
{
	return error_set(err, STATUS_UNSUPPORTED, "backend %s has no operation %s", device->backend->name,
			 operation);
}

static inline enum status backend_device_synchronize(struct device *device, struct error *err)
{
	if (!device->backend->device_synchronize)
		return backend_missing(device, "device_synchronize", err);
	return device->backend->device_synchronize(device, err);
}

static inline enum status backend_device_memory(struct device *device, uint64_t *free_bytes,
		uint64_t *total_bytes, struct error *err)
{
	if (!device->backend->device_memory)
		return backend_missing(device, "device_memory", err);
	return device->backend->device_memory(device, free_bytes, total_bytes, err);
}

static inline enum status backend_peer_access(struct device *device, struct device *peer, bool
		enable, struct error *err)
{
	if (!device->backend->peer_access)
		return backend_missing(device, "peer_access", err);
	return device->backend->peer_access(device, peer, enable, err);
}

static inline enum status backend_telemetry(struct device *device, struct telemetry *out, struct
		error *err)
{
	if (!device->backend->telemetry)
		return backend_missing(device, "telemetry", err);
	return device->backend->telemetry(device, out, err);
}

static inline enum status backend_memory_alloc(struct device *device, enum allocator allocator,
		size_t bytes, struct stream *stream, void **out, struct error *err)
{
	if (!device->backend->memory_alloc)
		return backend_missing(device, "memory_alloc", err);
	return device->backend->memory_alloc(device, allocator, bytes, stream, out, err);
}

static inline enum status backend_memory_free(struct device *device, enum allocator allocator,
		void *memory, size_t bytes, struct stream *stream, struct error *err)
{
	if (!device->backend->memory_free)
		return backend_missing(device, "memory_free", err);
	return device->backend->memory_free(device, allocator, memory, bytes, stream, err);
}

static inline enum status backend_memory_trim(struct device *device, struct error *err)
{
	if (!device->backend->memory_trim)
		return backend_missing(device, "memory_trim", err);
	return device->backend->memory_trim(device, err);
}

static inline enum status backend_stream_create(struct device *device, bool high_priority,
		struct stream **out, struct error *err)
{
	if (!device->backend->stream_create)
		return backend_missing(device, "stream_create", err);
	return device->backend->stream_create(device, high_priority, out, err);
}

static inline enum status backend_stream_synchronize(struct stream *stream, struct error *err)
{
	if (!stream->device->backend->stream_synchronize)
		return backend_missing(stream->device, "stream_synchronize", err);
	return stream->device->backend->stream_synchronize(stream, err);
}

static inline enum status backend_stream_wait(struct stream *stream, struct event *event, struct
		error *err)
{
	if (!stream->device->backend->stream_wait)
		return backend_missing(stream->device, "stream_wait", err);
	return stream->device->backend->stream_wait(stream, event, err);
}

static inline enum status backend_event_create(struct device *device, struct event **out, struct
		error *err)
{
	if (!device->backend->event_create)
		return backend_missing(device, "event_create", err);
	return device->backend->event_create(device, out, err);
}

static inline enum status backend_event_record(struct event *event, struct stream *stream,
		struct error *err)
{
	if (!event->device->backend->event_record)
		return backend_missing(event->device, "event_record", err);
	return event->device->backend->event_record(event, stream, err);
}

static inline enum status backend_event_synchronize(struct event *event, struct error *err)
{
	if (!event->device->backend->event_synchronize)
		return backend_missing(event->device, "event_synchronize", err);
	return event->device->backend->event_synchronize(event, err);
}

static inline enum status backend_event_elapsed(struct event *start, struct event *end, double
		*seconds, struct error *err)
{
	if (!start->device->backend->event_elapsed)
		return backend_missing(start->device, "event_elapsed", err);
	return start->device->backend->event_elapsed(start, end, seconds, err);
}

static inline enum status backend_gate_close(struct stream *stream, double timeout_seconds,
		struct error *err)
{
	if (!stream->device->backend->gate_close)
		return backend_missing(stream->device, "gate_close", err);
	return stream->device->backend->gate_close(stream, timeout_seconds, err);
}

static inline enum status backend_gate_open(struct stream *stream, struct error *err)
{
	if (!stream->device->backend->gate_open)
		return backend_missing(stream->device, "gate_open", err);
	return stream->device->backend->gate_open(stream, err);
}

static inline enum status backend_copy(struct stream *stream, void *to, const void *from, size_t
		bytes, struct error *err)
{
	if (!stream->device->backend->copy)
		return backend_missing(stream->device, "copy", err);
	return stream->device->backend->copy(stream, to, from, bytes, err);
}

static inline enum status backend_copy_rows(struct stream *stream, void *to, size_t to_stride,
					    const void *from, size_t from_stride,
					    size_t row_bytes, size_t rows, struct error *err)
{
	if (!stream->device->backend->copy_rows)
		return backend_missing(stream->device, "copy_rows", err);
	return stream->device->backend->copy_rows(stream, to, to_stride, from, from_stride,
						  row_bytes, rows, err);
}

static inline enum status backend_copy_peer(struct stream *stream, void *to, struct device
		*to_device, const void *from, struct device *from_device, size_t bytes, struct error *err)
{
	if (!stream->device->backend->copy_peer)
		return backend_missing(stream->device, "copy_peer", err);
	return stream->device->backend->copy_peer(stream, to, to_device, from, from_device,
			bytes, err);
}

static inline enum status backend_memory_set(struct stream *stream, void *memory, int byte,
		size_t bytes, struct error *err)
{
	if (!stream->device->backend->memory_set)
		return backend_missing(stream->device, "memory_set", err);
	return stream->device->backend->memory_set(stream, memory, byte, bytes, err);
}

static inline enum status backend_gemm(struct stream *stream, const struct gemm *gemm, struct
		error *err)
{
	if (!stream->device->backend->gemm)
		return backend_missing(stream->device, "gemm", err);
	return stream->device->backend->gemm(stream, gemm, err);
}

static inline enum status backend_gemm_search(struct stream *stream, const struct gemm *gemm,
		const struct fastest_rules *rules, struct gemm_choice *out, struct error *err)
{
	if (!stream->device->backend->gemm_search)
		return backend_missing(stream->device, "gemm_search", err);
	return stream->device->backend->gemm_search(stream, gemm, rules, out, err);
}

static inline enum status backend_communicator_open(struct device *device, const struct
		communicator_id *id, int rank, int size, struct communicator **out, struct error *err)
{
	if (!device->backend->communicator_open)
		return backend_missing(device, "communicator_open", err);
	return device->backend->communicator_open(device, id, rank, size, out, err);
}

/* Without a limit where the backend knows none, or multiprocessors is 0. */
static inline enum status backend_communicator_open_within(struct device *device, const struct
		communicator_id *id, int rank, int size, int multiprocessors, struct communicator
		**out, struct error *err)
{
	if (multiprocessors <= 0 || !device->backend->communicator_open_within)
		return backend_communicator_open(device, id, rank, size, out, err);
	return device->backend->communicator_open_within(device, id, rank, size,
			multiprocessors, out, err);
}

static inline enum status backend_transport_usable(struct device *device, enum transport transport,
		uint64_t devices, struct error *err)
{
	if (!device->backend->transport_usable)
		return backend_missing(device, "transport_usable", err);
	return device->backend->transport_usable(device, transport, devices, err);
}

static inline enum status backend_communicator_open_over(struct device *device, enum transport
		transport, const struct communicator_id *id, int rank, int size, int multiprocessors,
		struct communicator **out, struct error *err)
{
	if (!device->backend->communicator_open_over)
		return backend_missing(device, "communicator_open_over", err);
	return device->backend->communicator_open_over(device, transport, id, rank, size,
			multiprocessors, out, err);
}

static inline enum status backend_all_reduce(struct communicator *communicator, struct stream
		*stream, void *to, const void *from, size_t count, enum precision precision, enum reduction
		reduction, struct error *err)
{
	if (communicator->operations)
		return communicator->operations->all_reduce(communicator, stream, to, from, count, precision, reduction, err);
	if (!communicator->device->backend->all_reduce)
		return backend_missing(communicator->device, "all_reduce", err);
	return communicator->device->backend->all_reduce(communicator, stream, to, from, count,
			precision, reduction, err);
}

static inline enum status backend_broadcast(struct communicator *communicator, struct stream
		*stream, void *buffer, size_t bytes, int root, struct error *err)
{
	if (communicator->operations)
		return communicator->operations->broadcast(communicator, stream, buffer, bytes, root, err);
	if (!communicator->device->backend->broadcast)
		return backend_missing(communicator->device, "broadcast", err);
	return communicator->device->backend->broadcast(communicator, stream, buffer, bytes,
			root, err);
}

static inline enum status backend_send(struct communicator *communicator, struct stream *stream,
		const void *from, size_t bytes, int peer, struct error *err)
{
	if (communicator->operations)
		return communicator->operations->send(communicator, stream, from, bytes, peer, err);
	if (!communicator->device->backend->send)
		return backend_missing(communicator->device, "send", err);
	return communicator->device->backend->send(communicator, stream, from, bytes, peer,
			err);
}

static inline enum status backend_receive(struct communicator *communicator, struct stream
		*stream, void *to, size_t bytes, int peer, struct error *err)
{
	if (communicator->operations)
		return communicator->operations->receive(communicator, stream, to, bytes, peer, err);
	if (!communicator->device->backend->receive)
		return backend_missing(communicator->device, "receive", err);
	return communicator->device->backend->receive(communicator, stream, to, bytes, peer,
			err);
}

static inline enum status backend_group_begin(struct communicator *communicator, struct error
		*err)
{
	if (communicator->operations)
		return communicator->operations->group_begin(communicator, err);
	if (!communicator->device->backend->group_begin)
		return backend_missing(communicator->device, "group_begin", err);
	return communicator->device->backend->group_begin(communicator, err);
}

static inline enum status backend_group_end(struct communicator *communicator, struct error
		*err)
{
	if (communicator->operations)
		return communicator->operations->group_end(communicator, err);
	if (!communicator->device->backend->group_end)
		return backend_missing(communicator->device, "group_end", err);
	return communicator->device->backend->group_end(communicator, err);
}

static inline enum status backend_all_gather(struct communicator *communicator, struct stream
		*stream, void *to, const void *from, size_t count_per_rank, enum precision precision,
		struct error *err)
{
	if (communicator->operations)
		return communicator->operations->all_gather(communicator, stream, to, from, count_per_rank, precision, err);
	if (!communicator->device->backend->all_gather)
		return backend_missing(communicator->device, "all_gather", err);
	return communicator->device->backend->all_gather(communicator, stream, to, from,
			count_per_rank, precision, err);
}

static inline enum status backend_reduce_scatter(struct communicator *communicator, struct stream
		*stream, void *to, const void *from, size_t count_per_rank, enum precision precision,
		enum reduction reduction, struct error *err)
{
	if (communicator->operations)
		return communicator->operations->reduce_scatter(communicator, stream, to, from, count_per_rank, precision,
				reduction, err);
	if (!communicator->device->backend->reduce_scatter)
		return backend_missing(communicator->device, "reduce_scatter", err);
	return communicator->device->backend->reduce_scatter(communicator, stream, to, from,
			count_per_rank, precision, reduction, err);
}

static inline enum status backend_reduce(struct communicator *communicator, struct stream *stream,
		void *to, const void *from, size_t count, enum precision precision, enum reduction
		reduction, int root, struct error *err)
{
	if (communicator->operations)
		return communicator->operations->reduce(communicator, stream, to, from, count, precision, reduction,
				root, err);
	if (!communicator->device->backend->reduce)
		return backend_missing(communicator->device, "reduce", err);
	return communicator->device->backend->reduce(communicator, stream, to, from, count,
			precision, reduction, root, err);
}

static inline enum status backend_all_to_all(struct communicator *communicator, struct stream
		*stream, void *to, const void *from, size_t count_per_rank, enum precision precision,
		struct error *err)
{
	if (communicator->operations)
		return communicator->operations->all_to_all(communicator, stream, to, from, count_per_rank, precision, err);
	if (!communicator->device->backend->all_to_all)
		return backend_missing(communicator->device, "all_to_all", err);
	return communicator->device->backend->all_to_all(communicator, stream, to, from,
			count_per_rank, precision, err);
}

/* NULL is allowed. */
static inline void backend_stream_destroy(struct stream *stream)
{
	if (stream)
		stream->device->backend->stream_destroy(stream);
}

/* NULL is allowed. */
static inline void backend_event_destroy(struct event *event)
{
	if (event)
		event->device->backend->event_destroy(event);
}

/* NULL is allowed. */
static inline void backend_communicator_close(struct communicator *communicator)
{
	if (communicator)
		communicator->device->backend->communicator_close(communicator);
}

/* NULL is allowed. */
static inline void backend_graph_destroy(struct graph *graph)
{
	if (graph)
		graph->device->backend->graph_destroy(graph);
}

static inline enum status backend_graph_begin(struct stream *stream, struct error *err)
{
	if (!stream->device->backend->graph_begin)
		return backend_missing(stream->device, "graph_begin", err);
	return stream->device->backend->graph_begin(stream, err);
}

static inline enum status backend_graph_end(struct stream *stream, struct graph **out, struct
		error *err)
{
	if (!stream->device->backend->graph_end)
		return backend_missing(stream->device, "graph_end", err);
	return stream->device->backend->graph_end(stream, out, err);
}

static inline enum status backend_graph_launch(struct graph *graph, struct stream *stream, struct
		error *err)
{
	return graph->device->backend->graph_launch(graph, stream, err);
}

static inline enum status backend_host_callback(struct stream *stream, callback_fn *callback,
		void *context, struct error *err)
{
	if (!stream->device->backend->host_callback)
		return backend_missing(stream->device, "host_callback", err);
	return stream->device->backend->host_callback(stream, callback, context, err);
}

static inline enum status backend_telemetry_quick(struct device *device, struct telemetry *out,
		struct error *err)
{
	if (!device->backend->telemetry_quick)
		return backend_missing(device, "telemetry_quick", err);
	return device->backend->telemetry_quick(device, out, err);
}

static inline enum status backend_link_errors(struct device *device, int64_t *out, struct error *err)
{
	if (!device->backend->link_errors)
		return backend_missing(device, "link_errors", err);
	return device->backend->link_errors(device, out, err);
}

static inline enum status backend_memory_view(struct device *device, struct memory_view *out,
		struct error *err)
{
	if (!device->backend->memory_view)
		return backend_missing(device, "memory_view", err);
	return device->backend->memory_view(device, out, err);
}

static inline enum status backend_range_reserve(struct device *device, size_t bytes,
		struct memory_range **out, struct error *err)
{
	if (!device->backend->range_reserve)
		return backend_missing(device, "range_reserve", err);
	return device->backend->range_reserve(device, bytes, out, err);
}

static inline enum status backend_range_map(struct memory_range *range, size_t bytes, struct error *err)
{
	return range->device->backend->range_map(range, bytes, err);
}

/* NULL is allowed. */
static inline enum status backend_range_release(struct memory_range *range, struct error *err)
{
	return range ? range->device->backend->range_release(range, err) : STATUS_OK;
}

static inline enum status backend_memory_granularity(struct device *device,
		enum allocator allocator, size_t *bytes, struct error *err)
{
	if (!device->backend->memory_granularity)
		return backend_missing(device, "memory_granularity", err);
	return device->backend->memory_granularity(device, allocator, bytes, err);
}

/* Launches the kernel `name`; STATUS_UNSUPPORTED where the backend has none. */
static inline enum status backend_launch(struct stream *stream, const char *name,
					 const void *arguments, struct error *err)
{
	const struct backend *backend = stream->device->backend;
	kernel_fn *kernel = backend->kernel ? backend->kernel(name) : NULL;

	if (!kernel)
		return error_set(err, STATUS_UNSUPPORTED, "backend %s has no kernel %s", backend->name, name);
	return kernel(stream, arguments, err);
}

#endif
