/* Events of the host backend: the time at which a stream reached a point, on CLOCK_MONOTONIC. */
#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/memory.h"
#include "device/host/stream.h"

/* Gate of the host backend: an operation that waits for the driving thread. */
struct gate_arguments {
	uint32_t number;
	double timeout_seconds;
};

static enum status host_event_gate_run(struct stream *stream, const void *arguments,
				       struct error *err)
{
	const struct gate_arguments *gate = arguments;
	struct host_stream *s = host_stream(stream);

	(void)err;
	/* gate_open() reports the timeout; operations after the gate still run. */
	if (!counter_wait(&s->gates_opened, gate->number, clock_seconds() + gate->timeout_seconds))
		atomic_store(&s->gate_timed_out, gate->number);
	return STATUS_OK;
}

enum status host_gate_close(struct stream *stream, double timeout_seconds, struct error *err)
{
	struct gate_arguments gate = { host_stream(stream)->gates_closed + 1, timeout_seconds };

	if (host_stream_refuse_recording(stream, "gates", err) != STATUS_OK)
		return STATUS_UNSUPPORTED;
	host_stream(stream)->gates_closed++;
	return host_stream_enqueue_always(stream, host_event_gate_run, &gate, sizeof(gate), err);
}

enum status host_gate_open(struct stream *stream, struct error *err)
{
	struct host_stream *s = host_stream(stream);

	counter_raise(&s->gates_opened, s->gates_closed);
	if (s->gates_closed == 0 || atomic_load(&s->gate_timed_out) != s->gates_closed)
		return STATUS_OK;
	atomic_store(&s->gate_timed_out, 0);
	return error_set(err, STATUS_TIMEOUT, "a stream's gate timed out before gate_open()");
}

struct host_event {
	struct event base;
	uint32_t requested;      /* records enqueued */
	struct counter recorded; /* number of the last record that was reached */
	double seconds;
	struct error error;    /* error of the stream when it reached the event */
	atomic_int references; /* owner, and queued operations */
};

/* Argument of a queued record or wait. */
struct event_point {
	struct host_event *event;
	uint32_t number;
};

static struct host_event *host_event(struct event *event)
{
	return (struct host_event *)event;
}

static void host_event_drop(struct host_event *event)
{
	if (atomic_fetch_sub(&event->references, 1) == 1)
		free(event);
}

enum status host_event_create(struct device *device, struct event **out, struct error *err)
{
	struct host_event *event = xcalloc(1, sizeof(*event));

	(void)err;
	event->base.device = device;
	atomic_init(&event->references, 1);
	*out = &event->base;
	return STATUS_OK;
}

/* Queued operations keep it alive. */
void host_event_destroy(struct event *event)
{
	if (event)
		host_event_drop(host_event(event));
}

static enum status host_event_record_run(struct stream *stream, const void *arguments,
					 struct error *err)
{
	const struct event_point *point = arguments;
	struct host_event *event = point->event;

	(void)err;
	event->seconds = clock_seconds();
	event->error.status = STATUS_OK;
	if (host_stream(stream)->error.status != STATUS_OK)
		event->error = host_stream(stream)->error;
	counter_raise(&event->recorded, point->number);
	host_event_drop(event);
	return STATUS_OK;
}

static enum status host_event_wait_run(struct stream *stream, const void *arguments,
				       struct error *err)
{
	const struct event_point *point = arguments;

	(void)stream;
	(void)err;
	counter_wait(&point->event->recorded, point->number, INFINITY);
	host_event_drop(point->event);
	return STATUS_OK;
}

static enum status host_event_enqueue_point(struct stream *stream, kernel_fn *run,
					    struct host_event *event, struct error *err)
{
	struct event_point point = { event, event->requested };

	atomic_fetch_add(&event->references, 1);
	return host_stream_enqueue_always(stream, run, &point, sizeof(point), err);
}

enum status host_event_record(struct event *event, struct stream *stream, struct error *err)
{
	if (host_stream_refuse_recording(stream, "events", err) != STATUS_OK)
		return STATUS_UNSUPPORTED;
	host_event(event)->requested++;
	return host_event_enqueue_point(stream, host_event_record_run, host_event(event), err);
}

/* A stream does not wait for an event that was never recorded. */
enum status host_stream_wait(struct stream *stream, struct event *event, struct error *err)
{
	if (host_stream_refuse_recording(stream, "waits for events", err) != STATUS_OK)
		return STATUS_UNSUPPORTED;
	return host_event_enqueue_point(stream, host_event_wait_run, host_event(event), err);
}

enum status host_event_synchronize(struct event *event, struct error *err)
{
	struct host_event *e = host_event(event);

	counter_wait(&e->recorded, e->requested, INFINITY);
	if (e->error.status == STATUS_OK)
		return STATUS_OK;
	return error_set(err, e->error.status, "%s", e->error.message);
}

enum status host_event_reached(struct event *event, bool *out, struct error *err)
{
	struct host_event *e = host_event(event);

	*out = counter_reached(&e->recorded, e->requested);
	return *out ? host_event_synchronize(event, err) : STATUS_OK;
}

enum status host_event_elapsed(struct event *start, struct event *end, double *seconds,
			       struct error *err)
{
	struct host_event *from = host_event(start), *to = host_event(end);

	if (from->requested == 0 || to->requested == 0)
		return error_set(err, STATUS_DEVICE, "event_elapsed: an event was never recorded");
	if (!counter_reached(&from->recorded, from->requested) ||
	    !counter_reached(&to->recorded, to->requested))
		return error_set(err, STATUS_DEVICE,
				 "event_elapsed: the stream has not reached the event yet");
	*seconds = to->seconds - from->seconds;
	return STATUS_OK;
}
