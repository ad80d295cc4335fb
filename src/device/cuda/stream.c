/* Streams, events, graphs, and operations on a stream without a kernel. */
#include <stdlib.h>

#include "base/memory.h"
#include "base/units.h"
#include "device/cuda/blas/lt.h"
#include "device/cuda/cuda_backend.h"
#include "device/cuda/dnn/cudnn.h"
#include "device/cuda/ranks/nccl.h"

/*
 * Gate: a one-thread kernel that spins on a flag in mapped host memory. Each closing has a ticket,
 * so one opening opens several closings on a stream, and a kernel that starts late sees that its
 * gate is open already.
 *
 * A call that waits for the whole device (first launch of a kernel, cudaFree) while a gate is
 * closed blocks until the gate expires. Callers therefore warm up first, and gate_open() reports an
 * expired gate.
 */
/* In mapped host memory. Each word has a single writer. */
struct gate_words {
	volatile unsigned opened;  /* written by the host: highest ticket that may pass */
	volatile unsigned expired; /* written by the device: highest expired ticket */
};

struct gate {
	struct gate_words *words, *device_words;
	unsigned ticket;   /* ticket of the latest closing */
	unsigned reported; /* highest expired ticket reported to a caller */
	double timeout_seconds;
};

static enum status cuda_stream_gate_new(struct gate **out, struct error *err)
{
	struct gate *gate = xcalloc(1, sizeof(*gate));
	enum status status;

	status = cuda_device_check(cudaHostAlloc((void **)&gate->words, sizeof(*gate->words),
						 cudaHostAllocMapped | cudaHostAllocPortable),
				   "cudaHostAlloc for the gate", err);
	if (status == STATUS_OK) {
		gate->words->opened = gate->words->expired = 0;
		status = cuda_device_check(cudaHostGetDevicePointer((void **)&gate->device_words,
								    gate->words, 0),
					   "cudaHostGetDevicePointer for the gate", err);
	}
	if (status != STATUS_OK) {
		cudaFreeHost(gate->words);
		free(gate);
		return status;
	}
	*out = gate;
	return STATUS_OK;
}

enum status cuda_gate_close(struct stream *stream, double timeout_seconds, struct error *err)
{
	struct cuda_stream *s = (struct cuda_stream *)stream;
	enum status status = cuda_device_use(stream->device, err);

	if (status == STATUS_OK && !s->gate)
		status = cuda_stream_gate_new(&s->gate, err);
	if (status != STATUS_OK)
		return status;
	s->gate->timeout_seconds = timeout_seconds;
	s->gate->ticket++;
	return cuda_gate_launch(stream, &s->gate->device_words->opened,
				&s->gate->device_words->expired, s->gate->ticket,
				(unsigned long long)(timeout_seconds * 1e9), err);
}

/*
 * A gate that expires at the moment of opening may stay unreported: the batch is enqueued by then,
 * which is all that the gate guarantees.
 */
enum status cuda_gate_open(struct stream *stream, struct error *err)
{
	struct gate *gate = ((struct cuda_stream *)stream)->gate;
	unsigned expired;
	char limit[32];

	if (!gate)
		return STATUS_OK;
	expired = gate->words->expired;
	gate->words->opened = gate->ticket;
	__sync_synchronize();
	if (expired == gate->reported)
		return STATUS_OK;
	gate->reported = expired;
	return error_set(err, STATUS_TIMEOUT,
			 "a stream of %s was held by its gate for more than %s: queueing the batch "
			 "took longer, or a call waited for the device",
			 stream->device->info.id,
			 units_format(gate->timeout_seconds, "s", limit, sizeof(limit)));
}

static struct cuda_event *cuda_stream_event(struct event *event)
{
	return (struct cuda_event *)event;
}

cudaStream_t cuda_stream_handle(struct stream *stream)
{
	/* On another device, a launch fails by itself; a copy runs on the device of its stream. */
	struct error ignored = ERROR_NONE;

	cuda_device_use(stream->device, &ignored);
	return ((struct cuda_stream *)stream)->handle;
}

int cuda_stream_multiprocessors(const struct stream *stream)
{
	return stream->device->info.multiprocessors;
}

int cuda_stream_block_memory(const struct stream *stream)
{
	int emulated = cuda_device_emulated_capability(), most = 48 << 10;

	if (emulated) {
		/*
		 * By compute capability (CUDA programming guide); for others, the value of the
		 * device.
		 */
		static const struct {
			int since, kib;
		} blocks[] = { { 90, 227 }, { 86, 99 }, { 80, 163 },
			       { 75, 64 },  { 70, 96 }, { 0, 48 } };
		size_t i = 0;

		while (blocks[i].since > emulated)
			i++;
		return blocks[i].kib << 10;
	}
	if (cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin,
				   stream->device->info.index) != cudaSuccess)
		cudaGetLastError();
	return most < 48 << 10 ? 48 << 10 : most;
}

enum status cuda_stream_shared_memory(const struct stream *stream, const void *kernel, size_t bytes,
				      struct error *err)
{
	struct cudaFuncAttributes attributes = { .sharedSizeBytes = 0 };
	int most = cuda_stream_block_memory(stream);

	/* The runtime checks the real device; this check is for an emulated one. */
	if (cuda_device_emulated_capability() &&
	    CUDA_CALL(err, cudaFuncGetAttributes, &attributes, kernel) != STATUS_OK)
		return err->status;
	if (attributes.sharedSizeBytes + bytes > (size_t)most)
		return error_set(err, STATUS_DEVICE,
				 "%s needs blocks of %zu bytes of shared memory; the device has %d",
				 stream->device->info.id, attributes.sharedSizeBytes + bytes, most);
	return CUDA_CALL_SIZE(err, bytes, cudaFuncSetAttribute, kernel,
			      cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes);
}

enum status cuda_stream_create(struct device *device, bool high_priority, struct stream **out,
			       struct error *err)
{
	struct cuda_device *d = (struct cuda_device *)device;
	struct cuda_stream *stream = xcalloc(1, sizeof(*stream));
	enum status status = cuda_device_use(device, err);

	stream->base.device = device;
	if (status == STATUS_OK)
		status = CUDA_CALL(err, cudaStreamCreateWithPriority, &stream->handle,
				   cudaStreamNonBlocking,
				   high_priority ? d->priority_high : d->priority_low);
	if (status != STATUS_OK) {
		free(stream);
		return status;
	}
	*out = &stream->base;
	return STATUS_OK;
}

enum status cuda_stream_native(struct stream *stream, void **out, struct error *err)
{
	*out = (void *)((struct cuda_stream *)stream)->handle;
	return cuda_device_use(stream->device, err);
}

void cuda_stream_destroy(struct stream *stream)
{
	struct cuda_stream *s = (struct cuda_stream *)stream;

	if (!s)
		return;
	cuda_stream_handle(stream); /* makes the device current */
	if (s->gate) {
		s->gate->words->opened = s->gate->ticket;
		__sync_synchronize();
	}
	cudaStreamSynchronize(s->handle);
	if (s->gate)
		cudaFreeHost(s->gate->words);
	free(s->gate);
	blas_gemm_context_free(s->cublas);
	lt_context_free(s->lt);
	cudnn_handle_free(s->cudnn);
	cudaStreamDestroy(s->handle);
	cudaGetLastError();
	free(s);
}

enum status cuda_stream_synchronize(struct stream *stream, struct error *err)
{
	enum status status = CUDA_CALL(err, cudaStreamSynchronize, cuda_stream_handle(stream));

	return status == STATUS_OK
		       ? nccl_communicators_check((struct cuda_device *)stream->device, err)
		       : status;
}

enum status cuda_stream_wait(struct stream *stream, struct event *event, struct error *err)
{
	return CUDA_CALL(err, cudaStreamWaitEvent, cuda_stream_handle(stream),
			 cuda_stream_event(event)->handle, 0);
}

enum status cuda_event_create(struct device *device, struct event **out, struct error *err)
{
	struct cuda_event *event = xcalloc(1, sizeof(*event));
	enum status status = cuda_device_use(device, err);

	event->base.device = device;
	if (status == STATUS_OK)
		status = CUDA_CALL(err, cudaEventCreate, &event->handle);
	if (status != STATUS_OK) {
		free(event);
		return status;
	}
	*out = &event->base;
	return STATUS_OK;
}

void cuda_event_destroy(struct event *event)
{
	if (!event)
		return;
	cudaEventDestroy(cuda_stream_event(event)->handle);
	cudaGetLastError();
	free(cuda_stream_event(event));
}

enum status cuda_event_record(struct event *event, struct stream *stream, struct error *err)
{
	return CUDA_CALL(err, cudaEventRecord, cuda_stream_event(event)->handle,
			 cuda_stream_handle(stream));
}

enum status cuda_event_synchronize(struct event *event, struct error *err)
{
	enum status status = cuda_device_use(event->device, err);

	if (status == STATUS_OK)
		status = CUDA_CALL(err, cudaEventSynchronize, cuda_stream_event(event)->handle);
	return status;
}

enum status cuda_event_reached(struct event *event, bool *out, struct error *err)
{
	enum status status = cuda_device_use(event->device, err);
	cudaError_t state;

	if (status != STATUS_OK)
		return status;
	state = cudaEventQuery(cuda_stream_event(event)->handle);
	*out = state == cudaSuccess;
	if (state != cudaErrorNotReady)
		return cuda_device_check(state, "cudaEventQuery", err);
	cudaGetLastError(); /* not an error */
	return STATUS_OK;
}

enum status cuda_event_elapsed(struct event *start, struct event *end, double *seconds,
			       struct error *err)
{
	float milliseconds = 0;
	enum status status = cuda_device_use(start->device, err);

	if (status == STATUS_OK)
		status =
			CUDA_CALL(err, cudaEventElapsedTime, &milliseconds,
				  cuda_stream_event(start)->handle, cuda_stream_event(end)->handle);
	*seconds = (double)milliseconds * 1e-3;
	return status;
}

enum status cuda_copy(struct stream *stream, void *to, const void *from, size_t bytes,
		      struct error *err)
{
	return CUDA_CALL_SIZE(err, bytes, cudaMemcpyAsync, to, from, bytes, cudaMemcpyDefault,
			      cuda_stream_handle(stream));
}

enum status cuda_copy_peer(struct stream *stream, void *to, struct device *to_device,
			   const void *from, struct device *from_device, size_t bytes,
			   struct error *err)
{
	return CUDA_CALL_SIZE(err, bytes, cudaMemcpyPeerAsync, to, to_device->info.index, from,
			      from_device->info.index, bytes, cuda_stream_handle(stream));
}

enum status cuda_copy_rows(struct stream *stream, void *to, size_t to_stride, const void *from,
			   size_t from_stride, size_t row_bytes, size_t rows, struct error *err)
{
	return CUDA_CALL_SIZE(err, row_bytes * rows, cudaMemcpy2DAsync, to, to_stride, from,
			      from_stride, row_bytes, rows, cudaMemcpyDeviceToDevice,
			      cuda_stream_handle(stream));
}

enum status cuda_memory_set(struct stream *stream, void *memory, int byte, size_t bytes,
			    struct error *err)
{
	return CUDA_CALL_SIZE(err, bytes, cudaMemsetAsync, memory, byte, bytes,
			      cuda_stream_handle(stream));
}

/* Graphs by stream capture, and host callbacks. */
struct cuda_graph {
	struct graph base;
	cudaGraphExec_t handle;
};

/* Relaxed mode: libraries may allocate internally during the capture, which does not affect it. */
enum status cuda_graph_begin(struct stream *stream, struct error *err)
{
	return CUDA_CALL(err, cudaStreamBeginCapture, cuda_stream_handle(stream),
			 cudaStreamCaptureModeRelaxed);
}

/* Also uploads the graph, so that the first launch is like the others. */
static enum status cuda_stream_instantiate(struct cuda_graph *graph, cudaGraph_t captured,
					   struct stream *stream, struct error *err)
{
	enum status status =
		CUDA_CALL(err, cudaGraphInstantiateWithFlags, &graph->handle, captured, 0);

	if (status != STATUS_OK)
		return status;
	status = CUDA_CALL(err, cudaGraphUpload, graph->handle, cuda_stream_handle(stream));
	if (status != STATUS_OK)
		cudaGraphExecDestroy(graph->handle);
	return status;
}

enum status cuda_graph_end(struct stream *stream, struct graph **out, struct error *err)
{
	struct cuda_graph *graph;
	cudaGraph_t captured = NULL;
	enum status status =
		CUDA_CALL(err, cudaStreamEndCapture, cuda_stream_handle(stream), &captured);

	if (status != STATUS_OK)
		return status;
	graph = xcalloc(1, sizeof(*graph));
	graph->base.device = stream->device;
	status = cuda_stream_instantiate(graph, captured, stream, err);
	cudaGraphDestroy(captured);
	if (status != STATUS_OK) {
		free(graph);
		return status;
	}
	*out = &graph->base;
	return STATUS_OK;
}

enum status cuda_graph_launch(struct graph *graph, struct stream *stream, struct error *err)
{
	return CUDA_CALL(err, cudaGraphLaunch, ((struct cuda_graph *)graph)->handle,
			 cuda_stream_handle(stream));
}

void cuda_graph_destroy(struct graph *graph)
{
	if (!graph)
		return;
	cudaGraphExecDestroy(((struct cuda_graph *)graph)->handle);
	cudaGetLastError();
	free(graph);
}

enum status cuda_callback(struct stream *stream, callback_fn *callback, void *context,
			  struct error *err)
{
	return CUDA_CALL(err, cudaLaunchHostFunc, cuda_stream_handle(stream), callback, context);
}
