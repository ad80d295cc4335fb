#include "suites/collective/measure.h"

#include <math.h>
#include <string.h>

#include "base/units.h"
#include "device/ranks/relay.h"
#include "suites/shared/ranks/collective_data.h"
#include "suites/shared/ranks/collective_session.h"

/* A direct operation is a kernel plus the events with which NCCL orders its streams. */
#define DIRECT_COMMANDS 4
/* Operations per graph: enough that its launch is negligible. */
#define GRAPH_OPERATIONS 128

static enum transport collective_transport_of(const struct plan_case *c)
{
	const char *name = case_text_or(c, "transport", "auto");
	enum transport transport = TRANSPORT_AUTO;

	while (transport_names[transport] && strcmp(transport_names[transport], name) != 0)
		transport++;
	return transport;
}

static void collective_describe(struct collective *c, const struct run *run)
{
	const struct plan_case *at = run->c;
	size_t size = (size_t)case_integer(at, "sizes");

	*c = (struct collective){ .kind = (enum operation_kind)case_integer(at, "operations"),
				  .precision = PRECISION_FP32,
				  .rank = run->world->rank,
				  .ranks = run->world->size,
				  .device = run->devices[0],
				  .seed = run->seed };
	c->operation = &operations[c->kind];
	c->in_place = c->operation->placements == EITHER_PLACE
			      ? strcmp(case_text_or(at, "placement", ""), "in_place") == 0
			      : c->operation->placements == IN_PLACE_ONLY;
	precision_from_name(case_text_or(at, "precisions", "fp32"), &c->precision);
	c->bytes = collective_bytes(c->operation, size, c->ranks, &c->part);
}

/* Verifies one operation on fresh data. Each step may fail on one rank only. */
static enum status collective_verify(struct collective *c, struct world *world, const char *when,
				     struct error *err)
{
	enum status status = world_agree(world, collective_prepare(c, err), err);
	uint64_t before = relay_pieces(c->communicator);

	if (status == STATUS_OK)
		status = world_agree(world, c->operation->enqueue(c, err), err);
	c->copy_commands = (unsigned)(relay_pieces(c->communicator) - before) * RELAY_COMMANDS;
	if (status == STATUS_OK)
		status = world_agree(world, collective_check(c, err), err);
	return status == STATUS_OK ? status : error_prefix(err, "%s timing", when);
}

/* In-place sums grow from one operation to the next; all others repeat their results. */
static bool collective_repeats(const struct collective *c)
{
	return !(c->in_place && c->operation->reduces);
}

struct timed_collective {
	struct collective *c;
	struct graph *graph; /* of the batch */
};

static enum status collective_enqueue_batch(const struct collective *c, unsigned batch,
					    struct error *err)
{
	for (unsigned i = 0; i < batch; i++)
		if (c->operation->enqueue(c, err) != STATUS_OK)
			return err->status;
	return STATUS_OK;
}

static enum status collective_launch_batch(void *state, unsigned batch, struct error *err)
{
	return collective_enqueue_batch(((struct timed_collective *)state)->c, batch, err);
}

/*
 * Restarts in-place sums in each sample. They stay finite for some operations (in FP16, over eight
 * ranks, for five) and are infinite afterwards, which takes links and adders the same time.
 */
static enum status begin_anew(void *state, struct error *err)
{
	return collective_prepare(((struct timed_collective *)state)->c, err);
}

/* Ends a recording even if an operation in it has failed. */
static enum status collective_record_batch(void *state, unsigned batch, struct error *err)
{
	struct timed_collective *t = state;
	struct stream *stream = t->c->stream;
	struct error ignored = ERROR_NONE;
	enum status status;

	backend_graph_destroy(t->graph);
	t->graph = NULL;
	if (backend_graph_begin(stream, err) != STATUS_OK)
		return err->status;
	status = collective_enqueue_batch(t->c, batch, err);
	if (backend_graph_end(stream, &t->graph, status == STATUS_OK ? err : &ignored) == STATUS_OK)
		return status;
	t->graph = NULL;
	return status == STATUS_OK ? err->status : status;
}

static enum status collective_launch_graph(void *state, unsigned batch, struct error *err)
{
	struct timed_collective *t = state;

	(void)batch;
	return backend_graph_launch(t->graph, t->c->stream, err);
}

static enum status collective_measure(struct run *run, struct timed_collective *t,
				      struct error *err)
{
	const struct collective *c = t->c;
	struct stream *stream = c->stream;
	struct workload w = { .state = t,
			      .prepare = collective_repeats(c) ? NULL : begin_anew,
			      .launch = collective_launch_batch,
			      .clock = CLOCK_DEVICE,
			      .streams = &stream,
			      .stream_count = 1,
			      .commands = DIRECT_COMMANDS + c->copy_commands,
			      .has_energy = true };
	double factor = c->operation->bus_factor(c->ranks);
	const struct series *time;

	if (strcmp(case_text_or(run->c, "launch", ""), "graph") == 0) {
		w.resize = collective_record_batch;
		w.launch = collective_launch_graph;
		w.commands = 1;
		w.max_batch = GRAPH_OPERATIONS;
	}
	if (run_sample(run, &w, "collective.time", &time, err) != STATUS_OK)
		return err->status;
	run_rate(run, "collective.busbw", factor * (double)c->bytes, time);
	run_rate(run, "collective.algbw", (double)c->bytes, time);
	run_duration(run, "collective.time", time);
	run_energy(run, "bytes_per_joule", (double)c->bytes);
	return STATUS_OK;
}

static void collective_note_size(struct run *run, const struct collective *c)
{
	char part[32];

	if (c->bytes != (size_t)case_integer(run->c, "sizes"))
		run_note(run, "The tensor has %zu bytes: %zu parts of %s.", c->bytes,
			 c->bytes / c->part, units_size(c->part, part, sizeof(part)));
}

static void collective_note_verified(struct run *run, const struct collective *c)
{
	if (c->operation->reduces)
		run_verified(run,
			     "every element on every rank against double-precision sums from the "
			     "generator, before and after timing",
			     world_max(run->world, c->error), collective_tolerance(c));
	else
		run_verified(run,
			     "every byte on every rank against the generator, before and after "
			     "timing",
			     NAN, NAN);
}

/* Verifies the result of the timed operations or, if their sums are unknown, of a new one. */
static enum status collective_verify_after(struct collective *c, struct world *world,
					   struct error *err)
{
	enum status status;

	if (!collective_repeats(c))
		return collective_verify(c, world, "after", err);
	status = world_agree(world, collective_check(c, err), err);
	return status == STATUS_OK ? status : error_prefix(err, "after timing");
}

enum status collective_run(struct run *run, struct error *err)
{
	struct collective c;
	struct timed_collective timed = { .c = &c };
	const struct collective_session *session =
		session_find(run->suite_state, run->devices[0], run->world,
			     collective_transport_of(run->c), err);
	enum status status;

	if (!session)
		return err->status;
	collective_describe(&c, run);
	c.stream = session->stream;
	c.communicator = session->communicator;
	status = world_agree(run->world, collective_open(&c, err), err);
	if (status == STATUS_OK)
		status = collective_verify(&c, run->world, "before", err);
	if (status == STATUS_OK)
		status = world_agree(run->world, collective_prepare(&c, err), err);
	if (status == STATUS_OK)
		status = collective_measure(run, &timed, err);
	if (status == STATUS_OK)
		status = collective_verify_after(&c, run->world, err);
	if (status == STATUS_OK) {
		enum transport transport = c.communicator->transport;

		/* Notes the transport that all ranks have chosen together. */
		if (transport != TRANSPORT_AUTO)
			run_note(run, "Transport between the devices: %s.",
				 transport_names[transport]);
		collective_note_size(run, &c);
		collective_note_verified(run, &c);
	}
	/* If the device or a rank is lost, waiting would not end; the process exits soon. */
	if (status_loses_device(status))
		return status;
	backend_graph_destroy(timed.graph);
	collective_close(&c);
	return status;
}
