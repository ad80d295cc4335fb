/* Graphs by stream capture, and host callbacks. */
#include "device/cuda/cuda_backend.h"

#include <stdlib.h>

#include "base/memory.h"

struct cuda_graph {
	struct graph base;
	cudaGraphExec_t handle;
};

/* Relaxed mode: libraries may allocate internally during the capture, which does not affect it. */
enum status cuda_graph_begin(struct stream *stream, struct error *err)
{
	return cuda_device_check(cudaStreamBeginCapture(cuda_stream_handle(stream),
							cudaStreamCaptureModeRelaxed),
				 "cudaStreamBeginCapture", err);
}

/* Also uploads the graph, so that the first launch is like the others. */
static enum status cuda_graph_instantiate(struct cuda_graph *graph, cudaGraph_t captured,
					  struct stream *stream, struct error *err)
{
	enum status status =
		cuda_device_check(cudaGraphInstantiateWithFlags(&graph->handle, captured, 0),
				  "cudaGraphInstantiateWithFlags", err);

	if (status != STATUS_OK)
		return status;
	status = cuda_device_check(cudaGraphUpload(graph->handle, cuda_stream_handle(stream)),
				   "cudaGraphUpload", err);
	if (status != STATUS_OK)
		cudaGraphExecDestroy(graph->handle);
	return status;
}

enum status cuda_graph_end(struct stream *stream, struct graph **out, struct error *err)
{
	struct cuda_graph *graph;
	cudaGraph_t captured = NULL;
	enum status status =
		cuda_device_check(cudaStreamEndCapture(cuda_stream_handle(stream), &captured),
				  "cudaStreamEndCapture", err);

	if (status != STATUS_OK)
		return status;
	graph = xcalloc(1, sizeof(*graph));
	graph->base.device = stream->device;
	status = cuda_graph_instantiate(graph, captured, stream, err);
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
	return cuda_device_check(cudaGraphLaunch(((struct cuda_graph *)graph)->handle,
						 cuda_stream_handle(stream)),
				 "cudaGraphLaunch", err);
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
	return cuda_device_check(cudaLaunchHostFunc(cuda_stream_handle(stream), callback, context),
				 "cudaLaunchHostFunc", err);
}
