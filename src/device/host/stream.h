/*
 * Streams of the host backend: each has a thread and an in-order queue, so that two streams of a
 * device run concurrently and a missing wait is a real race.
 *
 * After a failed operation, later ones of its stream are not executed (except events, waits and
 * gates) until a synchronise has reported the failure.
 */
#ifndef GPUPROOF_HOST_STREAM_H
#define GPUPROOF_HOST_STREAM_H

#include <pthread.h>

#include "device/host/counter.h"
#include "device/host/host_device.h"

/* Maximum size of an operation's arguments. */
#define OPERATION_BYTES 216

struct host_operation; /* a place in the queue */
struct host_graph;

struct host_stream {
	struct stream base;
	struct host_stream *next; /* list of the device's streams */
	pthread_t thread;

	/* Written by the driving thread. */
	/* from the oldest reusable node to the newest one */
	struct host_operation *newest, *oldest;
	uint32_t enqueued_count;
	uint32_t gates_closed;
	struct counter enqueued;
	struct host_graph *recording; /* records operations instead; NULL: they are executed */

	/* Written by the stream's thread. */
	_Atomic(struct host_operation *) current;
	_Atomic uint32_t gate_timed_out; /* number of the last gate that timed out */
	struct error error;              /* first failure since the last synchronise */
	pthread_mutex_t taking;          /* guards `error` if several threads synchronise */
	struct counter completed;

	struct counter gates_opened;
	struct thread_pool *pool; /* created by the first operation that uses several threads */
	void *workspace;          /* for GEMMs that convert; used by the stream's thread only */
	size_t workspace_bytes;
};

static inline struct host_stream *host_stream(struct stream *stream)
{
	return (struct host_stream *)stream;
}

/* Enqueues an operation with a copy of its arguments. `run` is called on the stream's thread. */
enum status host_stream_enqueue(struct stream *stream, kernel_fn *run, const void *arguments,
				size_t bytes, struct error *err);
/* As host_stream_enqueue(), for operations that run even after a failure. */
enum status host_stream_enqueue_always(struct stream *stream, kernel_fn *run, const void *arguments,
				       size_t bytes, struct error *err);

/*
 * STATUS_UNSUPPORTED while the stream records; call it first in operations that cannot be repeated.
 */
enum status host_stream_refuse_recording(struct stream *stream, const char *what,
					 struct error *err);

#endif
