/* Timing the lanes of a case. */
#include <math.h>

#include "base/memory.h"
#include "suites/transfer/transfer.h"

static enum status launch_lane(void *state, unsigned batch, struct error *err)
{
	return lane_copy(state, batch, err);
}

static enum status launch_and_wait(void *state, unsigned batch, struct error *err)
{
	struct lane *lane = state;

	if (lane_copy(lane, batch, err) != STATUS_OK)
		return err->status;
	return backend_stream_synchronize(lane->stream, err);
}

static void record(struct transfer *t, const struct series *time, double bytes)
{
	run_rate(t->run, "transfer.bandwidth", bytes, time);
	run_duration(t->run, "transfer.time", time);
	run_statistic(t->run, "transfer.first", time->first, time);
}

/* The clock is that of the device whose stream is timed. */
static enum status sample_on(struct transfer *t, const struct workload *w, const char *name,
			     const struct series **time, struct error *err)
{
	struct sampler sampler = t->run->sampler;
	enum status status;

	t->run->sampler.device = w->streams[0]->device;
	status = run_sample(t->run, w, name, time, err);
	t->run->sampler = sampler;
	return status;
}

static enum status measure_one(struct transfer *t, struct error *err)
{
	struct lane *lane = &t->lanes[0];
	bool blocks = t->info->host && t->memory == ALLOCATOR_PAGEABLE;
	struct workload w = { .state = lane,
			      .launch = blocks ? launch_and_wait : launch_lane,
			      .clock = blocks ? CLOCK_HOST : CLOCK_DEVICE,
			      .streams = &lane->stream,
			      .stream_count = 1,
			      .no_gate = blocks || t->staged };
	const struct series *time;

	if (sample_on(t, &w, "transfer.time", &time, err) != STATUS_OK)
		return err->status;
	record(t, time, (double)t->bytes);
	return STATUS_OK;
}

/* One lane is timed while all others are busy. */
struct contest {
	struct transfer *t;
	size_t timed;
	struct event *start;
};

/* The others have twice the work, so that they end later. */
static uint64_t busy_copies(const struct contest *c, const struct lane *other, uint64_t batch)
{
	uint64_t bytes = 2 * batch * c->t->lanes[c->timed].plan.bytes;

	return (bytes + other->plan.bytes - 1) / other->plan.bytes + 1;
}

/* They start with the first timed copy. */
static enum status launch_contest(void *state, unsigned batch, struct error *err)
{
	struct contest *c = state;
	struct lane *timed = &c->t->lanes[c->timed];

	if (backend_event_record(c->start, timed->stream, err) != STATUS_OK)
		return err->status;
	for (size_t i = 0; i < c->t->lane_count; i++) {
		struct lane *other = &c->t->lanes[i];

		if (i == c->timed)
			continue;
		if (backend_stream_wait(other->stream, c->start, err) != STATUS_OK ||
		    lane_copy(other, busy_copies(c, other, batch), err) != STATUS_OK)
			return err->status;
	}
	return lane_copy(timed, batch, err);
}

static enum status finish_contest(void *state, struct error *err)
{
	struct contest *c = state;

	for (size_t i = 0; i < c->t->lane_count; i++)
		if (i != c->timed &&
		    backend_stream_synchronize(c->t->lanes[i].stream, err) != STATUS_OK)
			return err->status;
	return STATUS_OK;
}

static enum status sample_contest(struct transfer *t, size_t timed, const char *name,
				  const struct series **time, struct error *err)
{
	struct contest c = { .t = t, .timed = timed };
	const struct lane *other = &t->lanes[t->lane_count - 1 - (timed == t->lane_count - 1)];
	struct workload w = { .state = &c,
			      .launch = launch_contest,
			      .finish = finish_contest,
			      .clock = CLOCK_DEVICE,
			      .streams = &t->lanes[timed].stream,
			      .stream_count = 1,
			      .commands = (unsigned)busy_copies(&c, other, 1) + 1,
			      .no_gate = t->staged };
	enum status status = backend_event_create(t->lanes[timed].stream->device, &c.start, err);

	if (status == STATUS_OK)
		status = sample_on(t, &w, name, time, err);
	backend_event_destroy(c.start);
	return status;
}

static enum status measure_first(struct transfer *t, struct error *err)
{
	const struct series *time;

	if (sample_contest(t, 0, "transfer.time", &time, err) != STATUS_OK)
		return err->status;
	record(t, time, (double)t->bytes);
	return STATUS_OK;
}

/* One kernel moves both ways in step, so both take the same time. */
static enum status measure_twins(struct transfer *t, struct error *err)
{
	static const char *const names[2] = { "transfer.bandwidth_h2d", "transfer.bandwidth_d2h" };
	struct workload w = { .state = &t->lanes[0],
			      .launch = launch_lane,
			      .clock = CLOCK_DEVICE,
			      .streams = &t->lanes[0].stream,
			      .stream_count = 1 };
	const struct series *time;

	if (sample_on(t, &w, "transfer.time", &time, err) != STATUS_OK)
		return err->status;
	record(t, time, 2 * (double)t->bytes);
	for (size_t i = 0; i < 2; i++)
		run_rate(t->run, names[i], (double)t->bytes, time);
	return STATUS_OK;
}

static enum status measure_in_turn(struct transfer *t, struct error *err)
{
	static const char *const series_names[2][2] = {
		{ "transfer.time_h2d", "transfer.time_d2h" },
		{ "transfer.time_forward", "transfer.time_backward" }
	};
	static const char *const metric_names[2][2] = {
		{ "transfer.bandwidth_h2d", "transfer.bandwidth_d2h" },
		{ "transfer.bandwidth_forward", "transfer.bandwidth_backward" }
	};
	bool peer = t->info->peer;
	double seconds[2] = { 0 };

	if (t->lanes[0].twin)
		return measure_twins(t, err);
	for (size_t i = 0; i < 2; i++) {
		int from = t->routes[i].from;
		int way = peer ? from : from != ROUTE_HOST;
		const struct series *time;

		if (sample_contest(t, i, series_names[peer][way], &time, err) != STATUS_OK)
			return err->status;
		seconds[i] = time->statistics.median;
		run_rate(t->run, metric_names[peer][way], (double)t->bytes, time);
	}
	run_sum(t->run, "transfer.bandwidth", metric_names[peer], 2);
	if (fmax(seconds[0], seconds[1]) > 2 * fmin(seconds[0], seconds[1]))
		run_note(t->run, "One direction is more than twice as fast as the other: the "
				 "faster one was not busy "
				 "all the time while the slower one was timed.");
	return STATUS_OK;
}

static enum status launch_together(void *state, unsigned batch, struct error *err)
{
	struct transfer *t = state;
	enum status status = STATUS_OK;

	for (size_t i = 0; i < t->lane_count && status == STATUS_OK; i++)
		status = lane_copy(&t->lanes[i], batch, err);
	return status;
}

static enum status measure_together(struct transfer *t, struct error *err)
{
	struct stream *streams[ROUTES_MAX];
	struct workload w = { .state = t,
			      .launch = launch_together,
			      .clock = CLOCK_DEVICE,
			      .streams = streams,
			      .stream_count = t->lane_count };
	const struct series *time;

	for (size_t i = 0; i < t->lane_count; i++)
		streams[i] = t->lanes[i].stream;
	if (sample_on(t, &w, "transfer.time", &time, err) != STATUS_OK)
		return err->status;
	record(t, time, (double)t->bytes * (double)t->lane_count);
	run_rate(t->run, "transfer.bandwidth_each", (double)t->bytes, time);
	return STATUS_OK;
}

/* Less than this of what the first pair has alone is a disturbance. */
#define KEPT_AT_LEAST 0.97

static enum status measure_pairs(struct transfer *t, struct error *err)
{
	struct lane *lane = &t->lanes[0];
	struct workload w = { .state = lane,
			      .launch = launch_lane,
			      .clock = CLOCK_DEVICE,
			      .streams = &lane->stream,
			      .stream_count = 1 };
	const struct series *alone;
	double seconds, kept;

	if (sample_on(t, &w, "transfer.time_alone", &alone, err) != STATUS_OK)
		return err->status;
	seconds = alone->statistics.median; /* the next series may move this one */
	if (measure_together(t, err) != STATUS_OK)
		return err->status;
	kept = seconds * case_metric(t->run->result, "transfer.bandwidth_each")->value /
	       (double)t->bytes;
	run_value(t->run, "transfer.kept", kept);
	run_note(t->run,
		 "Together the slowest of %zu pairs has %.1f %% of what %s and %s have alone: %s.",
		 t->lane_count, 100 * kept, lane->plan.from.device->info.id,
		 lane->plan.to.device->info.id,
		 kept < KEPT_AT_LEAST ? "they disturb each other, or one is slower"
				      : "they do not disturb each other");
	return STATUS_OK;
}

enum status transfer_measure(struct transfer *t, struct error *err)
{
	static enum status (*const measures[])(struct transfer *, struct error *) = {
		[TIME_ONE] = measure_one,     [TIME_IN_TURN] = measure_in_turn,
		[TIME_FIRST] = measure_first, [TIME_TOGETHER] = measure_together,
		[TIME_PAIRS] = measure_pairs,
	};

	return measures[t->info->timing](t, err);
}
