/*
 * Streams of the host backend: a thread and an in-order queue each, so that two streams of a device
 * really run at the same time and a missing wait really is a race.
 *
 * When an operation fails, later ones of its stream are not executed (events, waits and gates are)
 * until a synchronise has reported the failure.
 */
#ifndef GPUPROOF_HOST_STREAM_H
#define GPUPROOF_HOST_STREAM_H

#include <pthread.h>

#include "device/host/counter.h"
#include "device/host/host_device.h"

/* Most bytes of arguments that an operation carries. */
#define OPERATION_BYTES 216

struct host_operation; /* a place in the queue */
struct host_graph;

struct host_stream {
	struct stream base;
	struct host_stream *next; /* of the device */
	pthread_t thread;

	/* Written by the driving thread. */
	/* from the oldest node that may be used again to the last one added */
	struct host_operation *newest, *oldest;
	uint32_t enqueued_count;
	uint32_t gates_closed;
	struct counter enqueued;
	struct host_graph *recording; /* takes what is enqueued; NULL: it is carried out */

	/* Written by the stream's thread. */
	_Atomic(struct host_operation *) current;
	_Atomic uint32_t gate_timed_out; /* number of the last gate that opened by itself */
	struct error error;              /* first failure since the last synchronise */
	pthread_mutex_t taking;          /* of the error, where several threads synchronise */
	struct counter completed;

	struct counter gates_opened;
	struct thread_pool *pool; /* made by the first operation that several threads share */
	void *workspace;          /* of GEMMs that convert; only the stream's thread uses it */
	size_t workspace_bytes;
};

static inline struct host_stream *host_stream(struct stream *stream)
{
	return (struct host_stream *)stream;
}

/*
 * Puts an operation with a copy of its arguments at the end of the queue. `run` is called on the
 * stream's thread.
 */
enum status stream_enqueue(struct stream *stream, kernel_fn *run, const void *arguments,
			   size_t bytes, struct error *err);
/* The same for operations that are executed even after a failure. */
enum status stream_enqueue_always(struct stream *stream, kernel_fn *run, const void *arguments,
				  size_t bytes, struct error *err);

/*
 * graph.c. STATUS_UNSUPPORTED while the stream records: for what cannot be carried out a second
 * time, before it changes anything.
 */
enum status stream_refuse_recording(struct stream *stream, const char *what, struct error *err);
void graph_record(struct host_graph *graph, kernel_fn *run, const void *arguments, size_t bytes);

#endif
