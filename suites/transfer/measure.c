/* Timed quantities of a case of copies, and the metrics derived from them. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "suites/transfer/transfer.h"

static enum status launch_lane(void *state, unsigned batch, struct error *err)
{
	return lane_copy(state, batch, err);
}

static enum status launch_and_wait(void *state, unsigned batch, struct error *err)
{
	struct transfer_lane *lane = state;

	if (lane_copy(lane, batch, err) != STATUS_OK)
		return err->status;
	return backend_stream_synchronize(lane->stream, err);
}

static void add_timing(struct transfer *t, const char *name, struct workload workload)
{
	t->timings[t->timing_count++] = (struct timing){ .name = name, .workload = workload };
}

const struct series *transfer_series(const struct transfer *t, size_t timing)
{
	return &t->run->result->series[t->timings[timing].series];
}

/* The clock is that of the device whose stream is timed. */
enum status transfer_sample(struct transfer *t, size_t i, const char *name, struct error *err)
{
	struct timing *timing = &t->timings[i];
	struct sampler sampler = t->run->sampler;
	const struct series *series;
	enum status status;

	t->run->sampler.device = timing->workload.streams[0]->device;
	status = run_sample(t->run, &timing->workload, name, &series, err);
	t->run->sampler = sampler;
	timing->series = (size_t)(series - t->run->result->series);
	return status;
}

/* The first lane by itself. */
static void plan_one(struct transfer *t, const char *name)
{
	struct transfer_lane *lane = &t->lanes[0];
	bool blocks = t->info->host && t->memory == ALLOCATOR_PAGEABLE;

	add_timing(t, name,
		   (struct workload){ .state = lane,
				      .launch = blocks ? launch_and_wait : launch_lane,
				      .clock = blocks ? CLOCK_HOST : CLOCK_DEVICE,
				      .streams = &lane->stream,
				      .stream_count = 1,
				      .no_gate = blocks || t->staged,
				      .has_energy = t->info->timing != TIME_PAIRS });
}

/* The others have twice the work, so that they end later. */
static uint64_t busy_copies(const struct contest *c, const struct transfer_lane *other,
			    uint64_t batch)
{
	uint64_t bytes = 2 * batch * c->t->lanes[c->timed].plan.bytes;

	return (bytes + other->plan.bytes - 1) / other->plan.bytes;
}

/* They start with the first timed copy. */
static enum status launch_contest(void *state, unsigned batch, struct error *err)
{
	struct contest *c = state;
	struct transfer_lane *timed = &c->t->lanes[c->timed];

	if (backend_event_record(c->start, timed->stream, err) != STATUS_OK)
		return err->status;
	for (size_t i = 0; i < c->t->lane_count; i++) {
		struct transfer_lane *other = &c->t->lanes[i];

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

enum status transfer_plan_contest(struct transfer *t, size_t timed, const char *name,
				  struct error *err)
{
	struct contest *c = &t->contests[t->timing_count];
	const struct transfer_lane *other =
		&t->lanes[t->lane_count - 1 - (timed == t->lane_count - 1)];

	*c = (struct contest){ .t = t, .timed = timed };
	if (backend_event_create(t->lanes[timed].stream->device, &c->start, err) != STATUS_OK)
		return err->status;
	add_timing(t, name,
		   (struct workload){ .state = c,
				      .launch = launch_contest,
				      .finish = finish_contest,
				      .clock = CLOCK_DEVICE,
				      .streams = &t->lanes[timed].stream,
				      .stream_count = 1,
				      .commands = (unsigned)busy_copies(c, other, 1) + 1,
				      .no_gate = t->staged });
	return STATUS_OK;
}

/* Index of a lane's direction: 0 from the host or forward, 1 to the host or backward. */
static size_t direction_of(const struct transfer *t, size_t lane)
{
	int from = t->routes[lane].from;

	return (size_t)(t->info->peer ? from : from != ROUTE_HOST);
}

static enum status plan_in_turn(struct transfer *t, struct error *err)
{
	static const char *const names[2][2] = { { "transfer.time_h2d", "transfer.time_d2h" },
						 { "transfer.time_forward",
						   "transfer.time_backward" } };
	bool peer = t->info->peer;

	for (size_t i = 0; i < 2; i++)
		if (transfer_plan_contest(t, i, names[peer][direction_of(t, i)], err) != STATUS_OK)
			return err->status;
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

static void plan_together(struct transfer *t)
{
	for (size_t i = 0; i < t->lane_count; i++)
		t->streams[i] = t->lanes[i].stream;
	add_timing(t, "transfer.time",
		   (struct workload){ .state = t,
				      .launch = launch_together,
				      .clock = CLOCK_DEVICE,
				      .streams = t->streams,
				      .stream_count = t->lane_count,
				      .has_energy = true });
}

enum status transfer_plan_timings(struct transfer *t, struct error *err)
{
	enum timing_kind kind = t->info->timing;

	if (kind == TIME_FIRST)
		return transfer_plan_contest(t, 0, "transfer.time", err);
	if (kind == TIME_IN_TURN && !t->lanes[0].reverse)
		return plan_in_turn(t, err);
	if (kind == TIME_PAIRS)
		plan_one(t, "transfer.time_alone");
	if (kind == TIME_PAIRS || kind == TIME_TOGETHER)
		plan_together(t);
	else
		plan_one(t, "transfer.time");
	return STATUS_OK;
}

void transfer_close_timings(struct transfer *t)
{
	for (size_t i = 0; i < t->timing_count; i++) {
		backend_event_destroy(t->contests[i].start);
		t->contests[i].start = NULL;
	}
	t->timing_count = 0;
}

static bool has_energy(const struct transfer *t)
{
	return t->timings[t->timing_count - 1].workload.has_energy;
}

static void record(struct transfer *t, const struct series *time, double bytes)
{
	run_rate(t->run, "transfer.bandwidth", bytes, time);
	run_duration(t->run, "transfer.time", time);
	run_statistic(t->run, "transfer.first", time->first, time);
	if (has_energy(t))
		run_energy(t->run, "bytes_per_joule", bytes);
}

/* One kernel moves both directions in step, so both take the same time. */
static void record_reverses(struct transfer *t)
{
	static const char *const names[2] = { "transfer.bandwidth_h2d", "transfer.bandwidth_d2h" };

	record(t, transfer_series(t, 0), 2 * (double)t->bytes);
	for (size_t i = 0; i < 2; i++)
		run_rate(t->run, names[i], (double)t->bytes, transfer_series(t, 0));
}

static void record_in_turn(struct transfer *t)
{
	static const char *const names[2][2] = {
		{ "transfer.bandwidth_h2d", "transfer.bandwidth_d2h" },
		{ "transfer.bandwidth_forward", "transfer.bandwidth_backward" }
	};
	bool peer = t->info->peer;
	double seconds[2];

	for (size_t i = 0; i < 2; i++) {
		seconds[i] = transfer_series(t, i)->statistics.median;
		run_rate(t->run, names[peer][direction_of(t, i)], (double)t->bytes,
			 transfer_series(t, i));
	}
	run_sum(t->run, "transfer.bandwidth", names[peer], 2);
	if (fmax(seconds[0], seconds[1]) > 2 * fmin(seconds[0], seconds[1]))
		run_note(t->run,
			 "One direction is more than twice as fast as the other: the faster one "
			 "was not busy all the time while the slower one was timed.");
}

static void record_together(struct transfer *t, const struct series *time)
{
	record(t, time, (double)t->bytes * (double)t->lane_count);
	run_rate(t->run, "transfer.bandwidth_each", (double)t->bytes, time);
}

/* Less than this of what the first pair has alone is a disturbance. */
#define KEPT_AT_LEAST 0.97

static void record_pairs(struct transfer *t)
{
	const struct transfer_lane *lane = &t->lanes[0];
	double kept;

	record_together(t, transfer_series(t, 1));
	kept = transfer_series(t, 0)->statistics.median *
	       case_metric(t->run->result, "transfer.bandwidth_each")->value / (double)t->bytes;
	run_value(t->run, "transfer.concurrent_share", kept);
	run_note(t->run,
		 "Together the slowest of %zu pairs has %.1f %% of what %s and %s have alone: %s.",
		 t->lane_count, 100 * kept, lane->plan.from.device->info.id,
		 lane->plan.to.device->info.id,
		 kept < KEPT_AT_LEAST ? "they disturb each other, or one is slower"
				      : "they do not disturb each other");
}

void transfer_record(struct transfer *t)
{
	enum timing_kind kind = t->info->timing;

	if (kind == TIME_IN_TURN && t->lanes[0].reverse)
		record_reverses(t);
	else if (kind == TIME_IN_TURN)
		record_in_turn(t);
	else if (kind == TIME_TOGETHER)
		record_together(t, transfer_series(t, 0));
	else if (kind == TIME_PAIRS)
		record_pairs(t);
	else
		record(t, transfer_series(t, 0), (double)t->bytes);
	if (!has_energy(t) && t->run->sampler.rules->energy_seconds > 0)
		run_note(t->run, "No energy: other copies, which are not timed, take some of it.");
}
