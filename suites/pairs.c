/*
 * Messages between two nodes: over all rails at the same time, one by one, and crossed. A rail is a
 * device of one node and the device of the other with the same number, which share a switch in a
 * rail-optimised fabric. A collective uses the network only for a part of its time; messages over
 * all rails saturate it, so they reveal a slow one. A few random rounds over many nodes locate the
 * slow node (suites/pairs/suspects.h).
 */
#include <stdio.h>
#include <string.h>

#include "plan/plan.h"
#include "suites/pairs/suspects.h"
#include "suites/pairs/measure.h"
#include "suites/shared/ranks/collective_session.h"
#include "suites/shared/ranks/gpudirect.h"

static const char *const patterns[] = { "all_rails", "each_rail", "crossed", NULL };
static const char *const directions[] = { "both", "forth", "back", NULL };

static const struct key keys[] = {
	{ .name = "patterns",
	  .type = KEY_CHOICE,
	  .list = true,
	  .fallback = "all_rails, each_rail",
	  .choices = patterns,
	  .parameter = "pattern",
	  .help = "all_rails: all at once; each_rail: one by one; crossed: each device with the "
		  "next one of the other node, all at once" },
	{ .name = "directions",
	  .type = KEY_CHOICE,
	  .list = true,
	  .fallback = "both, forth, back",
	  .choices = directions,
	  .parameter = "direction",
	  .help = "both: at the same time; forth: first node to second; back: second node to "
		  "first. Sizes up to 4 KiB are ping-pongs, which have both" },
	{ .name = "sizes",
	  .type = KEY_SIZE,
	  .list = true,
	  .fallback = "8B, 64MiB",
	  .min = 8,
	  .max = 0x1p40,
	  .parameter = "size",
	  .help = "bytes of one message; up to 4 KiB for latency, above for bandwidth" },
	{ .name = "rounds",
	  .type = KEY_INTEGER,
	  .fallback = "3",
	  .min = 1,
	  .max = 100,
	  .word = "all",
	  .help = "number of random rounds; in each round a node has one partner; all: every pair "
		  "of nodes once" },
	{ .name = "confirm",
	  .type = KEY_INTEGER,
	  .fallback = "2",
	  .min = 0,
	  .max = 20,
	  .help = "number of rounds that pair suspects with known-good nodes" },
	{ .name = "margin",
	  .type = KEY_PERCENT,
	  .fallback = "3 %",
	  .min = 0.001,
	  .max = 0.99,
	  .help = "a node whose pairs are this much slower than those of other nodes is at fault; "
		  "from half of it on the node is a suspect and measured again" },
	{ .name = "latency_margin",
	  .type = KEY_PERCENT,
	  .fallback = "50 %",
	  .min = 0.01,
	  .max = 100,
	  .help = "the same margin for latencies, above those of other nodes" },
	GPUDIRECT_KEY,
	{ 0 },
};

static const char *const axes[] = { "gpudirect", "patterns", "directions", "sizes", NULL };

static const struct metric metrics[] = {
	{ "pairs.bandwidth", "B/s", BETTER_HIGHER, 1,
	  "bytes per second of the slowest rail; both: sum of both directions", METRIC_OTHER },
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

	if (!gpudirect_plan(plan, point))
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
	return sessions_open();
}

static void pairs_close_sessions(void *state)
{
	sessions_close(state);
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
