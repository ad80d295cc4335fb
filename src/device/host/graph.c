/*
 * Graphs of the host backend: a list of operations with copies of their arguments. Only operations
 * that depend on nothing but their arguments can run repeatedly: no events, gates, collectives.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "device/host/stream.h"

struct recorded_operation {
	kernel_fn *run;
	size_t bytes;
	_Alignas(16) unsigned char arguments[OPERATION_BYTES];
};

struct host_graph {
	struct graph base;
	struct recorded_operation *operations;
	size_t count, capacity;
};

enum status host_graph_stream_refuse_recording(struct stream *stream, const char *what,
					       struct error *err)
{
	if (!host_stream(stream)->recording)
		return STATUS_OK;
	return error_set(err, STATUS_UNSUPPORTED, "a graph of the host backend cannot contain %s",
			 what);
}

void host_graph_record(struct host_graph *graph, kernel_fn *run, const void *arguments,
		       size_t bytes)
{
	struct recorded_operation *operation;

	ARRAY_GROW(graph->operations, graph->count, graph->capacity);
	operation = &graph->operations[graph->count++];
	operation->run = run;
	operation->bytes = bytes;
	if (bytes > 0)
		memcpy(operation->arguments, arguments, bytes);
}

enum status host_graph_begin(struct stream *stream, struct error *err)
{
	struct host_stream *s = host_stream(stream);

	if (s->recording)
		return error_set(err, STATUS_INTERNAL,
				 "graph_begin: the stream is already recording");
	s->recording = xcalloc(1, sizeof(*s->recording));
	s->recording->base.device = stream->device;
	return STATUS_OK;
}

enum status host_graph_end(struct stream *stream, struct graph **out, struct error *err)
{
	struct host_stream *s = host_stream(stream);

	if (!s->recording)
		return error_set(err, STATUS_INTERNAL, "graph_end: the stream is not recording");
	*out = &s->recording->base;
	s->recording = NULL;
	return STATUS_OK;
}

enum status host_graph_launch(struct graph *graph, struct stream *stream, struct error *err)
{
	struct host_graph *g = (struct host_graph *)graph;
	enum status status = STATUS_OK;

	for (size_t i = 0; i < g->count && status == STATUS_OK; i++)
		status = host_stream_enqueue(stream, g->operations[i].run,
					     g->operations[i].arguments, g->operations[i].bytes,
					     err);
	return status;
}

void host_graph_destroy(struct graph *graph)
{
	struct host_graph *g = (struct host_graph *)graph;

	if (!g)
		return;
	free(g->operations);
	free(g);
}

struct callback {
	callback_fn *function;
	void *context;
};

static enum status host_graph_callback_run(struct stream *stream, const void *arguments,
					   struct error *err)
{
	const struct callback *callback = arguments;

	(void)stream;
	(void)err;
	callback->function(callback->context);
	return STATUS_OK;
}

enum status host_callback(struct stream *stream, callback_fn *callback, void *context,
			  struct error *err)
{
	struct callback c = { callback, context };

	return host_stream_enqueue(stream, host_graph_callback_run, &c, sizeof(c), err);
}
