/*
 * Collectives between devices, one rank each. The operations of a sample run in one stream and are
 * enqueued before the ranks start together; a sample lasts as long as on the slowest rank. Every
 * rank verifies before and after timing.
 *
 * Times and bandwidths are defined as in nccl-tests: the size is that of the whole tensor, of which
 * a rank has one part in all_gather, reduce_scatter and all_to_all.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/units.h"
#include "device/ranks/relay.h"
#include "measure/run.h"
#include "plan/plan.h"
#include "plan/suite.h"
#include "suites/shared/energy.h"
#include "suites/shared/ranks/collective_data.h"
#include "suites/shared/ranks/communicators.h"
#include "suites/shared/words.h"

/* Runs one case on one rank: verify, time, verify again. */
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
	c->bytes = collective_data_bytes(c->operation, size, c->ranks, &c->part);
}

/* Verifies one operation on fresh data. Each step may fail on one rank only. */
static enum status collective_verify(struct collective *c, struct world *world, const char *when,
				     struct error *err)
{
	enum status status = world_agree(world, collective_data_prepare(c, err), err);
	uint64_t before = relay_pieces(c->communicator);

	if (status == STATUS_OK)
		status = world_agree(world, collective_data_enqueue(c, err), err);
	c->copy_commands = (unsigned)(relay_pieces(c->communicator) - before) * RELAY_COMMANDS;
	if (status == STATUS_OK)
		status = world_agree(world, collective_data_check(c, err), err);
	return status == STATUS_OK ? status : error_prefix(err, "%s timing", when);
}

/* In-place sums grow from one operation to the next; all others repeat their results. */
static bool collective_repeats(const struct collective *c)
{
	return !(c->in_place && c->operation->reduces);
}

static enum status collective_launch_batch(void *state, unsigned batch, struct error *err)
{
	for (unsigned i = 0; i < batch; i++)
		if (collective_data_enqueue(state, err) != STATUS_OK)
			return err->status;
	return STATUS_OK;
}

/*
 * Restarts in-place sums in each sample. They stay finite for some operations (in FP16, over eight
 * ranks, for five) and are infinite afterwards, which takes links and adders the same time.
 */
static enum status collective_begin_anew(void *state, struct error *err)
{
	return collective_data_prepare(state, err);
}

/* Ends a recording even if an operation in it has failed. */
static enum status collective_record_batch(void *state, unsigned batch, struct error *err)
{
	struct collective *c = state;
	struct error ignored = ERROR_NONE;
	enum status status;

	backend_graph_destroy(c->graph);
	c->graph = NULL;
	if (backend_graph_begin(c->stream, err) != STATUS_OK)
		return err->status;
	status = collective_launch_batch(c, batch, err);
	if (backend_graph_end(c->stream, &c->graph, status == STATUS_OK ? err : &ignored) ==
	    STATUS_OK)
		return status;
	c->graph = NULL;
	return status == STATUS_OK ? err->status : status;
}

static enum status collective_launch_graph(void *state, unsigned batch, struct error *err)
{
	const struct collective *c = state;

	(void)batch;
	return backend_graph_launch(c->graph, c->stream, err);
}

static enum status collective_measure(struct run *run, struct collective *c, struct error *err)
{
	struct workload w = { .state = c,
			      .prepare = collective_repeats(c) ? NULL : collective_begin_anew,
			      .launch = collective_launch_batch,
			      .clock = CLOCK_DEVICE,
			      .streams = &c->stream,
			      .stream_count = 1,
			      .commands = DIRECT_COMMANDS + c->copy_commands,
			      .has_energy = true };
	double factor = collective_data_bus_factor(c->operation, c->ranks);
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

static void collective_record_checks(struct run *run, const struct collective *c)
{
	char part[32];

	if (c->bytes != (size_t)case_integer(run->c, "sizes"))
		run_note(run, "The tensor has %zu bytes: %zu parts of %s.", c->bytes,
			 c->bytes / c->part, units_size(c->part, part, sizeof(part)));
	if (c->operation->reduces)
		run_verified(run,
			     "every element on every rank against double-precision sums of the "
			     "generated inputs, before and after timing",
			     world_max(run->world, c->error), collective_data_tolerance(c));
	else
		run_verified(run,
			     "every byte on every rank against the generated input, before and "
			     "after timing",
			     NAN, NAN);
}

/* run() of struct suite. */
static enum status collective_run(struct run *run, struct error *err)
{
	struct collective c;
	const struct collective_session *session =
		communicators_session_find(run->suite_state, run->devices[0], run->world,
					   collective_transport_of(run->c), err);
	enum status status;

	if (!session)
		return err->status;
	collective_describe(&c, run);
	c.stream = session->stream;
	c.communicator = session->communicator;
	status = world_agree(run->world, collective_data_open(&c, err), err);
	if (status == STATUS_OK)
		status = collective_verify(&c, run->world, "before", err);
	if (status == STATUS_OK)
		status = world_agree(run->world, collective_data_prepare(&c, err), err);
	if (status == STATUS_OK)
		status = collective_measure(run, &c, err);
	/* Verifies the timed operations or, if their sums are unknown, a new one. */
	if (status == STATUS_OK && !collective_repeats(&c)) {
		status = collective_verify(&c, run->world, "after", err);
	} else if (status == STATUS_OK) {
		status = world_agree(run->world, collective_data_check(&c, err), err);
		if (status != STATUS_OK)
			error_prefix(err, "after timing");
	}
	if (status == STATUS_OK) {
		enum transport transport = c.communicator->transport;

		/* All ranks have chosen it together; limits read it as the parameter (limit.h). */
		if (transport != TRANSPORT_AUTO)
			run_add_path(run->result,
				     xasprintf("transport: %s", transport_names[transport]));
		collective_record_checks(run, &c);
	}
	/* If the device or a rank is lost, waiting would not end; the process exits soon. */
	if (status_loses_device(status))
		return status;
	backend_graph_destroy(c.graph);
	collective_data_close(&c);
	return status;
}

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
	  .help = "collectives to time; send_recv: each rank sends to the next in a ring; "
		  "broadcast, reduce: rank 0 is the root" },
	{ .name = "precisions",
	  .type = KEY_CHOICE,
	  .list = true,
	  .fallback = "fp32",
	  .choices = precisions,
	  .parameter = "precision",
	  .help = "element type of all_reduce, reduce_scatter and reduce; other operations move "
		  "bytes" },
	{ .name = "placement",
	  .type = KEY_CHOICE,
	  .list = true,
	  .fallback = "out_of_place",
	  .choices = placements,
	  .help = "in_place: the result overwrites the input (always for broadcast, never for "
		  "send_recv and all_to_all); out_of_place: separate buffers" },
	{ .name = "launch",
	  .type = KEY_CHOICE,
	  .list = true,
	  .fallback = "direct",
	  .choices = launches,
	  .help = "direct: one library call per operation; graph: operations captured and launched "
		  "as a CUDA graph" },
	{ .name = "transport",
	  .type = KEY_CHOICE,
	  .list = true,
	  .fallback = "auto",
	  .choices = transport_names,
	  .help = "GPUs: nccl, peer_copy or host_copy; CPU: shared_memory, or tcp between nodes; "
		  "auto: the first available" },
	{ .name = "devices",
	  .type = KEY_INTEGER,
	  .list = true,
	  .fallback = "2, 4, 8",
	  .min = 1,
	  .max = NODE_DEVICES_MOST,
	  .help = "number of ranks (devices), at least two" },
	{ .name = "nodes",
	  .type = KEY_INTEGER,
	  .list = true,
	  .fallback = "1",
	  .min = 1,
	  .max = 65536,
	  .word = "all",
	  .help = "number of nodes of a multi-node run, with all their devices; 1: each node "
		  "separately, with the number of ranks in `devices`" },
	{ .name = "sizes",
	  .type = KEY_SIZE,
	  .list = true,
	  .fallback = "1KiB, 64KiB, 1MiB, 16MiB, 256MiB",
	  .min = 256,
	  .max = 0x1p40,
	  .parameter = "size",
	  .help = "bytes of the whole tensor; each rank's part is rounded down to a multiple of 16 "
		  "bytes" },
	GPUDIRECT_KEY,
	{ 0 },
};

/*
 * Devices first: cases of the same ranks are consecutive, and share their processes and
 * communicator.
 */
static const char *const axes[] = { "gpudirect",  "nodes",     "devices", "transport", "operations",
				    "precisions", "placement", "launch",  "sizes",     NULL };

static const struct metric metrics[] = {
	{ "collective.busbw", "B/s", BETTER_HIGHER, 1,
	  "bus bandwidth: bytes per second over the link of each device, as in nccl-tests for n "
	  "ranks: algbw x 2(n-1)/n for all_reduce; (n-1)/n for all_gather, reduce_scatter and "
	  "all_to_all; 1 for broadcast, reduce and send_recv",
	  METRIC_OTHER, .title = "bus bandwidth" },
	{ "collective.algbw", "B/s", BETTER_HIGHER, 0,
	  "algorithm bandwidth: bytes of the tensor / time", METRIC_OTHER,
	  .title = "algorithm bandwidth" },
	{ "collective.time", "s", BETTER_LOWER, 0,
	  "time of one operation on the slowest rank, in a series of operations without pauses" },
	ENERGY_METRICS("collective", "one operation", "bytes_per_joule", "B/J",
		       "bytes of the tensor / energy of the devices of all ranks"),
	{ 0 },
};

static const struct table_row tables[] = {
	ENERGY_TABLE("collective", "time", "bytes_per_joule"),
	{ 0 },
};

static const struct figure_row figures[] = {
	{ .metric = "collective.busbw", .kind = "lines", .facets = { "operation" } },
	{ .metric = "collective.time",
	  .kind = "lines",
	  .logarithmic = true,
	  .fitted = true,
	  .facets = { "operation" } },
	{ 0 },
};

static const struct word_row words[] = { PRECISION_WORDS, TRANSPORT_WORDS, { 0 } };

/*
 * Places a point on the first n devices of one backend, whose first device is `first`; for a group
 * of nodes, on all.
 */
static enum status collective_plan_on(struct plan *plan, struct plan_case *point, size_t first,
				      const struct operation *operation, bool in_place,
				      enum precision precision, struct error *err)
{
	const struct device_info *info = &plan->devices[first];
	bool group = plan->group.nodes > 0;
	int ranks = group ? (int)plan_backend_devices(plan, first)
			  : (int)case_integer(point, "devices");
	size_t part, bytes;
	char reason[128] = "";
	double rate;

	bytes = collective_data_bytes(operation, (size_t)case_integer(point, "sizes"), ranks,
				      &part);
	if (plan_backend_devices(plan, first) < (size_t)ranks)
		; /* the plan reports it */
	else if (!(info->capabilities & DEVICE_HAS_COLLECTIVES))
		snprintf(reason, sizeof(reason), "%s does not support collectives", info->id);
	else if (operation->reduces && !(info->capabilities & precision_capability(precision)))
		snprintf(reason, sizeof(reason), "%s has no %s", info->id,
			 precision_name(precision));
	point->device_bytes = collective_data_footprint(operation, in_place, bytes, ranks);
	/*
	 * Approximate time for filling and checking. Opening the communicator takes almost a second
	 * in the first case, and is counted in all.
	 */
	rate = device_is_host(info) ? 0.8e9 / ranks : 100e9;
	point->setup_seconds = 0.02 * ranks + 6 * (double)point->device_bytes / rate;
	return group ? plan_add_group(plan, point, *reason ? reason : NULL, err)
		     : plan_add_ranks(plan, point, first, ranks, *reason ? reason : NULL, err);
}

static enum status collective_expand(struct plan *plan, struct plan_case *point, struct error *err)
{
	const struct operation *operation = &operations[case_integer(point, "operations")];
	bool in_place = operation->placements == IN_PLACE_ONLY ||
			(operation->placements == EITHER_PLACE && case_integer(point, "placement"));
	enum precision precision = PRECISION_FP32;

	precision_from_name(case_text(point, "precisions"), &precision);
	if (!plan_takes_nodes(plan, point) || !communicators_gpudirect_plan(plan, point))
		return STATUS_OK;
	/* A group uses all devices of its nodes; a single device has no peer. */
	if (plan->group.nodes ? !plan_drop_axis(point, "devices")
			      : case_integer(point, "devices") == 1)
		return STATUS_OK;
	/* Ids leave out default values; each value occurs once. */
	if (strcmp(case_text(point, "launch"), "direct") == 0)
		plan_drop_axis(point, "launch");
	if (strcmp(case_text(point, "transport"), "auto") == 0)
		plan_drop_axis(point, "transport");
	if (!operation->reduces && !plan_drop_axis(point, "precisions"))
		return STATUS_OK;
	if (operation->placements != EITHER_PLACE && !plan_drop_axis(point, "placement"))
		return STATUS_OK;
	for (size_t i = 0; i < plan->device_count; i++)
		if (plan_first_of_backend(plan, i) && (i == 0 || !plan->group.nodes) &&
		    collective_plan_on(plan, point, i, operation, in_place, precision, err) !=
			    STATUS_OK)
			return err->status;
	return STATUS_OK;
}

static const struct role_row roles[] = { { "nodes", ROLE_NODES }, { 0 } };

static const struct aspect_row aspects[] = {
	{ "collective.busbw", NULL, NULL, ASPECT_LINK, true, "collective {operation}",
	  "collectives", "{operation}", LINK_PEER },
	{ "collective.algbw", NULL, NULL, ASPECT_LINK, true, "collective {operation}",
	  "collectives", "{operation}", LINK_PEER },
	{ 0 },
};

static const struct sheet_row sheet[] = {
	{ "collective.busbw", { "operation", "all_reduce" }, .quantity = "all_reduce" },
	{ 0 },
};

const struct suite suite_collective = {
	.name = "collective",
	.summary = "collectives between devices: time and bandwidth over size and ranks",
	.keys = keys,
	.axes = axes,
	.metrics = metrics,
	.figures = figures,
	.tables = tables,
	.words = words,
	.roles = roles,
	.sheet = sheet,
	.aspects = aspects,
	.processes = SUITE_PROCESS_PER_DEVICE,
	.groups = SUITE_OF_NODES,
	.expand = collective_expand,
	.run = collective_run,
	.open_state = communicators_sessions_open,
	.close_state = communicators_sessions_close,
};
