/*
 * Collectives between devices, one rank each. The operations of a sample run in one stream, enqueued
 * before the ranks start together; a sample lasts as long as on the slowest rank. Verified on every
 * rank before and after timing.
 *
 * Times and bandwidths mean what nccl-tests' mean: the size is that of the whole tensor, of which a
 * rank has one part in all_gather, reduce_scatter and all_to_all.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "measure/run.h"
#include "suites/collective/data.h"
#include "suites/collective/session.h"
#include "suites/suite.h"

/* A direct operation is a kernel and the events by which NCCL keeps its streams in order. */
#define DIRECT_COMMANDS 4
/* Operations of a graph: enough that launching it is no longer seen. */
#define GRAPH_OPERATIONS 128

enum { DIRECT, GRAPH };

static const char *const precisions[] = { "fp32", "fp16", "bf16", NULL };
static const char *const placements[] = { "out_of_place", "in_place", NULL };
static const char *const launches[] = { "direct", "graph", NULL };

static const struct key keys[] = {
	{ .name = "operations",
	  .type = KEY_CHOICE,
	  .list = true,
	  .fallback = "all_reduce, all_gather, reduce_scatter, broadcast, reduce, send_recv, "
		      "all_to_all",
	  .choices = operation_names,
	  .parameter = "operation",
	  .help = "send_recv: a ring, each rank to the next; broadcast and reduce: of rank 0" },
	{ .name = "precisions",
	  .type = KEY_CHOICE,
	  .list = true,
	  .fallback = "fp32",
	  .choices = precisions,
	  .parameter = "precision",
	  .help = "numbers of all_reduce, reduce_scatter and reduce; the others move bytes" },
	{ .name = "placement",
	  .type = KEY_CHOICE,
	  .list = true,
	  .fallback = "out_of_place",
	  .choices = placements,
	  .help = "whether the result overwrites the source; broadcast always does, send_recv and "
		  "all_to_all never" },
	{ .name = "launch",
	  .type = KEY_CHOICE,
	  .list = true,
	  .fallback = "direct",
	  .choices = launches,
	  .help = "direct: call by call; graph: captured once, launched as one (CUDA graph)" },
	{ .name = "devices",
	  .type = KEY_INTEGER,
	  .list = true,
	  .fallback = "2, 4, 8",
	  .min = 1,
	  .max = PLAN_MAX_CASE_DEVICES,
	  .help = "how many ranks; one has nobody to talk to and is left out" },
	{ .name = "sizes",
	  .type = KEY_SIZE,
	  .list = true,
	  .fallback = "1KiB, 64KiB, 1MiB, 16MiB, 256MiB",
	  .min = 256,
	  .max = 0x1p40,
	  .parameter = "size",
	  .help = "bytes of the whole tensor; rounded down to parts of whole 16 bytes" },
	{ 0 },
};

/* Devices first: cases of the same ranks follow one another, and share their processes and communicator. */
static const char *const axes[] = { "devices", "operations", "precisions", "placement",
				    "launch",  "sizes",      NULL };

static const struct metric metrics[] = {
	{ "collective.busbw", "B/s", BETTER_HIGHER, 1,
	  "bytes that pass each device's link per second, by nccl-tests' factors for n ranks: "
	  "algbw times 2(n-1)/n for all_reduce; (n-1)/n for all_gather, reduce_scatter and "
	  "all_to_all; 1 for broadcast, reduce and send_recv" },
	{ "collective.algbw", "B/s", BETTER_HIGHER, 0, "bytes of the tensor per second" },
	{ "collective.time", "s", BETTER_LOWER, 0,
	  "one operation on the slowest rank, among others back to back" },
	{ 0 },
};

static unsigned capability_for(enum precision precision)
{
	return precision == PRECISION_BF16   ? DEVICE_HAS_BF16
	       : precision == PRECISION_FP16 ? DEVICE_HAS_FP16
					     : DEVICE_HAS_FP32;
}

/* Filling and checking, roughly; the first case opens the communicator as well. */
static double setup_seconds(const struct device_info *info, uint64_t bytes, int ranks)
{
	double rate = strcmp(info->backend, "host") == 0 ? 0.2e9 / ranks : 100e9;

	return 0.1 * ranks + 6 * (double)bytes / rate;
}

/* The first n devices of one backend, `first` being the backend's first. */
static enum status plan_on(struct plan *plan, struct plan_case *point, size_t first,
			   const struct operation *operation, bool in_place,
			   enum precision precision, struct error *err)
{
	const struct device_info *info = &plan->devices[first];
	int ranks = (int)case_integer(point, "devices");
	size_t set[PLAN_MAX_CASE_DEVICES], count = 0, part, bytes;
	char reason[128] = "";

	for (size_t i = first; i < plan->device_count && count < (size_t)ranks; i++)
		if (strcmp(plan->devices[i].backend, info->backend) == 0)
			set[count++] = i;
	bytes = collective_bytes(operation, (size_t)case_integer(point, "sizes"), ranks, &part);
	if (count < (size_t)ranks)
		snprintf(reason, sizeof(reason), "needs %d devices, %s has %zu", ranks,
			 info->backend, count);
	else if (!(info->capabilities & DEVICE_HAS_COLLECTIVES))
		snprintf(reason, sizeof(reason), "%s has no collectives", info->id);
	else if (operation->reduces && !(info->capabilities & capability_for(precision)))
		snprintf(reason, sizeof(reason), "%s has no %s", info->id,
			 precision_name(precision));
	if (reason[0])
		return plan_add_skipped(plan, point, set, count, reason, err);
	point->device_bytes = collective_footprint(operation, in_place, bytes, ranks);
	point->setup_seconds = setup_seconds(info, point->device_bytes, ranks);
	return plan_add(plan, point, set, count, err);
}

static bool first_of_backend(const struct plan *plan, size_t index)
{
	for (size_t i = 0; i < index; i++)
		if (strcmp(plan->devices[i].backend, plan->devices[index].backend) == 0)
			return false;
	return true;
}

static enum status collective_expand(struct plan *plan, struct plan_case *point, struct error *err)
{
	const struct operation *operation = &operations[case_integer(point, "operations")];
	bool in_place = operation->placements == IN_PLACE_ONLY ||
			(operation->placements == EITHER_PLACE && case_integer(point, "placement"));
	enum precision precision = PRECISION_FP32;

	precision_from_name(case_text(point, "precisions"), &precision);
	/* One device has nobody to talk to. */
	if (case_integer(point, "devices") == 1)
		return STATUS_OK;
	/* The ordinary way is not worth a word in every id; each value comes once. */
	if (case_integer(point, "launch") == DIRECT)
		plan_drop_axis(point, "launch");
	if (!operation->reduces && !plan_drop_axis(point, "precisions"))
		return STATUS_OK;
	if (operation->placements != EITHER_PLACE && !plan_drop_axis(point, "placement"))
		return STATUS_OK;
	for (size_t i = 0; i < plan->device_count; i++)
		if (first_of_backend(plan, i) &&
		    plan_on(plan, point, i, operation, in_place, precision, err) != STATUS_OK)
			return err->status;
	return STATUS_OK;
}

/* The case's choice on an axis, or its first where the axis means nothing to it. */
static int64_t choice(const struct plan_case *c, const char *axis)
{
	for (size_t i = 0; i < c->parameter_count; i++)
		if (strcmp(c->parameters[i].key->name, axis) == 0)
			return case_integer(c, axis);
	return 0;
}

static void describe(struct collective *c, const struct run *run)
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
			      ? choice(at, "placement") == 1
			      : c->operation->placements == IN_PLACE_ONLY;
	precision_from_name(precisions[choice(at, "precisions")], &c->precision);
	c->bytes = collective_bytes(c->operation, size, c->ranks, &c->part);
}

/* One operation from fresh data, checked. Each step may fail on one rank only. */
static enum status verify(struct collective *c, struct world *world, const char *when,
			  struct error *err)
{
	enum status status = world_agree(world, collective_prepare(c, err), err);

	if (status == STATUS_OK)
		status = world_agree(world, c->operation->enqueue(c, err), err);
	if (status == STATUS_OK)
		status = world_agree(world, collective_check(c, err), err);
	return status == STATUS_OK ? status : error_prefix(err, "%s timing", when);
}

/* Sums in place grow from one operation to the next; all else gives the same again. */
static bool repeats(const struct collective *c)
{
	return !(c->in_place && c->operation->reduces);
}

struct timed {
	struct collective *c;
	struct graph *graph; /* of the batch */
};

static enum status enqueue_batch(const struct collective *c, unsigned batch, struct error *err)
{
	for (unsigned i = 0; i < batch; i++)
		if (c->operation->enqueue(c, err) != STATUS_OK)
			return err->status;
	return STATUS_OK;
}

static enum status launch_batch(void *state, unsigned batch, struct error *err)
{
	return enqueue_batch(((struct timed *)state)->c, batch, err);
}

/* Sums that begin anew in each sample stay numbers; infinities would be less work for a device. */
static enum status begin_anew(void *state, struct error *err)
{
	return collective_prepare(((struct timed *)state)->c, err);
}

/* A graph that was begun is ended, also when what it was to record has failed. */
static enum status record_batch(void *state, unsigned batch, struct error *err)
{
	struct timed *t = state;
	struct stream *stream = t->c->stream;
	struct error ignored = ERROR_NONE;
	enum status status;

	backend_graph_destroy(t->graph);
	t->graph = NULL;
	if (backend_graph_begin(stream, err) != STATUS_OK)
		return err->status;
	status = enqueue_batch(t->c, batch, err);
	if (backend_graph_end(stream, &t->graph, status == STATUS_OK ? err : &ignored) == STATUS_OK)
		return status;
	t->graph = NULL;
	return status == STATUS_OK ? err->status : status;
}

static enum status launch_graph(void *state, unsigned batch, struct error *err)
{
	struct timed *t = state;

	(void)batch;
	return backend_graph_launch(t->graph, t->c->stream, err);
}

static enum status measure(struct run *run, struct timed *t, struct error *err)
{
	const struct collective *c = t->c;
	struct stream *stream = c->stream;
	struct workload w = { .state = t,
			      .prepare = repeats(c) ? NULL : begin_anew,
			      .launch = launch_batch,
			      .clock = CLOCK_DEVICE,
			      .streams = &stream,
			      .stream_count = 1,
			      .commands = DIRECT_COMMANDS };
	double factor = c->operation->bus_factor(c->ranks);
	const struct series *time;

	if (choice(run->c, "launch") == GRAPH) {
		w.resize = record_batch;
		w.launch = launch_graph;
		w.commands = 1;
		w.max_batch = GRAPH_OPERATIONS;
	}
	if (run_sample(run, &w, "collective.time", &time, err) != STATUS_OK)
		return err->status;
	run_rate(run, "collective.busbw", factor * (double)c->bytes, time);
	run_rate(run, "collective.algbw", (double)c->bytes, time);
	run_duration(run, "collective.time", time);
	return STATUS_OK;
}

static void note_size(struct run *run, const struct collective *c)
{
	char part[32];

	if (c->bytes != (size_t)case_integer(run->c, "sizes"))
		run_note(run, "The tensor has %zu bytes: %zu parts of %s.", c->bytes,
			 c->bytes / c->part, units_size(c->part, part, sizeof(part)));
}

static void note_verified(struct run *run, const struct collective *c)
{
	if (c->operation->reduces)
		run_verified(run,
			     "every element on every rank against sums in double from the "
			     "generator, before and after timing",
			     world_max(run->world, c->error), collective_tolerance(c));
	else
		run_verified(run,
			     "every byte on every rank against the generator, before and after "
			     "timing",
			     NAN, NAN);
}

/* What the timed operations left, or where they leave no known sums once more from the beginning. */
static enum status verify_after(struct collective *c, struct world *world, struct error *err)
{
	enum status status;

	if (!repeats(c))
		return verify(c, world, "after", err);
	status = world_agree(world, collective_check(c, err), err);
	return status == STATUS_OK ? status : error_prefix(err, "after timing");
}

static enum status collective_run(struct run *run, struct error *err)
{
	struct collective c;
	struct timed timed = { .c = &c };
	const struct session *session = session_open(run->devices[0], run->world, err);
	enum status status;

	if (!session)
		return err->status;
	describe(&c, run);
	c.stream = session->stream;
	c.communicator = session->communicator;
	status = world_agree(run->world, collective_open(&c, err), err);
	if (status == STATUS_OK)
		status = verify(&c, run->world, "before", err);
	if (status == STATUS_OK)
		status = world_agree(run->world, collective_prepare(&c, err), err);
	if (status == STATUS_OK)
		status = measure(run, &timed, err);
	if (status == STATUS_OK)
		status = verify_after(&c, run->world, err);
	if (status == STATUS_OK) {
		note_size(run, &c);
		note_verified(run, &c);
	}
	/* With the device or a rank lost, waiting would not end; the process is about to. */
	if (status == STATUS_DEVICE || status == STATUS_TIMEOUT || status == STATUS_INTERNAL)
		return status;
	backend_graph_destroy(timed.graph);
	collective_close(&c);
	return status;
}

const struct suite suite_collective = {
	.name = "collective",
	.summary = "collective operations between devices: time and bandwidth over size and ranks",
	.keys = keys,
	.axes = axes,
	.metrics = metrics,
	.processes = SUITE_PROCESS_PER_DEVICE,
	.expand = collective_expand,
	.run = collective_run,
	.release = session_close,
};
