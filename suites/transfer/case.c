/* One case of copies from its parameters to its outcome: buffers, timings, metrics. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "base/units.h"
#include "plan/suite.h"
#include "suites/transfer/lane.h"
#include "suites/transfer/transfer.h"

static enum status transfer_case_launch_lane(void *state, unsigned batch, struct error *err)
{
	return lane_copy(state, batch, err);
}

static enum status transfer_case_copy_and_wait(void *state, unsigned batch, struct error *err)
{
	struct transfer_lane *lane = state;

	if (lane_copy(lane, batch, err) != STATUS_OK)
		return err->status;
	return backend_stream_synchronize(lane->stream, err);
}

static void transfer_case_add_timing(struct transfer *t, const char *name, struct workload workload)
{
	t->timings[t->timing_count] =
		(struct timing){ .name = name,
				 .workload = workload,
				 .series = t->run->result->series_count + t->timing_count };
	t->timing_count++;
}

const struct series *transfer_case_series(const struct transfer *t, size_t timing)
{
	return &t->run->result->series[t->timings[timing].series];
}

/* The first lane alone. */
static void transfer_case_plan_one(struct transfer *t, const char *name)
{
	struct transfer_lane *lane = &t->lanes[0];
	bool blocks = t->info->host && t->memory == ALLOCATOR_PAGEABLE;

	transfer_case_add_timing(t, name,
				 (struct workload){ .state = lane,
						    .launch = blocks ? transfer_case_copy_and_wait
								     : transfer_case_launch_lane,
						    .clock = blocks ? CLOCK_HOST : CLOCK_DEVICE,
						    .streams = &lane->stream,
						    .stream_count = 1,
						    .no_gate = blocks || t->staged,
						    .has_energy = t->info->timing != TIME_PAIRS });
}

/* The others have twice the work, so that they end later. */
static uint64_t transfer_case_busy_copies(const struct contended_copy *c,
					  const struct transfer_lane *other, uint64_t batch)
{
	uint64_t bytes = 2 * batch * c->t->lanes[c->timed].plan.bytes;

	return (bytes + other->plan.bytes - 1) / other->plan.bytes;
}

/* They start with the first timed copy. */
static enum status transfer_case_launch_contended_copy(void *state, unsigned batch,
						       struct error *err)
{
	struct contended_copy *c = state;
	struct transfer_lane *timed = &c->t->lanes[c->timed];

	if (backend_event_record(c->start, timed->stream, err) != STATUS_OK)
		return err->status;
	for (size_t i = 0; i < c->t->lane_count; i++) {
		struct transfer_lane *other = &c->t->lanes[i];

		if (i == c->timed)
			continue;
		if (backend_stream_wait(other->stream, c->start, err) != STATUS_OK ||
		    lane_copy(other, transfer_case_busy_copies(c, other, batch), err) != STATUS_OK)
			return err->status;
	}
	return lane_copy(timed, batch, err);
}

static enum status transfer_case_finish_contended_copy(void *state, struct error *err)
{
	struct contended_copy *c = state;

	for (size_t i = 0; i < c->t->lane_count; i++)
		if (i != c->timed &&
		    backend_stream_synchronize(c->t->lanes[i].stream, err) != STATUS_OK)
			return err->status;
	return STATUS_OK;
}

static enum status transfer_case_plan_contended_copy(struct transfer *t, size_t timed,
						     const char *name, struct error *err)
{
	struct contended_copy *c = &t->contended[t->timing_count];
	const struct transfer_lane *other =
		&t->lanes[t->lane_count - 1 - (timed == t->lane_count - 1)];

	*c = (struct contended_copy){ .t = t, .timed = timed };
	if (backend_event_create(t->lanes[timed].stream->device, &c->start, err) != STATUS_OK)
		return err->status;
	transfer_case_add_timing(
		t, name,
		(struct workload){ .state = c,
				   .launch = transfer_case_launch_contended_copy,
				   .finish = transfer_case_finish_contended_copy,
				   .clock = CLOCK_DEVICE,
				   .streams = &t->lanes[timed].stream,
				   .stream_count = 1,
				   .commands = (unsigned)transfer_case_busy_copies(c, other, 1) + 1,
				   .no_gate = t->staged });
	return STATUS_OK;
}

/* Index of a lane's direction: 0 from the host or forward, 1 to the host or backward. */
static size_t transfer_case_lane_direction(const struct transfer *t, size_t lane)
{
	int from = t->routes[lane].from;

	return (size_t)(t->info->peer ? from : from != ROUTE_HOST);
}

static enum status transfer_case_launch_together(void *state, unsigned batch, struct error *err)
{
	struct transfer *t = state;
	enum status status = STATUS_OK;

	for (size_t i = 0; i < t->lane_count && status == STATUS_OK; i++)
		status = lane_copy(&t->lanes[i], batch, err);
	return status;
}

static enum status transfer_case_plan_timings(struct transfer *t, struct error *err)
{
	enum timing_kind kind = t->info->timing;

	if (kind == TIME_FIRST)
		return transfer_case_plan_contended_copy(t, 0, "transfer.time", err);
	if (kind == TIME_IN_TURN && !t->lanes[0].reverse) {
		static const char *const names[2][2] = {
			{ "transfer.time_h2d", "transfer.time_d2h" },
			{ "transfer.time_forward", "transfer.time_backward" }
		};
		bool peer = t->info->peer;

		for (size_t i = 0; i < 2; i++)
			if (transfer_case_plan_contended_copy(
				    t, i, names[peer][transfer_case_lane_direction(t, i)], err) !=
			    STATUS_OK)
				return err->status;
		return STATUS_OK;
	}
	if (kind == TIME_PAIRS)
		transfer_case_plan_one(t, "transfer.time_alone");
	if (kind == TIME_PAIRS || kind == TIME_TOGETHER) {
		for (size_t i = 0; i < t->lane_count; i++)
			t->streams[i] = t->lanes[i].stream;
		transfer_case_add_timing(t, "transfer.time",
					 (struct workload){ .state = t,
							    .launch = transfer_case_launch_together,
							    .clock = CLOCK_DEVICE,
							    .streams = t->streams,
							    .stream_count = t->lane_count,
							    .has_energy = true });
	} else
		transfer_case_plan_one(t, "transfer.time");
	return STATUS_OK;
}

static bool transfer_case_has_energy(const struct transfer *t)
{
	return t->timings[t->timing_count - 1].workload.has_energy;
}

static void transfer_case_record_copy(struct transfer *t, const struct series *time, double bytes)
{
	run_rate(t->run, "transfer.bandwidth", bytes, time);
	run_duration(t->run, "transfer.time", time);
	run_statistic(t->run, "transfer.first", time->first, time);
	if (transfer_case_has_energy(t))
		run_energy(t->run, "bytes_per_joule", bytes);
}

static void transfer_case_record_in_turn(struct transfer *t)
{
	static const char *const names[2][2] = {
		{ "transfer.bandwidth_h2d", "transfer.bandwidth_d2h" },
		{ "transfer.bandwidth_forward", "transfer.bandwidth_backward" }
	};
	bool peer = t->info->peer;
	double seconds[2];

	for (size_t i = 0; i < 2; i++) {
		seconds[i] = transfer_case_series(t, i)->statistics.median;
		run_rate(t->run, names[peer][transfer_case_lane_direction(t, i)], (double)t->bytes,
			 transfer_case_series(t, i));
	}
	run_sum(t->run, "transfer.bandwidth", names[peer], 2);
	if (fmax(seconds[0], seconds[1]) > 2 * fmin(seconds[0], seconds[1]))
		run_note(t->run, "One direction was more than twice as fast as the other. It was "
				 "idle for part of the time in which the slower one was timed.");
}

static void transfer_case_record_together(struct transfer *t, const struct series *time)
{
	transfer_case_record_copy(t, time, (double)t->bytes * (double)t->lane_count);
	run_rate(t->run, "transfer.bandwidth_each", (double)t->bytes, time);
}

/* A lower share of the first pair's bandwidth alone is a disturbance. */
#define KEPT_AT_LEAST 0.97

static void transfer_case_record(struct transfer *t)
{
	enum timing_kind kind = t->info->timing;

	if (kind == TIME_IN_TURN && t->lanes[0].reverse) {
		/* One kernel copies both directions in step, so both take the same time. */
		static const char *const names[2] = { "transfer.bandwidth_h2d",
						      "transfer.bandwidth_d2h" };

		transfer_case_record_copy(t, transfer_case_series(t, 0), 2 * (double)t->bytes);
		for (size_t i = 0; i < 2; i++)
			run_rate(t->run, names[i], (double)t->bytes, transfer_case_series(t, 0));
	} else if (kind == TIME_IN_TURN)
		transfer_case_record_in_turn(t);
	else if (kind == TIME_TOGETHER)
		transfer_case_record_together(t, transfer_case_series(t, 0));
	else if (kind == TIME_PAIRS) {
		const struct transfer_lane *lane = &t->lanes[0];
		double kept;

		transfer_case_record_together(t, transfer_case_series(t, 1));
		kept = transfer_case_series(t, 0)->statistics.median *
		       case_metric(t->run->result, "transfer.bandwidth_each")->value /
		       (double)t->bytes;
		run_value(t->run, "transfer.concurrent_share", kept);
		run_note(t->run,
			 "The slowest of %zu concurrent pairs reaches %.1f %% of the bandwidth of "
			 "%s and %s alone: %s.",
			 t->lane_count, 100 * kept, lane->plan.from.device->info.id,
			 lane->plan.to.device->info.id,
			 kept < KEPT_AT_LEAST
				 ? "the pairs slow each other down, or one of them is slower"
				 : "the pairs do not slow each other down");
	} else
		transfer_case_record_copy(t, transfer_case_series(t, 0), (double)t->bytes);
	if (!transfer_case_has_energy(t) && t->run->sampler.rules->energy_seconds > 0)
		run_note(t->run, "No energy was recorded, because untimed copies use part of it.");
}

void transfer_case_note_nodes(struct run *run, const int *nodes, size_t count)
{
	struct text list = TEXT_EMPTY;
	uint64_t seen = 0;
	size_t several = 0;

	for (size_t i = 0; i < count; i++) {
		if (nodes[i] < 0 || nodes[i] > 63 || (seen >> nodes[i] & 1))
			continue;
		seen |= UINT64_C(1) << nodes[i];
		text_addf(&list, "%s%d", several++ ? ", " : "", nodes[i]);
	}
	if (several)
		run_note(run, "The host memory is on NUMA node%s %s, nearest to its device.",
			 several > 1 ? "s" : "", list.data);
	text_release(&list);
}

static void transfer_case_note_cache(const struct transfer *t)
{
	const struct device_info *info = &t->run->devices[0]->info;
	uint64_t cache = info->l2_bytes, all = lane_footprint(t->bytes, t->slots);
	char size[32];

	if (t->slots > 1 && all < transfer_plan_cache(info, transfer_plan_cold(t->run->c)))
		run_note(t->run,
			 "Copies rotate over %zu buffers, but all of them fit in a cache: %s "
			 "together.",
			 t->slots, units_size(all, size, sizeof(size)));
	else if (t->slots > 1)
		run_note(t->run,
			 "Copies rotate over %zu buffers, because a single buffer would stay in a "
			 "cache (%s on the device).",
			 t->slots, units_size(cache, size, sizeof(size)));
	else if (t->bytes < cache)
		run_note(t->run, "The data fits in the device's cache (%s).",
			 units_size(cache, size, sizeof(size)));
	/* Small copies then take the time of a launch, many times their own. */
	if (t->slots > 1 && transfer_plan_by_kernel(t->run->c))
		run_note(t->run,
			 "The kernel is launched once per copy, because copies rotate over "
			 "buffers. Without rotation, one launch makes all copies of a sample.");
}

static struct lane_end transfer_case_lane_end(const struct transfer *t, int end, int other)
{
	if (end == ROUTE_HOST)
		return (struct lane_end){ t->run->devices[other], t->memory };
	return (struct lane_end){ t->run->devices[end], ALLOCATOR_DEVICE };
}

static const char *transfer_case_end_name(const struct lane_end *end)
{
	return allocator_on_device(end->allocator) ? end->device->info.id : "host";
}

/*
 * Checks the copies of the case. Copies that only keep other devices busy are checked by the cases
 * of those devices, so that a corrupt device does not fail the cases of all devices.
 */
static enum status transfer_case_check_lanes(struct transfer *t, bool before, struct error *err)
{
	size_t own = direction_goes_back(t->direction) ? 2 : 1,
	       count = t->info->timing == TIME_FIRST ? own : t->lane_count;

	for (size_t i = 0; i < count; i++) {
		struct transfer_lane *lane = &t->lanes[i];
		enum status status = before ? lane_verify(lane, err) : lane_check(lane, err);

		if (status != STATUS_OK)
			return error_prefix(err, "%s%s timing, %s to %s",
					    status == STATUS_MISMATCH ? "corrupt: " : "",
					    before ? "before" : "after",
					    transfer_case_end_name(&lane->plan.from),
					    transfer_case_end_name(&lane->plan.to));
	}
	return STATUS_OK;
}

/* The lanes of the routes; none for a case of TIME_CHASE. */
static enum status transfer_case_open_lanes(struct transfer *t, size_t count, struct error *err)
{
	const struct plan_case *c = t->run->c;
	struct transfer_state *state = t->run->suite_state;
	enum status status = STATUS_OK;

	for (size_t i = 0; i < count && status == STATUS_OK; i++) {
		const struct route *route = &t->routes[i];
		struct lane_plan plan = {
			.pool = &state->pool,
			.from = transfer_case_lane_end(t, route->from, route->to),
			.to = transfer_case_lane_end(t, route->to, route->from),
			.issuer = t->run->devices[route->issuer],
			.by_kernel = transfer_plan_by_kernel(c),
			.bytes = transfer_plan_route_bytes(c, i),
			.slots = t->slots,
			.seed = t->run->seed + i,
		};

		t->lane_count = i + 1;
		status = lane_open(&t->lanes[i], &plan, err);
	}
	for (size_t i = 0; transfer_plan_reverses(c) && i + 1 < t->lane_count; i += 2) {
		t->lanes[i].reverse = &t->lanes[i + 1];
		t->lanes[i + 1].led = true;
	}
	return status;
}

/* Switches peer access as the routes need it, then opens their lanes. */
static enum status transfer_case_open_routes(struct transfer *t, struct error *err)
{
	size_t count = direction_routes(t->direction, t->run->device_count, t->routes);
	struct transfer_state *state = t->run->suite_state;

	state->access.turn++;
	for (size_t i = 0; i < count; i++) {
		int peer = transfer_direction_route_peer(&t->routes[i]);
		struct device *a = t->run->devices[t->routes[i].issuer];

		if (peer >= 0 && transfer_lane_access_set(&state->access, a, t->run->devices[peer],
							  !t->staged, err) != STATUS_OK)
			return err->status;
	}
	return t->info->timing == TIME_CHASE ? STATUS_OK : transfer_case_open_lanes(t, count, err);
}

enum status transfer_case_open(struct transfer *t, struct run *run, struct error *err)
{
	const struct plan_case *c = run->c;
	const size_t most = ROUTES_MOST(run->device_count);
	int *nodes;

	*t = (struct transfer){ .run = run,
				.routes = xcalloc(most, sizeof(*t->routes)),
				.lanes = xcalloc(most, sizeof(*t->lanes)),
				.streams = xcalloc(most, sizeof(*t->streams)) };
	t->bytes = (size_t)case_integer(c, "sizes");
	t->direction = (enum direction)case_integer(c, "directions");
	t->info = direction_info(t->direction);
	if (t->info->host)
		allocator_from_name(case_text(c, "memories"), &t->memory);
	else if (t->info->peer && t->info->timing != TIME_CHASE)
		t->staged = strcmp(case_text(c, "access"), "off") == 0;
	t->slots = transfer_plan_slots(t->direction, transfer_plan_cold(c), t->bytes,
				       &run->devices[0]->info);
	if (transfer_case_open_routes(t, err) != STATUS_OK)
		return err->status;
	if (t->info->timing == TIME_CHASE)
		return transfer_latency_chase_open(t, err);
	if (transfer_case_check_lanes(t, true, err) != STATUS_OK)
		return err->status;
	nodes = xcalloc(t->lane_count, sizeof(*nodes));
	for (size_t i = 0; i < t->lane_count; i++)
		nodes[i] = t->lanes[i].node;
	transfer_case_note_nodes(t->run, nodes, t->lane_count);
	free(nodes);
	transfer_case_note_cache(t);
	return transfer_case_plan_timings(t, err);
}

enum status transfer_case_finish(struct transfer *t, struct error *err)
{
	/* The numbers first: a pair with wrong data keeps them. */
	if (t->chase)
		transfer_latency_chase_record(t);
	else
		transfer_case_record(t);
	if ((t->chase ? transfer_latency_chase_check(t, "after", err)
		      : transfer_case_check_lanes(t, false, err)) == STATUS_OK)
		run_verified(t->run,
			     t->chase ? "end of the path against its known order, before and after "
					"timing"
				      : "every byte against the generated data, before and after "
					"timing",
			     NAN, NAN);
	return err->status;
}

void transfer_case_close(struct transfer *t)
{
	transfer_latency_chase_close(t);
	for (size_t i = 0; i < t->timing_count; i++)
		backend_event_destroy(t->contended[i].start);
	for (size_t i = 0; i < t->lane_count; i++)
		lane_close(&t->lanes[i]);
	free(t->routes);
	free(t->lanes);
	free(t->streams);
}
