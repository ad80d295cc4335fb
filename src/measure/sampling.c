/*
 * A sample is a batch of operations between two events (or two readings of the host's clock). The batch is
 * enqueued behind a gate, so that the time it takes to enqueue is not in the number; ranks open their gates
 * together. What the caller never sees here: warm-up, batch choice, the stop rule.
 */
#include "measure/sampling.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "measure/statistics.h"
#include "measure/world.h"

/* A gated batch must fit the device's queue, or enqueueing blocks on the closed gate: CUDA holds 1,024 commands. */
#define GATED_COMMANDS 512
#define LARGEST_BATCH 65536
#define GATE_TIMEOUT_SECONDS 10.0
#define MAX_STREAMS 32
/* Progress is for eyes. */
#define REPORT_SECONDS 0.1
/* How often max_seconds the samples may take that a workload wants beyond the rules. */
#define WORKLOAD_PATIENCE 4

/* Resolution of one reading: CUDA events tick at about 0.5 us, the host's clock at some 50 ns. */
static const double tick_seconds[] = { [CLOCK_DEVICE] = 0.5e-6, [CLOCK_HOST] = 50e-9 };

struct session {
	const struct sampler *sampler;
	const struct workload *w;
	struct event *start, *end;
	struct event *join[MAX_STREAMS]; /* of streams 1.. */
	bool gated;
	unsigned sized; /* the batch that w->resize() was last told */
	struct series *series;
	double began;       /* host clock at the first counted sample */
	double half_width;  /* relative; NaN until there is an interval */
	double earlier_half_width; /* at half as many samples */
	size_t next_check, next_doubling;
	double next_report; /* host clock */
};

static enum status open_events(struct session *s, struct error *err)
{
	struct device *device = s->sampler->device;

	if (s->w->clock != CLOCK_DEVICE)
		return STATUS_OK;
	if (s->w->stream_count == 0 || s->w->stream_count > MAX_STREAMS)
		return error_set(err, STATUS_INTERNAL, "a workload on the device's clock needs 1 to %d streams, not %zu",
				 MAX_STREAMS, s->w->stream_count);
	if (backend_event_create(device, &s->start, err) != STATUS_OK ||
	    backend_event_create(device, &s->end, err) != STATUS_OK)
		return err->status;
	for (size_t i = 1; i < s->w->stream_count; i++)
		if (backend_event_create(s->w->streams[i]->device, &s->join[i], err) != STATUS_OK)
			return err->status;
	return STATUS_OK;
}

static void close_events(struct session *s)
{
	backend_event_destroy(s->start);
	backend_event_destroy(s->end);
	for (size_t i = 1; i < MAX_STREAMS; i++)
		backend_event_destroy(s->join[i]);
}

/* start event, fork to the other streams, the batch, join, end event. */
static enum status enqueue(struct session *s, unsigned batch, struct error *err)
{
	struct stream *const *streams = s->w->streams;
	size_t count = s->w->stream_count;
	enum status status = backend_event_record(s->start, streams[0], err);

	for (size_t i = 1; i < count && status == STATUS_OK; i++)
		status = backend_stream_wait(streams[i], s->start, err);
	if (status == STATUS_OK)
		status = s->w->launch(s->w->state, batch, err);
	for (size_t i = 1; i < count && status == STATUS_OK; i++) {
		status = backend_event_record(s->join[i], streams[i], err);
		if (status == STATUS_OK)
			status = backend_stream_wait(streams[0], s->join[i], err);
	}
	return status == STATUS_OK ? backend_event_record(s->end, streams[0], err) : status;
}

static enum status time_on_device(struct session *s, unsigned batch, double *seconds, struct error *err)
{
	struct stream *stream = s->w->streams[0];
	enum status status = STATUS_OK;

	if (s->gated)
		status = backend_gate_close(stream, GATE_TIMEOUT_SECONDS, err);
	else
		world_barrier(s->sampler->world);
	if (status == STATUS_OK)
		status = enqueue(s, batch, err);
	if (s->gated) {
		struct error gate_error = ERROR_NONE;

		world_barrier(s->sampler->world);
		/* Opened even after a failure: a closed gate would hold the stream until its time-out. */
		if (backend_gate_open(stream, &gate_error) != STATUS_OK && status == STATUS_OK)
			status = error_set(err, gate_error.status, "%s", gate_error.message);
	}
	if (status == STATUS_OK)
		status = backend_event_synchronize(s->end, err);
	return status == STATUS_OK ? backend_event_elapsed(s->start, s->end, seconds, err) : status;
}

static enum status time_on_host(struct session *s, unsigned batch, double *seconds, struct error *err)
{
	enum status status;
	double start;

	world_barrier(s->sampler->world);
	start = clock_seconds();
	status = s->w->launch(s->w->state, batch, err);
	*seconds = clock_seconds() - start;
	return status;
}

/* One sample: seconds of the whole batch on the slowest rank. */
static enum status take(struct session *s, unsigned batch, double *seconds, struct error *err)
{
	const struct workload *w = s->w;
	enum status status = STATUS_OK;

	*seconds = 0;
	if (w->resize && batch != s->sized)
		status = w->resize(w->state, batch, err);
	s->sized = batch;
	if (w->prepare && status == STATUS_OK)
		status = w->prepare(w->state, err);
	status = world_agree(s->sampler->world, status, err);
	if (status != STATUS_OK)
		return status;
	status = w->clock == CLOCK_DEVICE ? time_on_device(s, batch, seconds, err) :
					    time_on_host(s, batch, seconds, err);
	if (w->finish) {
		/* Also after a failure: it releases what launch() made. */
		enum status finished = w->finish(w->state, err);

		status = status == STATUS_OK ? finished : status;
	}
	status = world_agree(s->sampler->world, status, err);
	*seconds = world_max(s->sampler->world, *seconds);
	return status;
}

static unsigned largest_batch(const struct session *s)
{
	unsigned commands = s->w->commands ? s->w->commands : 1;
	unsigned largest = s->w->max_batch ? s->w->max_batch : LARGEST_BATCH;

	if (s->gated && largest > GATED_COMMANDS / commands)
		largest = GATED_COMMANDS / commands;
	return largest;
}

/*
 * The first operation ever. Never behind the gate: a kernel is loaded when it is first launched, and loading waits
 * for the device, which the closed gate holds.
 */
static enum status take_first(struct session *s, double *seconds, struct error *err)
{
	bool gated = s->gated;
	enum status status;

	s->gated = false;
	status = take(s, 1, seconds, err);
	s->gated = gated;
	s->series->first = status == STATUS_OK ? *seconds : NAN;
	return status;
}

/*
 * The cold first operation, warm-up, and the batch for which a sample lasts sample_seconds. The first guess comes
 * from a batch of one, which a launch dominates when the operation is short: so guess again from larger batches.
 */
static enum status warm_up(struct session *s, struct error *err)
{
	const struct sampling *rules = s->sampler->rules;
	unsigned largest = largest_batch(s), batch = 1;
	double seconds;
	enum status status = take_first(s, &seconds, err);

	/* One at least: what the first took says nothing about the batch. */
	for (int64_t i = 0; i < (rules->warmup ? rules->warmup : 1) && status == STATUS_OK; i++)
		status = take(s, 1, &seconds, err);
	for (int guess = 0; guess < 4 && status == STATUS_OK && batch < largest; guess++) {
		double wanted = seconds > 0 ? rules->sample_seconds / seconds * batch : largest;

		if (seconds >= 0.9 * rules->sample_seconds)
			break;
		batch = wanted >= largest ? largest : (unsigned)ceil(wanted);
		status = take(s, batch, &seconds, err);
	}
	s->series->batch = batch;
	return status;
}

/*
 * Ten digits are beyond any clock; a double's seventeen only say how it was divided, and make result files twice as
 * large and as slow to read. Powers of ten up to 22 are exact, so the quotient is the double nearest to the decimal.
 */
static double ten_digits(double seconds)
{
	int places = seconds > 0 && isfinite(seconds) ? 9 - (int)floor(log10(seconds)) : -1;
	double scale;

	if (places < 0 || places > 22)
		return seconds;
	scale = pow(10, places);
	return rint(seconds * scale) / scale;
}

static void add_sample(struct series *series, double value)
{
	ARRAY_GROW(series->samples, series->count, series->capacity);
	series->samples[series->count++] = ten_digits(value);
}

/* Relative half width of the median's interval so far; NaN before there is one. */
static double half_width_of(const struct series *series)
{
	struct statistics s;

	statistics_compute(series->samples, series->count, series->batch, 0, NULL, &s);
	return s.median > 0 ? fmax(s.high - s.median, s.median - s.low) / s.median : NAN;
}

/* Twice as many samples narrow an interval of independent ones by 0.71; above 0.95 more are no use. */
static bool no_longer_narrows(struct session *s)
{
	bool stable;

	if (s->series->count < s->next_doubling)
		return false;
	stable = s->half_width > 0.95 * s->earlier_half_width;
	s->earlier_half_width = s->half_width;
	s->next_doubling *= 2;
	return stable;
}

/* What the rules ask for is taken however long it takes; what the workload asks for beyond that has an end. */
static bool enough(const struct session *s, size_t min_samples)
{
	const struct sampling *rules = s->sampler->rules;
	size_t n = s->series->count;

	return n >= min_samples || (n >= (size_t)rules->min_samples &&
				    clock_seconds() - s->began >= WORKLOAD_PATIENCE * rules->max_seconds);
}

static bool rules_say_stop(struct session *s, size_t min_samples)
{
	const struct sampling *rules = s->sampler->rules;
	struct series *series = s->series;
	size_t n = series->count;

	if (!enough(s, min_samples))
		return false;
	/* Sorting after every sample would cost more than many a sample: look again after 5 % more. */
	if (n >= s->next_check) {
		s->next_check = n + 1 + n / 20;
		s->half_width = half_width_of(series);
		if (s->half_width <= rules->target) {
			series->stop = STOP_CONVERGED;
			return true;
		}
		if (no_longer_narrows(s)) {
			series->stop = STOP_STABLE;
			return true;
		}
	}
	series->stop = n >= (size_t)rules->max_samples ? STOP_MAX_SAMPLES : STOP_MAX_TIME;
	return n >= (size_t)rules->max_samples || clock_seconds() - s->began >= rules->max_seconds;
}

/* Whether to go on is rank 0's decision: clocks differ, and all ranks must stop at the same sample. */
static bool agreed_stop(struct session *s, size_t min_samples)
{
	int decision[2] = { rules_say_stop(s, min_samples), (int)s->series->stop };

	if (s->sampler->stop && *s->sampler->stop) {
		decision[0] = 1;
		decision[1] = STOP_INTERRUPTED;
	}
	world_broadcast(s->sampler->world, 0, decision, sizeof(decision));
	s->series->stop = (enum stop_reason)decision[1];
	return decision[0];
}

/* The median of n samples costs more than many a sample: never after each of them. */
static void report_progress(struct session *s)
{
	const struct sampler *sampler = s->sampler;
	double now;

	if (!sampler->progress)
		return;
	now = clock_seconds();
	if (now < s->next_report)
		return;
	s->next_report = now + REPORT_SECONDS;
	sampler->progress(sampler->progress_context, s->series->count,
			  median_of(s->series->samples, s->series->count), s->half_width);
}

static enum status take_all(struct session *s, struct error *err)
{
	const struct sampling *rules = s->sampler->rules;
	size_t min_samples = (size_t)rules->min_samples;
	enum status status;
	double seconds;

	if ((size_t)s->w->min_samples > min_samples)
		min_samples = (size_t)s->w->min_samples;
	s->next_check = min_samples;
	s->next_doubling = 2 * min_samples;
	s->earlier_half_width = INFINITY;
	s->began = clock_seconds();
	s->next_report = s->began + REPORT_SECONDS;
	do {
		status = take(s, s->series->batch, &seconds, err);
		if (status != STATUS_OK)
			return status;
		add_sample(s->series, seconds / s->series->batch);
		report_progress(s);
	} while (!agreed_stop(s, min_samples));
	if (s->series->stop == STOP_INTERRUPTED)
		return error_set(err, STATUS_INTERRUPTED, "interrupted after %zu samples", s->series->count);
	return STATUS_OK;
}

enum status sample(const struct sampler *sampler, const struct workload *workload, struct series *series,
		   struct error *err)
{
	struct world alone = { 0, 1, NULL };
	struct sampler own = *sampler;
	struct workload agreed = *workload;
	struct session s = { .sampler = &own, .w = &agreed, .series = series, .half_width = NAN };
	enum status status;

	if (!own.world)
		own.world = &alone;
	/* Ranks may have different parts of one operation; they need the same gate and the same batch. */
	agreed.commands = (unsigned)world_max(own.world, workload->commands);
	s.gated = workload->clock == CLOCK_DEVICE && !workload->no_gate && agreed.commands <= GATED_COMMANDS &&
		  sampler->device->backend->gate_close;
	series->batch = 1;
	series->first = NAN;
	status = world_agree(own.world, open_events(&s, err), err);
	if (status == STATUS_OK)
		status = warm_up(&s, err);
	if (status == STATUS_OK)
		status = take_all(&s, err);
	close_events(&s);
	statistics_compute(series->samples, series->count, series->batch,
			   tick_seconds[workload->clock] / series->batch, NULL, &series->statistics);
	return status;
}
