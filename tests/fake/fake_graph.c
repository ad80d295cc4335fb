/*
 * Graphs of the fake backend: the host's; a launch takes the time that recording it moved the
 * stream's clock by.
 */
#include "fake_device.h"

#include <stdlib.h>

#include "base/memory.h"

struct fake_graph {
	struct graph base;
	struct graph *host;
	double seconds;
};

enum status fake_graph_begin(struct stream *stream, struct error *err)
{
	CALL("graph_begin");
	fake(stream)->recorded_from = fake(stream)->now;
	return HOST->graph_begin(host(stream), err);
}

enum status fake_graph_end(struct stream *stream, struct graph **out, struct error *err)
{
	struct fake_graph *graph;
	struct graph *made;
	/* The host's stream must stop recording even when this call is told to fail. */
	enum status status = HOST->graph_end(host(stream), &made, err);

	*out = NULL;
	if (status != STATUS_OK)
		return status;
	if (script_call("graph_end", err) != STATUS_OK) {
		HOST->graph_destroy(made);
		return err ? err->status : STATUS_DEVICE;
	}
	graph = xcalloc(1, sizeof(*graph));
	graph->base.device = stream->device;
	graph->host = made;
	graph->seconds = fake(stream)->now - fake(stream)->recorded_from;
	fake(stream)->now = fake(stream)->recorded_from;
	*out = &graph->base;
	return STATUS_OK;
}

enum status fake_graph_launch(struct graph *graph, struct stream *stream, struct error *err)
{
	struct fake_graph *g = (struct fake_graph *)graph;

	CALL("graph_launch");
	pass(stream, g->seconds);
	return HOST->graph_launch(g->host, host(stream), err);
}

void fake_graph_destroy(struct graph *graph)
{
	if (graph)
		HOST->graph_destroy(((struct fake_graph *)graph)->host);
	free(graph);
}
