#include "measure/sampling/timer.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/memory.h"
#include "measure/processes/world.h"

#define GATE_TIMEOUT_SECONDS 10.0

static enum status open_events(struct timer *t, struct error *err)
{
	struct device *device = t->sampler->device;

	if (t->w->clock != CLOCK_DEVICE)
		return STATUS_OK;
	if (t->w->stream_count == 0)
		return error_set(err, STATUS_INTERNAL,
				 "a workload on the device's clock needs a stream");
	t->join = xcalloc(t->w->stream_count, sizeof(struct event *));
	if (backend_event_create(device, &t->start, err) != STATUS_OK ||
	    backend_event_create(device, &t->end, err) != STATUS_OK)
		return err->status;
	for (size_t i = 1; i < t->w->stream_count; i++)
		if (backend_event_create(t->w->streams[i]->device, &t->join[i], err) != STATUS_OK)
			return err->status;
	return STATUS_OK;
}

enum status timer_open(struct timer *timer, const struct sampler *sampler,
		       const struct workload *workload, struct error *err)
{
	*timer = (struct timer){ .sampler = sampler, .w = workload };
	timer->gated = workload->clock == CLOCK_DEVICE && !workload->no_gate &&
		       workload->commands <= GATED_COMMANDS && sampler->device->backend->gate_close;
	return world_agree(sampler->world, open_events(timer, err), err);
}

void timer_close(struct timer *timer)
{
	backend_event_destroy(timer->start);
	backend_event_destroy(timer->end);
	for (size_t i = 1; timer->join && i < timer->w->stream_count; i++)
		backend_event_destroy(timer->join[i]);
	free(timer->join);
}

/*
 * Enqueues the alignment of ranks, start event, fork to the other streams, the batch, join, end
 * event.
 */
static enum status enqueue(struct timer *t, unsigned batch, struct error *err)
{
	struct stream *const *streams = t->w->streams;
	size_t count = t->w->stream_count;
	enum status status = t->w->align ? t->w->align(t->w->state, err) : STATUS_OK;

	if (status == STATUS_OK)
		status = backend_event_record(t->start, streams[0], err);
	for (size_t i = 1; i < count && status == STATUS_OK; i++)
		status = backend_stream_wait(streams[i], t->start, err);
	if (status == STATUS_OK)
		status = t->w->launch(t->w->state, batch, err);
	for (size_t i = 1; i < count && status == STATUS_OK; i++) {
		status = backend_event_record(t->join[i], streams[i], err);
		if (status == STATUS_OK)
			status = backend_stream_wait(streams[0], t->join[i], err);
	}
	return status == STATUS_OK ? backend_event_record(t->end, streams[0], err) : status;
}

static enum status begin_on_device(struct timer *t, unsigned batch, struct error *err)
{
	enum status status = STATUS_OK;

	if (t->gated)
		status = backend_gate_close(t->w->streams[0], GATE_TIMEOUT_SECONDS, err);
	else
		world_barrier(t->sampler->world);
	return status == STATUS_OK ? enqueue(t, batch, err) : status;
}

static enum status time_on_host(struct timer *t, unsigned batch, struct error *err)
{
	enum status status;
	double start;

	world_barrier(t->sampler->world);
	start = clock_seconds();
	status = t->w->launch(t->w->state, batch, err);
	t->seconds = clock_seconds() - start;
	return status;
}

enum status timer_begin(struct timer *t, unsigned batch, struct error *err)
{
	const struct workload *w = t->w;
	enum status status = STATUS_OK;

	t->seconds = 0;
	if (w->resize && batch != t->sized)
		status = w->resize(w->state, batch, err);
	t->sized = batch;
	if (w->prepare && status == STATUS_OK)
		status = w->prepare(w->state, err);
	t->status = world_agree(t->sampler->world, status, err);
	t->begun = t->status == STATUS_OK;
	if (t->begun)
		t->status = w->clock == CLOCK_DEVICE ? begin_on_device(t, batch, err)
						     : time_on_host(t, batch, err);
	return t->status;
}

void timer_release(struct timer *t, struct error *err)
{
	struct error gate_error = ERROR_NONE;

	if (!t->begun || !t->gated)
		return;
	world_barrier(t->sampler->world);
	/* Opened even after a failure: a closed gate would hold the stream until its time-out. */
	if (backend_gate_open(t->w->streams[0], &gate_error) != STATUS_OK && t->status == STATUS_OK)
		t->status = error_set(err, gate_error.status, "%s", gate_error.message);
}

enum status timer_end(struct timer *t, double *seconds, struct error *err)
{
	const struct workload *w = t->w;

	*seconds = 0;
	if (!t->begun)
		return t->status;
	t->begun = false;
	if (w->clock == CLOCK_DEVICE && t->status == STATUS_OK)
		t->status = backend_event_synchronize(t->end, err);
	if (w->clock == CLOCK_DEVICE && t->status == STATUS_OK)
		t->status = backend_event_elapsed(t->start, t->end, &t->seconds, err);
	if (w->finish) {
		/* Also after a failure: it releases what launch() made. */
		enum status finished = w->finish(w->state, err);

		t->status = t->status == STATUS_OK ? finished : t->status;
	}
	t->status = world_agree(t->sampler->world, t->status, err);
	*seconds = world_max(t->sampler->world, t->seconds);
	return t->status;
}

bool timer_ended(struct timer *t, struct error *err)
{
	bool reached = true;

	if (t->begun && t->status == STATUS_OK && t->w->clock == CLOCK_DEVICE)
		t->status = backend_event_reached(t->end, &reached, err);
	return reached || t->status != STATUS_OK;
}

enum status timer_take(struct timer *timer, unsigned batch, double *seconds, struct error *err)
{
	timer_begin(timer, batch, err);
	timer_release(timer, err);
	return timer_end(timer, seconds, err);
}

double timer_tick(const struct timer *timer)
{
	/* CUDA events tick at about 0.5 us, the host's clock at some 50 ns. */
	return timer->w->clock == CLOCK_DEVICE ? 0.5e-6 : 50e-9;
}
