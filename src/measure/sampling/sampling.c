/*
 * Samples one workload into a series: warm-up, choice of the batch, preheat, samples until the stop
 * rule ends them, energy. A sample is timed with the device's clock after a gate, or with the
 * host's clock. several.c samples several workloads.
 */
#include "measure/sampling/sampling.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/stats.h"
#include "measure/activity.h"
#include "measure/processes/world.h"
#include "measure/sampling/session.h"
#include "result/statistics.h"

#define GATE_TIMEOUT_SECONDS 10.0
/*
 * A gated batch must fit the device's queue, or enqueueing blocks on the closed gate: CUDA's queue
 * holds 1,024 commands.
 */
#define GATED_COMMANDS 512

static enum status sampling_timer_open_events(struct timer *t, struct error *err)
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

/*
 * Device clock: closes the gate, or waits for all ranks; then enqueues the alignment of ranks, the
 * start event, and the fork to the other streams.
 */
static enum status sampling_timer_enqueue_start(struct timer *t, struct error *err)
{
	struct stream *const *streams = t->w->streams;
	enum status status = STATUS_OK;

	if (t->gated)
		status = backend_gate_close(streams[0], GATE_TIMEOUT_SECONDS, err);
	else
		world_barrier(t->sampler->world);
	if (t->w->align && status == STATUS_OK)
		status = t->w->align(t->w->state, err);
	if (status == STATUS_OK)
		status = backend_event_record(t->start, streams[0], err);
	for (size_t i = 1; i < t->w->stream_count && status == STATUS_OK; i++)
		status = backend_stream_wait(streams[i], t->start, err);
	return status;
}

/* Enqueues the join of the other streams and the end event. */
static enum status sampling_timer_enqueue_end(struct timer *t, struct error *err)
{
	struct stream *const *streams = t->w->streams;
	enum status status = STATUS_OK;

	for (size_t i = 1; i < t->w->stream_count && status == STATUS_OK; i++) {
		status = backend_event_record(t->join[i], streams[i], err);
		if (status == STATUS_OK)
			status = backend_stream_wait(streams[0], t->join[i], err);
	}
	return status == STATUS_OK ? backend_event_record(t->end, streams[0], err) : status;
}

enum status sampling_timer_begin(struct timer *t, unsigned batch, struct error *err)
{
	const struct workload *w = t->w;
	enum status status = STATUS_OK;
	double start;

	t->seconds = 0;
	if (w->resize && batch != t->sized)
		status = w->resize(w->state, batch, err);
	t->sized = batch;
	if (w->prepare && status == STATUS_OK)
		status = w->prepare(w->state, err);
	t->status = world_agree(t->sampler->world, status, err);
	t->begun = t->status == STATUS_OK;
	if (!t->begun)
		return t->status;
	if (w->clock == CLOCK_DEVICE)
		t->status = sampling_timer_enqueue_start(t, err);
	else
		world_barrier(t->sampler->world);
	start = clock_seconds();
	if (t->status == STATUS_OK)
		t->status = w->launch(w->state, batch, err);
	if (w->clock == CLOCK_HOST)
		t->seconds = clock_seconds() - start;
	else if (t->status == STATUS_OK)
		t->status = sampling_timer_enqueue_end(t, err);
	return t->status;
}

void sampling_timer_release(struct timer *t, struct error *err)
{
	struct error gate_error = ERROR_NONE;

	if (!t->begun || !t->gated)
		return;
	world_barrier(t->sampler->world);
	/* Opened even after a failure: a closed gate would block the stream until its timeout. */
	if (backend_gate_open(t->w->streams[0], &gate_error) != STATUS_OK && t->status == STATUS_OK)
		t->status = error_set(err, gate_error.status, "%s", gate_error.message);
}

enum status sampling_timer_end(struct timer *t, double *seconds, struct error *err)
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
		/* Also called after a failure: it releases what launch() created. */
		enum status finished = w->finish(w->state, err);

		t->status = t->status == STATUS_OK ? finished : t->status;
	}
	t->status = world_agree(t->sampler->world, t->status, err);
	*seconds = world_max(t->sampler->world, t->seconds);
	return t->status;
}

bool sampling_timer_ended(struct timer *t, struct error *err)
{
	bool reached = true;

	if (t->begun && t->status == STATUS_OK && t->w->clock == CLOCK_DEVICE)
		t->status = backend_event_reached(t->end, &reached, err);
	return reached || t->status != STATUS_OK;
}

enum status sampling_timer_take(struct timer *timer, unsigned batch, double *seconds,
				struct error *err)
{
	sampling_timer_begin(timer, batch, err);
	sampling_timer_release(timer, err);
	return sampling_timer_end(timer, seconds, err);
}

#define LARGEST_BATCH 65536
/* Interval of progress reports. */
#define REPORT_SECONDS 0.1

static unsigned sampling_session_largest_batch(const struct session *s)
{
	unsigned commands = s->w->commands ? s->w->commands : 1;
	unsigned largest = s->w->max_batch ? s->w->max_batch : LARGEST_BATCH;

	if (s->timer.gated && largest > GATED_COMMANDS / commands)
		largest = GATED_COMMANDS / commands;
	return largest;
}

double sampling_session_preheats(const struct session *s)
{
	return s->warm_seconds > 0 ? ceil(s->sampler->rules->preheat_seconds / s->warm_seconds) : 0;
}

/*
 * The first estimate of the batch size comes from a batch of one, which launch overhead dominates
 * for short operations; repeats the estimate with larger batches.
 */
enum status sampling_session_warm_up(struct session *s, struct error *err)
{
	const struct sampling *rules = s->sampler->rules;
	unsigned largest = sampling_session_largest_batch(s), batch = 1;
	bool gated = s->timer.gated;
	enum status status;
	double seconds;

	/*
	 * The very first operation is never after the gate: a kernel is loaded at its first launch,
	 * and loading waits for the device, which the closed gate blocks.
	 */
	s->timer.gated = false;
	status = sampling_timer_take(&s->timer, 1, &seconds, err);
	s->timer.gated = gated;
	activity_sampled(s->sampler->activity, 0);
	s->series->first = status == STATUS_OK ? seconds : NAN;
	/* At least one: the first operation does not show the time of the others. */
	for (int64_t i = 0; i < (rules->warmup ? rules->warmup : 1) && status == STATUS_OK; i++)
		status = sampling_timer_take(&s->timer, 1, &seconds, err);
	if (s->w->min_batch > 1 && largest > 1 && status == STATUS_OK) {
		batch = s->w->min_batch < largest ? s->w->min_batch : largest;
		status = sampling_timer_take(&s->timer, batch, &seconds, err);
	}
	for (int guess = 0; guess < 4 && status == STATUS_OK && batch < largest; guess++) {
		double wanted = seconds > 0 ? rules->sample_seconds / seconds * batch : largest;

		if (seconds >= 0.9 * rules->sample_seconds)
			break;
		batch = wanted >= largest ? largest : (unsigned)ceil(wanted);
		status = sampling_timer_take(&s->timer, batch, &seconds, err);
		activity_sampled(s->sampler->activity, 0);
	}
	s->series->batch = batch;
	s->warm_seconds = seconds;
	return status;
}

/*
 * Keeps ten digits, which exceed the resolution of any clock. A double's seventeen would only show
 * rounding of the division, and double the size of result files and the time to read them. Powers
 * of ten up to 22 are exact, so the quotient is the double nearest to the decimal.
 */
void sampling_series_add(struct series *series, double value)
{
	int places = value > 0 && isfinite(value) ? 9 - (int)floor(log10(value)) : -1;

	ARRAY_GROW(series->samples, series->count, series->capacity);
	if (places >= 0 && places <= 22)
		value = rint(value * pow(10, places)) / pow(10, places);
	series->samples[series->count++] = value;
}

void sampling_series_drop_first(struct series *series, size_t count)
{
	series->count -= count;
	series->warmup += count;
	memmove(series->samples, series->samples + count, series->count * sizeof(double));
}

/* Rank 0 decides whether to continue: clocks differ, and all ranks must stop at the same sample. */
bool sampling_session_has_enough(struct session *s)
{
	struct series *series = s->series;
	struct stop_decision decision = stop_rule_decide(&s->rule, series->samples, series->count,
							 clock_seconds() - s->began);

	if (s->sampler->stop && *s->sampler->stop)
		decision = (struct stop_decision){ .end = true, .reason = STOP_INTERRUPTED };
	world_broadcast(s->sampler->world, 0, &decision, sizeof(decision));
	sampling_series_drop_first(series, decision.drop);
	series->stop = decision.reason;
	series->unsettled = decision.unsettled;
	return decision.end;
}

void sampling_session_begin_counting(struct session *s)
{
	stop_rule_begin(&s->rule, s->sampler->rules, (size_t)s->w->min_samples);
	s->began = clock_seconds();
	s->next_report = s->began + REPORT_SECONDS;
}

void sampling_session_count(struct session *s, double seconds)
{
	const struct sampler *sampler;
	double now;

	activity_sampled(s->sampler->activity, 1);
	sampling_series_add(s->series, seconds / s->series->batch);
	/*
	 * Computing the median takes longer than taking many samples, so it is not recomputed after
	 * every sample.
	 */
	sampler = s->sampler;
	if (!sampler->progress)
		return;
	now = clock_seconds();
	if (now < s->next_report)
		return;
	s->next_report = now + REPORT_SECONDS;
	sampler->progress(sampler->progress_context, s->series->count,
			  median_of(s->series->samples, s->series->count), s->rule.half_width);
}

enum status sampling_session_interrupted(const struct session *s, struct error *err)
{
	return error_set(err, STATUS_INTERRUPTED, "interrupted after %zu samples",
			 s->series->count);
}

enum status sampling_session_open(struct session *s, const struct sampler *sampler,
				  const struct workload *workload, struct series *series,
				  struct error *err)
{
	*s = (struct session){ .sampler = sampler, .w = workload, .series = series };
	series->batch = 1;
	series->first = NAN;
	series->load = sampler->rules->least_seconds > 0;
	/* A failed timer must be closed as well. */
	s->timer = (struct timer){ .sampler = sampler, .w = workload };
	s->timer.gated = workload->clock == CLOCK_DEVICE && !workload->no_gate &&
			 workload->commands <= GATED_COMMANDS &&
			 sampler->device->backend->gate_close;
	return world_agree(sampler->world, sampling_timer_open_events(&s->timer, err), err);
}

void sampling_series_finish(struct series *series, double tick)
{
	static const struct noise_limits none = { INFINITY, INFINITY, INFINITY };
	struct statistics *s = &series->statistics;
	char noise[sizeof(s->noise)];

	statistics_compute(series->samples, series->count, series->batch, tick / series->batch,
			   series->load ? &none : NULL, s);
	if (series->load) {
		double low, high,
			mean = stats_median_load_mean(series->samples, series->count, &low, &high);

		/* Oscillation caused by a limit is not noise; an uncertain mean is. */
		if (high - mean > noise_limits_default.mad * mean) {
			s->noisy = true;
			snprintf(s->noise, sizeof(s->noise), "mean only known to %.1f %%",
				 100 * (high / mean - 1));
		}
	}
	if (series->unsettled) {
		/* Before other notes about noise. */
		snprintf(noise, sizeof(noise), "not settled%s%.80s", s->noisy ? ", " : "",
			 s->noise);
		memcpy(s->noise, noise, sizeof(noise));
		s->noisy = true;
	}
}

void sampling_session_close(struct session *s)
{
	backend_event_destroy(s->timer.start);
	backend_event_destroy(s->timer.end);
	for (size_t i = 1; s->timer.join && i < s->timer.w->stream_count; i++)
		backend_event_destroy(s->timer.join[i]);
	free(s->timer.join);
	/* Resolution of one clock reading, in seconds. */
	sampling_series_finish(s->series, s->timer.w->clock == CLOCK_DEVICE ? 0.5e-6 : 50e-9);
}

/* Ranks check the stop flag only where they agree on it; a single process checks here. */
static enum status sampling_session_preheat(struct session *s, struct error *err)
{
	const struct sampler *sampler = s->sampler;
	double count = sampling_session_preheats(s);
	bool alone = !sampler->world || sampler->world->size == 1;
	double taken;

	for (double i = 0; i < count; i++) {
		if (alone && sampler->stop && *sampler->stop)
			break;
		if (sampling_timer_take(&s->timer, s->series->batch, &taken, err) != STATUS_OK)
			break;
		activity_sampled(sampler->activity, 0);
	}
	return err->status;
}

/* Long enough that gaps between batches are negligible. */
#define ENERGY_SAMPLE_SECONDS 0.05

/* Before the window: a batch of ENERGY_SAMPLE_SECONDS, equal on all ranks. */
static enum status sampling_session_choose_energy_batch(struct session *s, unsigned *batch,
							struct error *err)
{
	double largest = sampling_session_largest_batch(s), wanted, seconds;

	*batch = s->series->batch;
	if (sampling_timer_take(&s->timer, *batch, &seconds, err) != STATUS_OK || !(seconds > 0))
		return err->status;
	wanted = fmin(ceil(ENERGY_SAMPLE_SECONDS / seconds) * *batch, largest);
	if (wanted <= *batch)
		return STATUS_OK;
	/* Untimed: creates what depends on the batch size (a graph). */
	*batch = (unsigned)wanted;
	return sampling_timer_take(&s->timer, *batch, &seconds, err);
}

/* Rank 0's clock decides when to end. */
static enum status sampling_work_for(struct session *s, unsigned batch, double seconds,
				     struct work_energy *energy, struct error *err)
{
	const struct sampler *sampler = s->sampler;
	double began = clock_seconds(), taken;
	bool enough;

	do {
		if (sampling_timer_take(&s->timer, batch, &taken, err) != STATUS_OK)
			break;
		activity_sampled(sampler->activity, 0);
		energy->busy_seconds += taken;
		energy->operations += batch;
		enough = clock_seconds() - began >= seconds || (sampler->stop && *sampler->stop);
		world_broadcast(sampler->world, 0, &enough, sizeof(enough));
	} while (!enough);
	return err->status;
}

/* A failure of one rank ends the case before the others wait for its reading. */
static enum status sampling_measure_energy(struct session *s, struct error *err)
{
	const struct sampler *sampler = s->sampler;
	struct work_energy *energy = sampler->energy, uncounted = { .operations = 0 };
	struct energy_meter *meter;
	enum status status;
	unsigned batch;
	double after;

	if (!energy || !s->w->has_energy || !(sampler->rules->energy_seconds > 0))
		return STATUS_OK;
	*energy = (struct work_energy){ .operations = 0 };
	if (sampling_session_choose_energy_batch(s, &batch, err) != STATUS_OK)
		return err->status;
	if (sampler->energy_begins)
		sampler->energy_begins(sampler->energy_context);
	meter = energy_meter_begin(sampler->energy_devices, sampler->energy_device_count);
	status = sampling_work_for(s, batch, sampler->rules->energy_seconds, energy, err);
	energy_meter_read(meter);
	status = world_agree(sampler->world, status, err);
	after = status == STATUS_OK ? world_max(sampler->world, energy_meter_after_seconds(meter))
				    : 0;
	/* The counter's update at the end of the window then covers the same work. */
	if (after > 0) {
		status = sampling_work_for(s, batch, after, &uncounted, err);
		status = world_agree(sampler->world, status, err);
	}
	energy_meter_end(meter, status == STATUS_OK ? sampler->world : NULL, &energy->window);
	return status;
}

enum status sample(const struct sampler *sampler, const struct workload *workload,
		   struct series *series, struct error *err)
{
	struct world alone = { .size = 1 };
	struct sampler own = *sampler;
	struct workload agreed = *workload;
	struct session s;
	enum status status;

	if (!own.world)
		own.world = &alone;
	/* Ranks may have different parts of an operation, but need the same gate and batch. */
	agreed.commands = (unsigned)world_max(own.world, workload->commands);
	status = sampling_session_open(&s, &own, &agreed, series, err);
	if (status == STATUS_OK)
		status = sampling_session_warm_up(&s, err);
	if (status == STATUS_OK)
		status = sampling_session_preheat(&s, err);
	sampling_session_begin_counting(&s);
	while (status == STATUS_OK) {
		double seconds;

		status = sampling_timer_take(&s.timer, series->batch, &seconds, err);
		if (status != STATUS_OK)
			break;
		sampling_session_count(&s, seconds);
		if (sampling_session_has_enough(&s))
			break;
	}
	if (status == STATUS_OK && series->stop == STOP_INTERRUPTED)
		status = sampling_session_interrupted(&s, err);
	if (status == STATUS_OK)
		status = sampling_measure_energy(&s, err);
	sampling_session_close(&s);
	return status;
}
