#include "suites/pairs/measure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "device/ranks/relay.h"
#include "suites/shared/buffers.h"
#include "suites/shared/ranks/collective_session.h"
#include "suites/shared/ranks/communicators.h"

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
	struct device_address *all = join_addresses(run->devices[0], run->world);
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

static enum status ping_pong(const struct pairs_side *s, struct error *err)
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
	return s->ping_pong ? ping_pong(s, err) : pairs_flow(s, err);
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

static enum status pairs_poison_inbox(const struct pairs_side *s, struct error *err)
{
	return s->peer < 0 ? STATUS_OK : buffer_poison(&s->in, s->stream, err);
}

/* Verifies one operation into poisoned memory. Each step may fail on one rank only. */
static enum status pairs_verify(struct pairs_side *s, struct world *world, const char *when,
				struct error *err)
{
	uint64_t before = relay_pieces(s->communicator);
	enum status status = world_agree(world, pairs_poison_inbox(s, err), err);

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

static enum status measure_flow(struct run *run, struct workload *w, struct error *err)
{
	bool both = pairs_direction(run) == BOTH;
	const struct series *time;

	if (run_sample(run, w, "pairs.time", &time, err) != STATUS_OK)
		return err->status;
	run_rate(run, "pairs.bandwidth", (both ? 2 : 1) * (double)case_integer(run->c, "sizes"),
		 time);
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

	return s->ping_pong ? pairs_measure_latency(run, &w, err) : measure_flow(run, &w, err);
}

enum status pairs_run(struct run *run, struct error *err)
{
	const struct collective_session *session =
		session_find(run->suite_state, run->devices[0], run->world, TRANSPORT_AUTO, err);
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
			     "every received byte against the generator of its sender, before and "
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
