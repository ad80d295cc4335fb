/* What the fake backend's files share. */
#ifndef GPUPROOF_TESTS_FAKE_DEVICE_H
#define GPUPROOF_TESTS_FAKE_DEVICE_H

#include "device/host/host_device.h"
#include "fake_backend.h"
#include "script.h"

#define HOST (&backend_host)

struct fake_stream {
	struct stream base;
	struct stream *host;
	double now;           /* the scripted clock */
	double recorded_from; /* what it was at graph_begin() */
};

static inline struct fake_stream *fake(struct stream *stream)
{
	return (struct fake_stream *)stream;
}

static inline struct stream *host(struct stream *stream)
{
	return stream ? fake(stream)->host : NULL;
}

/* Time passes on the stream: the latency of an operation and `seconds` of work, longer on a slow device. */
static inline void pass(struct stream *stream, double seconds)
{
	const struct script *script = script_now();
	bool slow = stream->device && stream->device->info.index == script->slow;

	fake(stream)->now += (FAKE_LATENCY + seconds) * (slow ? 1 + script->slowness : 1);
}

/* Every operation begins so. */
#define CALL(operation)                                                                            \
	do {                                                                                       \
		if (script_call(operation, err) != STATUS_OK)                                      \
			return err ? err->status : STATUS_DEVICE;                                  \
	} while (0)

/* fake_collectives.c */
enum status fake_communicator_id(struct communicator_id *out, struct error *err);
enum status fake_communicator_open(struct device *device, const struct communicator_id *id,
				   int rank, int size, struct communicator **out,
				   struct error *err);
void fake_communicator_close(struct communicator *communicator);
enum status fake_all_reduce(struct communicator *communicator, struct stream *stream, void *to,
			    const void *from, size_t count, enum precision precision,
			    enum reduction reduction, struct error *err);
enum status fake_broadcast(struct communicator *communicator, struct stream *stream, void *buffer,
			   size_t bytes, int root, struct error *err);
enum status fake_send(struct communicator *communicator, struct stream *stream, const void *from,
		      size_t bytes, int peer, struct error *err);
enum status fake_receive(struct communicator *communicator, struct stream *stream, void *to,
			 size_t bytes, int peer, struct error *err);
enum status fake_group_begin(struct communicator *communicator, struct error *err);
enum status fake_group_end(struct communicator *communicator, struct error *err);
enum status fake_all_gather(struct communicator *communicator, struct stream *stream, void *to,
			    const void *from, size_t count_per_rank, enum precision precision,
			    struct error *err);
enum status fake_reduce_scatter(struct communicator *communicator, struct stream *stream, void *to,
				const void *from, size_t count_per_rank, enum precision precision,
				enum reduction reduction, struct error *err);
enum status fake_reduce(struct communicator *communicator, struct stream *stream, void *to,
			const void *from, size_t count, enum precision precision,
			enum reduction reduction, int root, struct error *err);
enum status fake_all_to_all(struct communicator *communicator, struct stream *stream, void *to,
			    const void *from, size_t count_per_rank, enum precision precision,
			    struct error *err);

/* fake_transport.c */
enum status fake_transport_usable(struct device *device, enum transport transport, uint64_t devices,
				  struct error *err);
enum status fake_communicator_open_over(struct device *device, enum transport transport,
					const struct communicator_id *id, int rank, int size,
					int multiprocessors, struct communicator **out,
					struct error *err);

/* fake_graph.c */
enum status fake_graph_begin(struct stream *stream, struct error *err);
enum status fake_graph_end(struct stream *stream, struct graph **out, struct error *err);
enum status fake_graph_launch(struct graph *graph, struct stream *stream, struct error *err);
void fake_graph_destroy(struct graph *graph);

#endif
