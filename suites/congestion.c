/*
 * Network congestion (GPCNeT): time of the victims' operation alone and while all other nodes load
 * the network, mean and p99 (Chunduri et al., "GPCNeT: Designing a Benchmark Suite for Inducing and
 * Measuring Contention in HPC Networks", SC 2019). A network that gives each node its full
 * bandwidth alone may still let one job slow down another.
 */
#include <stdio.h>
#include <string.h>

#include "plan/plan.h"
#include "plan/suite.h"
#include "suites/congestion/measure.h"
#include "suites/shared/ranks/collective_data.h"
#include "suites/shared/ranks/communicators.h"
#include "suites/shared/words.h"

static const char *const loads[] = { "all_to_all", "incast", "all_reduce", "broadcast", NULL };

static const struct key keys[] = {
	{ .name = "operations",
	  .type = KEY_CHOICE,
	  .list = true,
	  .fallback = "send_recv, all_reduce",
	  .choices = operation_names,
	  .parameter = "operation",
	  .help = "operation of the victims; send_recv: each rank sends to the next in a ring" },
	{ .name = "sizes",
	  .type = KEY_SIZE,
	  .list = true,
	  .fallback = "1KiB, 128KiB",
	  .min = 256,
	  .max = 0x1p40,
	  .parameter = "size",
	  .help = "bytes of the victims' tensor; small ones measure latency, large ones "
		  "bandwidth" },
	{ .name = "congestors",
	  .type = KEY_CHOICE,
	  .list = true,
	  .fallback = "all_to_all, incast",
	  .choices = loads,
	  .parameter = "congestor",
	  .help = "load that all other nodes put on the network; incast: all send to the first of "
		  "them" },
	{ .name = "load_size",
	  .type = KEY_SIZE,
	  .fallback = "16MiB",
	  .min = 4096,
	  .max = 0x1p40,
	  .help = "bytes of the tensor that the load sends" },
	{ .name = "victims",
	  .type = KEY_PERCENT,
	  .fallback = "20 %",
	  .min = 0.001,
	  .max = 0.9,
	  .help = "fraction of the nodes that are victims; at least two nodes are victims, and at "
		  "least two create load" },
	{ .name = "turns",
	  .type = KEY_INTEGER,
	  .fallback = "1",
	  .min = 1,
	  .max = 100,
	  .help = "number of repetitions, each with other nodes as victims; with 20 % victims, "
		  "every node is a victim in one of five repetitions" },
	{ .name = "nodes",
	  .type = KEY_INTEGER,
	  .list = true,
	  .fallback = "all",
	  .min = 4,
	  .max = 65536,
	  .word = "all",
	  .help = "number of nodes of a multi-node run, with all their devices" },
	GPUDIRECT_KEY,
	{ 0 },
};

static const char *const axes[] = {
	"gpudirect", "nodes", "congestors", "operations", "sizes", NULL
};

static const struct metric metrics[] = {
	{ "congestion.slowdown", "1", BETTER_LOWER, 1,
	  "mean time of the victims' operation under load / mean time without load", METRIC_OTHER },
	{ "congestion.slowdown_p99", "1", BETTER_LOWER, 0,
	  "99th percentile of the time of the victims' operation under load / 99th percentile "
	  "without load",
	  METRIC_OTHER },
	{ "congestion.worst_node", "1", BETTER_LOWER, 0,
	  "mean time of an operation under load / mean time without load, for the slowest victim "
	  "node",
	  METRIC_OTHER },
	{ "congestion.time", "s", BETTER_LOWER, 0,
	  "time of one operation of the victims under load, on the slowest rank", METRIC_OTHER },
	{ "congestion.time_p99", "s", BETTER_LOWER, 0, "99th percentile", METRIC_OTHER },
	{ "congestion.alone", "s", BETTER_LOWER, 0,
	  "time of one operation of the victims without load, on the slowest rank", METRIC_OTHER },
	{ "congestion.alone_p99", "s", BETTER_LOWER, 0, "99th percentile", METRIC_OTHER },
	{ "congestion.load", "B/s", BETTER_HIGHER, 0,
	  "bus bandwidth of the load while the victims do not communicate", METRIC_OTHER },
	{ "congestion.load_busy", "1", BETTER_HIGHER, 0,
	  "fraction of the time in which the load ran without gaps, on the rank with the smallest "
	  "fraction",
	  METRIC_OTHER },
	{ 0 },
};

static const struct figure_row figures[] = {
	{ .metric = "congestion.slowdown",
	  .kind = "bars",
	  .bars = { "congestor", "operation", "size" },
	  .reference = 1,
	  .means = "Mean time of the victims' operation under load / mean time without load; 1: no "
		   "slowdown" },
	{ .metric = "congestion.slowdown_p99",
	  .kind = "bars",
	  .bars = { "congestor", "operation", "size" },
	  .reference = 1,
	  .means = "99th percentile of the time of the victims' operation under load / 99th "
		   "percentile without load" },
	{ 0 },
};

static const struct word_row words[] = { TRANSPORT_WORDS, { 0 } };

static const struct role_row roles[] = { { "nodes", ROLE_NODES }, { 0 } };

static const struct key turn_key = { .name = "turn", .type = KEY_INTEGER };

static enum status congestion_expand(struct plan *plan, struct plan_case *point, struct error *err)
{
	const struct section *section = point->section;
	const struct operation *victims = &operations[case_integer(point, "operations")];
	const struct device_info *info = &plan->devices[0];
	uint64_t size = (uint64_t)case_integer(point, "sizes"),
		 load = (uint64_t)section_integer(section, "load_size");
	int least = 2 * CONGESTION_NODES_LEAST, ranks = (int)plan_backend_devices(plan, 0);
	char reason[128] = "";

	if (!plan_takes_nodes(plan, point) || !communicators_gpudirect_plan(plan, point))
		return STATUS_OK;
	if (plan->group.nodes < least)
		snprintf(reason, sizeof(reason),
			 "congestion needs %d nodes (%d victims and %d that create load); the run "
			 "has %d",
			 least, CONGESTION_NODES_LEAST, CONGESTION_NODES_LEAST, plan->group.nodes);
	else if (!(info->capabilities & DEVICE_HAS_COLLECTIVES))
		snprintf(reason, sizeof(reason), "%s does not support collectives", info->id);
	point->device_bytes = collective_data_footprint(victims, false, size, ranks) + 2 * load;
	/* Three series, and two communicators. */
	point->setup_seconds = 2 + 2 * section_real(section, "max_time") +
			       6 * (double)(size + load) / (device_is_host(info) ? 0.8e9 : 100e9);
	for (int turn = 0; turn < section_integer(section, "turns"); turn++) {
		struct parameter parameters[8];
		struct plan_case with = *point;

		memcpy(parameters, point->parameters, point->parameter_count * sizeof(*parameters));
		with.parameters = parameters;
		/* The first has no number in ids, so that they do not depend on `turns`. */
		if (turn > 0)
			parameters[with.parameter_count++] = plan_number(plan, &turn_key, turn);
		if (plan_add_group(plan, &with, *reason ? reason : NULL, err) != STATUS_OK)
			return err->status;
	}
	return STATUS_OK;
}

const struct suite suite_congestion = {
	.name = "congestion",
	.summary = "slowdown of some nodes while the other nodes load the network: mean and p99",
	.keys = keys,
	.axes = axes,
	.metrics = metrics,
	.figures = figures,
	.words = words,
	.roles = roles,
	.processes = SUITE_PROCESS_PER_DEVICE,
	.groups = SUITE_OF_NODES,
	.expand = congestion_expand,
	.run = congestion_measure_run,
	.open_state = congestion_measure_open_state,
	.close_state = congestion_measure_close_state,
};
