/*
 * Messages between two nodes: over all rails at the same time, one by one, and crossed. A rail is a
 * device of one node and the device of the other with the same number, which share a switch in a
 * rail-optimised fabric. A collective uses the network only for a part of its time; messages over
 * all rails saturate it, so they reveal a slow one. A few random rounds over many nodes locate the
 * slow node (suites/pairs/suspects.h).
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "device/ranks/relay.h"
#include "measure/run.h"
#include "plan/plan.h"
#include "suites/pairs/suspects.h"
#include "suites/shared/buffers.h"
#include "suites/shared/ranks/communicators.h"

/* One case of suite pairs on one rank: verify, time, verify again. */
enum pattern { ALL_RAILS, EACH_RAIL, CROSSED };
enum direction { BOTH, FORTH, BACK };

/* A message of up to this many bytes is timed as a ping-pong, a larger one as a flow. */
#define PAIRS_LATENCY_BYTES 4096

/* Samples of one operation needed for a p99. */
#define TAIL_SAMPLES 100
/* A send and a receive, each with the events with which NCCL orders its streams. */
#define MESSAGE_COMMANDS 8

/* State of one rank. */
struct pairs_side {
	struct communicator *communicator;
	struct stream *stream;
	struct buffer out, in;
	int peer; /* -1: this rank has no peer in this case */
	bool sends, receives;
	bool ping_pong, first; /* first: this rank starts the ping-pong */
	size_t bytes;
	uint64_t seed; /* seed of its data; the peer's differs by the rank */
	int rank;
	unsigned commands;
};

/* Rails: the i-th devices of both nodes. Returns the peer of `rank`, -1 if none. */
static int pairs_find_peer(const struct device_address *all, int size, int rank,
			   const struct run *run)
{
	enum pattern pattern = (enum pattern)case_integer(run->c, "patterns");
	int first_of[2] = { 0, 0 }, count[2] = { 0, 0 }, node = all[rank].node != all[0].node;
	int rails, rail, shift;

	for (int i = 0; i < size; i++)
		count[all[i].node != all[0].node]++;
	first_of[1] = count[0];
	rails = count[0] < count[1] ? count[0] : count[1];
	rail = rank - first_of[node];
	if (rail >= rails || (pattern == EACH_RAIL &&
			      rail != (int)strtol(case_text_or(run->c, "rail", "0"), NULL, 10)))
		return -1;
	/* Crossed: a device of the first node with the next one of the second. */
	shift = pattern != CROSSED ? 0 : node == 0 ? 1 : rails - 1;
	return first_of[!node] + (rail + shift) % rails;
}

static enum direction pairs_direction(const struct run *run)
{
	const char *name = case_text_or(run->c, "directions", "both");

	return strcmp(name, "forth") == 0 ? FORTH : strcmp(name, "back") == 0 ? BACK : BOTH;
}

static void pairs_describe_side(struct pairs_side *s, const struct run *run)
{
	enum direction direction = pairs_direction(run);
	struct device_address *all = communicators_join_addresses(run->devices[0], run->world);
	bool on_first = all[run->world->rank].node == all[0].node;

	*s = (struct pairs_side){ .rank = run->world->rank,
				  .bytes = (size_t)case_integer(run->c, "sizes"),
				  .seed = run->seed };
	s->peer = pairs_find_peer(all, run->world->size, s->rank, run);
	s->ping_pong = s->bytes <= PAIRS_LATENCY_BYTES;
	s->first = on_first;
	s->sends = s->peer >= 0 && (direction == BOTH || (direction == FORTH) == on_first);
	s->receives = s->peer >= 0 && (direction == BOTH || (direction == BACK) == on_first);
	free(all);
}

static enum status pairs_send(const struct pairs_side *s, struct error *err)
{
	return backend_send(s->communicator, s->stream, s->out.memory, s->bytes, s->peer, err);
}

static enum status pairs_receive(const struct pairs_side *s, struct error *err)
{
	return backend_receive(s->communicator, s->stream, s->in.memory, s->bytes, s->peer, err);
}

static enum status pairs_ping_pong(const struct pairs_side *s, struct error *err)
{
	enum status status = s->first ? pairs_send(s, err) : pairs_receive(s, err);

	if (status != STATUS_OK)
		return status;
	return s->first ? pairs_receive(s, err) : pairs_send(s, err);
}

static enum status pairs_flow(const struct pairs_side *s, struct error *err)
{
	struct error ignored = ERROR_NONE;
	enum status status = backend_group_begin(s->communicator, err);

	if (status != STATUS_OK)
		return status;
	if (s->sends)
		status = pairs_send(s, err);
	if (s->receives && status == STATUS_OK)
		status = pairs_receive(s, err);
	if (backend_group_end(s->communicator, status == STATUS_OK ? err : &ignored) != STATUS_OK &&
	    status == STATUS_OK)
		status = err->status;
	return status;
}

static enum status pairs_enqueue(const struct pairs_side *s, struct error *err)
{
	if (s->peer < 0)
		return STATUS_OK;
	return s->ping_pong ? pairs_ping_pong(s, err) : pairs_flow(s, err);
}

static enum status pairs_launch(void *state, unsigned batch, struct error *err)
{
	for (unsigned i = 0; i < batch; i++)
		if (pairs_enqueue(state, err) != STATUS_OK)
			return err->status;
	return STATUS_OK;
}

static enum status pairs_allocate(struct pairs_side *s, struct device *device, struct error *err)
{
	if (s->peer < 0)
		return STATUS_OK;
	if (buffer_alloc(&s->out, device, ALLOCATOR_DEVICE, s->bytes, err) != STATUS_OK ||
	    buffer_alloc(&s->in, device, ALLOCATOR_DEVICE, s->bytes, err) != STATUS_OK)
		return err->status;
	return buffer_fill(&s->out, s->stream, s->seed + (uint64_t)s->rank, err);
}

static enum status pairs_check(const struct pairs_side *s, struct error *err)
{
	enum status status = backend_stream_synchronize(s->stream, err);

	if (status != STATUS_OK || s->peer < 0 || !(s->receives || s->ping_pong))
		return status;
	return buffer_check(&s->in, s->stream, 0, s->bytes, s->seed + (uint64_t)s->peer, err);
}

/* Verifies one operation into poisoned memory. Each step may fail on one rank only. */
static enum status pairs_verify(struct pairs_side *s, struct world *world, const char *when,
				struct error *err)
{
	uint64_t before = relay_pieces(s->communicator);
	enum status status =
		world_agree(world, s->peer < 0 ? STATUS_OK : buffer_poison(&s->in, s->stream, err),
			    err);

	if (status == STATUS_OK)
		status = world_agree(world, pairs_enqueue(s, err), err);
	s->commands = MESSAGE_COMMANDS +
		      (unsigned)(relay_pieces(s->communicator) - before) * RELAY_COMMANDS;
	if (status == STATUS_OK)
		status = world_agree(world, pairs_check(s, err), err);
	return status == STATUS_OK ? status : error_prefix(err, "%s timing", when);
}

/* Half a ping-pong; its p99 from single samples. */
static enum status pairs_measure_latency(struct run *run, struct workload *w, struct error *err)
{
	const struct series *time;

	if (run_sample(run, w, "pairs.time", &time, err) != STATUS_OK)
		return err->status;
	run_scaled(run, "pairs.latency", 0.5, time);
	w->max_batch = 1;
	w->min_samples = TAIL_SAMPLES;
	if (run_sample(run, w, "pairs.single", &time, err) != STATUS_OK)
		return err->status;
	run_statistic(run, "pairs.latency_p99", 0.5 * time->statistics.p99, time);
	return STATUS_OK;
}

static enum status pairs_measure(struct run *run, struct pairs_side *s, struct error *err)
{
	struct workload w = { .state = s,
			      .launch = pairs_launch,
			      .clock = CLOCK_DEVICE,
			      .streams = &s->stream,
			      .stream_count = 1,
			      .commands = s->commands };
	const struct series *time;

	if (s->ping_pong)
		return pairs_measure_latency(run, &w, err);
	if (run_sample(run, &w, "pairs.time", &time, err) != STATUS_OK)
		return err->status;
	run_rate(run, "pairs.bandwidth",
		 (pairs_direction(run) == BOTH ? 2 : 1) * (double)case_integer(run->c, "sizes"),
		 time);
	return STATUS_OK;
}

/* run() of struct suite. */
static enum status pairs_run(struct run *run, struct error *err)
{
	const struct collective_session *session =
		communicators_session_find(run->suite_state, run->devices[0], run->world,
					   TRANSPORT_AUTO, err);
	struct pairs_side s;
	enum status status;

	if (!session)
		return err->status;
	pairs_describe_side(&s, run);
	s.communicator = session->communicator;
	s.stream = session->stream;
	status = world_agree(run->world, pairs_allocate(&s, run->devices[0], err), err);
	if (status == STATUS_OK)
		status = pairs_verify(&s, run->world, "before", err);
	if (status == STATUS_OK)
		status = pairs_measure(run, &s, err);
	if (status == STATUS_OK) {
		status = world_agree(run->world, pairs_check(&s, err), err);
		if (status != STATUS_OK)
			error_prefix(err, "after timing");
	}
	if (status == STATUS_OK) {
		run_verified(run,
			     "every received byte against the sender's generated data, before and "
			     "after timing",
			     NAN, NAN);
		run_note(run, "Transport between the devices: %s.",
			 transport_names[s.communicator->transport]);
	}
	/* If the device or a rank is lost, waiting would not end; the process exits soon. */
	if (status_loses_device(status))
		return status;
	buffer_free(&s.out);
	buffer_free(&s.in);
	return status;
}

static const char *const patterns[] = { "all_rails", "each_rail", "crossed", NULL };
static const char *const directions[] = { "both", "forth", "back", NULL };

static const struct key keys[] = {
	{ .name = "patterns",
	  .type = KEY_CHOICE,
	  .list = true,
	  .fallback = "all_rails, each_rail",
	  .choices = patterns,
	  .parameter = "pattern",
	  .help = "all_rails: all adapters at once; each_rail: one adapter after another; crossed: "
		  "each device with the next device of the other node, all at once" },
	{ .name = "directions",
	  .type = KEY_CHOICE,
	  .list = true,
	  .fallback = "both, forth, back",
	  .choices = directions,
	  .parameter = "direction",
	  .help = "both: both directions at the same time; forth: first node to second; back: "
		  "second node to first. Messages up to 4 KiB are ping-pongs, which always use "
		  "both directions" },
	{ .name = "sizes",
	  .type = KEY_SIZE,
	  .list = true,
	  .fallback = "8B, 64MiB",
	  .min = 8,
	  .max = 0x1p40,
	  .parameter = "size",
	  .help = "bytes of one message; up to 4 KiB the suite measures latency, above bandwidth" },
	{ .name = "rounds",
	  .type = KEY_INTEGER,
	  .fallback = "3",
	  .min = 1,
	  .max = 100,
	  .word = "all",
	  .help = "number of random rounds; in each round, every node exchanges data with one "
		  "partner; all: every pair of nodes once" },
	{ .name = "confirm",
	  .type = KEY_INTEGER,
	  .fallback = "2",
	  .min = 0,
	  .max = 20,
	  .help = "number of extra rounds that pair suspects with known-good nodes" },
	{ .name = "margin",
	  .type = KEY_PERCENT,
	  .fallback = "3 %",
	  .min = 0.001,
	  .max = 0.99,
	  .help = "a node is at fault if its pairs are slower than those of other nodes by this "
		  "margin; above half of it, the node is a suspect and is measured again" },
	{ .name = "latency_margin",
	  .type = KEY_PERCENT,
	  .fallback = "50 %",
	  .min = 0.01,
	  .max = 100,
	  .help = "the same margin for latencies" },
	GPUDIRECT_KEY,
	{ 0 },
};

static const char *const axes[] = { "gpudirect", "patterns", "directions", "sizes", NULL };

static const struct metric metrics[] = {
	{ "pairs.bandwidth", "B/s", BETTER_HIGHER, 1,
	  "bandwidth of the slowest rail; both directions: their sum", METRIC_OTHER },
	{ "pairs.latency", "s", BETTER_LOWER, 1, "half the ping-pong time of the slowest rail",
	  METRIC_OTHER },
	{ "pairs.latency_p99", "s", BETTER_LOWER, 0, "99th percentile of pairs.latency",
	  METRIC_OTHER },
	{ 0 },
};

static const struct figure_row figures[] = {
	{ .metric = "pairs.bandwidth", .kind = "lines", .facets = { "pattern" } },
	{ .metric = "pairs.latency", .kind = "lines", .facets = { "pattern" } },
	{ 0 },
};

static const struct word_row words[] = {
	{ "pattern", "all_rails", "all rails" },
	{ "pattern", "each_rail", "one rail" },
	{ "pattern", "crossed", "crossed rails" },
	{ "direction", "forth", "to the second node" },
	{ "direction", "back", "to the first node" },
	{ 0 },
};

static const struct role_row roles[] = {
	{ "round", ROLE_ROUND },
	{ "rail", ROLE_RAIL },
	{ 0 },
};

static const struct aspect_row aspects[] = {
	{ "pairs.bandwidth", NULL, NULL, ASPECT_LINK, .task = "transfers between nodes" },
	{ 0 },
};

/* A rail has its own port; both directions together carry twice its rate. */
static const struct sheet_row sheet[] = {
	{ "pairs.bandwidth", { "direction", "both" }, .key = "nic_bandwidth", .factor = 0.5 },
	{ "pairs.bandwidth", .key = "nic_bandwidth" },
	{ 0 },
};

static const struct key parameters[] = {
	{ .name = "rail", .type = KEY_INTEGER, .max = 1023 },
	{ .name = "round", .type = KEY_INTEGER, .max = 1e6 },
	{ 0 },
};

static size_t pairs_devices_on(const struct plan *plan, int node)
{
	size_t count = 0;

	for (size_t i = 0; i < plan->device_count; i++)
		count += plan->devices[i].node == node &&
			 strcmp(plan->devices[i].backend, plan->devices[0].backend) == 0;
	return count;
}

static enum status pairs_plan_rail(struct plan *plan, const struct plan_case *point, int rail,
				   struct error *err)
{
	const struct device_info *info = &plan->devices[0];
	struct parameter all[8];
	struct plan_case with = *point;
	size_t size = (size_t)case_integer(point, "sizes");
	char reason[128] = "";

	memcpy(all, point->parameters, point->parameter_count * sizeof(*all));
	with.parameters = all;
	if (rail >= 0)
		all[with.parameter_count++] = plan_number(plan, &parameters[0], rail);
	all[with.parameter_count++] = plan_number(plan, &parameters[1], plan->group.round);
	if (!(info->capabilities & DEVICE_HAS_COLLECTIVES))
		snprintf(reason, sizeof(reason), "%s cannot send to other devices", info->id);
	with.device_bytes = 2 * size;
	with.setup_seconds = 0.2 + 6 * (double)size / (device_is_host(info) ? 0.8e9 : 50e9);
	return plan_add_group(plan, &with, *reason ? reason : NULL, err);
}

static enum status pairs_expand(struct plan *plan, struct plan_case *point, struct error *err)
{
	enum pattern pattern = (enum pattern)case_integer(point, "patterns");
	size_t first = pairs_devices_on(plan, 0), second = pairs_devices_on(plan, 1),
	       rails = first < second ? first : second;

	if (!communicators_gpudirect_plan(plan, point))
		return STATUS_OK;
	if (case_integer(point, "sizes") <= PAIRS_LATENCY_BYTES &&
	    !plan_drop_axis(point, "directions"))
		return STATUS_OK;
	/* With one rail all patterns are the same. */
	if (pattern != EACH_RAIL)
		return rails == 1 && pattern == CROSSED ? STATUS_OK
							: pairs_plan_rail(plan, point, -1, err);
	for (size_t rail = 0; rail < rails && rails > 1; rail++)
		if (pairs_plan_rail(plan, point, (int)rail, err) != STATUS_OK)
			return err->status;
	return STATUS_OK;
}

static void *pairs_open_sessions(void)
{
	return communicators_sessions_open();
}

static void pairs_close_sessions(void *state)
{
	communicators_sessions_close(state);
}

const struct suite suite_pairs = {
	.name = "pairs",
	.summary = "messages between pairs of nodes: bandwidth, latency, and the slow node or link",
	.keys = keys,
	.axes = axes,
	.parameters = parameters,
	.metrics = metrics,
	.figures = figures,
	.words = words,
	.roles = roles,
	.sheet = sheet,
	.aspects = aspects,
	.processes = SUITE_PROCESS_PER_DEVICE,
	.groups = SUITE_OF_PAIRS,
	.expand = pairs_expand,
	.run = pairs_run,
	.find_suspects = pairs_find_suspects,
	.open_state = pairs_open_sessions,
	.close_state = pairs_close_sessions,
};
