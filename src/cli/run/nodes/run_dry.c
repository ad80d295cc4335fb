#include "cli/run/nodes/run_dry.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/run/run_launches.h"
#include "fleet/launcher.h"
#include "plan/config.h"
#include "result/result.h"

static size_t widest_id(const struct plan *plan)
{
	size_t widest = 2;

	for (size_t i = 0; i < plan->case_count; i++)
		if (strlen(plan->cases[i].id) > widest)
			widest = strlen(plan->cases[i].id);
	return widest < 80 ? widest : 80;
}

static void dry_run_print_case(const struct plan *plan, const struct plan_case *c, int width)
{
	char device[32], host[32], time[32], *text, *harmless;

	if (c->skip_reason) {
		printf("%-*s  skipped: %s\n", width, c->id, c->skip_reason);
		return;
	}
	printf("%-*s  %10s  %10s  %9s\n", width, c->id,
	       units_format((double)c->device_bytes, "B", device, sizeof(device)),
	       units_format((double)c->host_bytes, "B", host, sizeof(host)),
	       units_format(c->estimate_seconds, "s", time, sizeof(time)));
	/* Config texts may contain terminal control characters. */
	text = c->suite->describe ? c->suite->describe(plan, c) : NULL;
	harmless = text ? text_harmless(text) : NULL;
	if (harmless)
		printf("    %s\n", harmless);
	free(harmless);
	free(text);
}

void run_print_plan(const struct plan *plan)
{
	int width = (int)widest_id(plan);
	uint64_t device_bytes = 0, host_bytes = 0;
	double seconds = 0;
	size_t launches = launches_least(plan);
	size_t skipped = 0;
	char device[32], host[32], time[32];

	printf("%-*s  %10s  %10s  %9s\n", width, "case", "per device", "host", "time");
	for (size_t i = 0; i < plan->case_count; i++) {
		const struct plan_case *c = &plan->cases[i];

		dry_run_print_case(plan, c, width);
		if (c->skip_reason) {
			skipped++;
			continue;
		}
		device_bytes = c->device_bytes > device_bytes ? c->device_bytes : device_bytes;
		host_bytes = c->host_bytes > host_bytes ? c->host_bytes : host_bytes;
		seconds += c->estimate_seconds;
	}
	printf("\n%zu case%s (%zu skipped) on %zu device%s: at most %s per device and %s of host "
	       "memory, about %s",
	       plan->case_count, text_plural(plan->case_count), skipped, plan->device_count,
	       text_plural(plan->device_count),
	       units_format((double)device_bytes, "B", device, sizeof(device)),
	       units_format((double)host_bytes, "B", host, sizeof(host)),
	       units_about(seconds, time, sizeof(time)));
	if (launches > 1)
		printf(", and %s for %zu launches%s",
		       units_about(seconds * (double)launches, time, sizeof(time)), launches,
		       launches_auto(plan) ? ", the least" : "");
	printf("\n");
}

/* Maximum number of nodes in a planned group: more do not change the plan's estimate. */
#define MOST_PLANNED 32
/* Time to start ranks, open devices and connect, per round of groups. */
#define ROUND_SECONDS 3.0

/* Sum over all rounds. */
struct costs {
	size_t nodes;
	size_t rounds;
	double seconds;
};

static void dry_run_print_row(struct costs *sum, const char *stage, size_t rounds, size_t groups,
			      size_t cases, double seconds, double payload)
{
	char time[32], bytes[32];

	printf("%-28s  %6zu  %7zu  %7zu  %10s  %10s\n", stage, rounds, groups, cases,
	       units_about(seconds, time, sizeof(time)),
	       payload > 0 ? units_format(payload, "B", bytes, sizeof(bytes)) : "-");
	sum->rounds += rounds;
	sum->seconds += seconds;
}

static size_t dry_run_count_cases(const struct plan *plan, double *seconds, double *payload)
{
	size_t count = 0;

	*seconds = *payload = 0;
	for (size_t i = 0; i < plan->case_count; i++) {
		const struct plan_case *c = &plan->cases[i];

		if (c->skip_reason)
			continue;
		count++;
		*seconds += c->estimate_seconds;
		for (size_t p = 0; p < c->parameter_count; p++)
			if (strcmp(c->parameters[p].key->name, PARAMETER_SIZE) == 0)
				*payload += (double)c->parameters[p].value->integer;
	}
	return count;
}

/* Devices of `nodes` nodes, each like `plan`; the caller frees the array. */
static struct device_info *repeat_devices(const struct plan *plan, int nodes)
{
	size_t count = plan->device_count;
	struct device_info *devices = xcalloc((size_t)nodes * count + 1, sizeof(*devices));

	for (int n = 0; n < nodes; n++)
		for (size_t d = 0; d < count; d++) {
			struct device_info *at = &devices[(size_t)n * count + d];

			*at = plan->devices[d];
			at->node = n;
			snprintf(at->id, sizeof(at->id), "n%d/%.32s", n + 1, plan->devices[d].id);
		}
	return devices;
}

/* `rounds` of `groups` groups of `size` nodes each, as many at a time as `sum->nodes` allow. */
static void dry_run_print_groups(struct costs *sum, const struct plan *plan, const char *stage,
				 struct plan_group what, size_t size, size_t rounds, size_t groups)
{
	struct error err = ERROR_NONE;
	struct plan group = { 0 };
	struct device_info *devices;
	double seconds = 0, payload = 0;
	size_t cases;

	what.nodes = (int)(size < MOST_PLANNED ? size : MOST_PLANNED);
	devices = repeat_devices(plan, what.nodes);
	if (plan_build_group(&group, plan->config, devices, (size_t)what.nodes * plan->device_count,
			     &what, &err) == STATUS_OK) {
		cases = dry_run_count_cases(&group, &seconds, &payload);
		if (cases)
			dry_run_print_row(sum, stage, rounds, groups, groups * cases,
					  (double)rounds * (seconds + ROUND_SECONDS),
					  (double)(groups * size) * payload);
	} else {
		printf("%-28s  %s\n", stage, err.message);
	}
	plan_release(&group);
	free(devices);
}

static void dry_run_print_sizes(struct costs *sum, const struct plan *plan)
{
	int64_t sizes[PLAN_SIZES_MOST];
	size_t count = plan_group_sizes(plan->config, sizes);

	for (size_t i = 0; i < count; i++) {
		size_t size = sizes[i] ? (size_t)sizes[i] : sum->nodes, rest;
		struct plan_group what = { .asked = (int)sizes[i], .kind = SUITE_OF_NODES };
		char stage[64];

		snprintf(stage, sizeof(stage), "%s%zu nodes", sizes[i] ? "groups of " : "all ",
			 size);
		if (size < 2 || size > sum->nodes) {
			printf("%-28s  not possible with %zu node%s\n", stage, sum->nodes,
			       text_plural(sum->nodes));
			continue;
		}
		rest = sum->nodes % size > 0;
		dry_run_print_groups(sum, plan, stage, what, size, 1 + rest,
				     sum->nodes / size + rest);
	}
}

static void dry_run_print_pairs(struct costs *sum, const struct plan *plan)
{
	const struct plan_group what = { .kind = SUITE_OF_PAIRS, .round = 1 };
	int64_t asked = plan_pair_setting(plan->config, "rounds");
	int64_t confirm = plan_pair_setting(plan->config, "confirm");
	size_t all = (sum->nodes + 1) / 2 * 2 - 1, rounds = asked ? (size_t)asked : all;
	struct costs unlikely = { .nodes = sum->nodes };

	if (asked < 0)
		return;
	if (sum->nodes < 2) {
		printf("%-28s  not possible with 1 node\n", "pairs of nodes");
		return;
	}
	dry_run_print_groups(sum, plan, asked ? "random pairs" : "every pair of nodes once", what,
			     2, rounds, rounds * (sum->nodes / 2));
	/* Only happens if there are suspects, once for each group of them. */
	if (confirm > 0)
		dry_run_print_groups(&unlikely, plan, "suspects again, for one suspect", what, 2,
				     (size_t)confirm, (size_t)confirm);
}

void run_print_nodes(const struct plan *plan, const char *launch)
{
	const struct section *fleet = config_section(plan->config, "fleet", "");
	struct launcher launcher = { 0 };
	struct error err = ERROR_NONE;
	struct costs sum = { 0 };
	double seconds, payload, hours;
	size_t cases, launches = launches_least(plan);
	char *how, time[32];

	if (!fleet)
		return;
	if (launcher_choose(&launcher, plan->config, launch, &err) != STATUS_OK) {
		printf("\nUnknown number of nodes: %s\n", err.message);
		launcher_release(&launcher);
		return;
	}
	how = launcher_describe(&launcher);
	sum.nodes = launcher.expected;
	if (!sum.nodes) {
		printf("\nOn as many nodes as %s starts; set their number with fleet.nodes = N\n",
		       how);
	} else {
		printf("\n%zu node%s like this one: %s\n\n%-28s  %6s  %7s  %7s  %10s  %10s\n",
		       sum.nodes, text_plural(sum.nodes), how, "", "rounds", "groups", "cases",
		       "time", "payload");
		cases = dry_run_count_cases(plan, &seconds, &payload);
		dry_run_print_row(&sum, "each node alone", 1, sum.nodes,
				  sum.nodes * cases * launches, seconds * (double)launches, 0);
		dry_run_print_sizes(&sum, plan);
		dry_run_print_pairs(&sum, plan);
		hours = (double)sum.nodes * sum.seconds / 3600;
		printf("\n%zu round%s, about %s: %.3g node-hours, %.3g device-hours. The payload "
		       "is one operation of\neach case over all groups; a case repeats it until "
		       "its interval is narrow\n",
		       sum.rounds, text_plural(sum.rounds),
		       units_about(sum.seconds, time, sizeof(time)), hours,
		       hours * (double)plan->device_count);
	}
	free(how);
	launcher_release(&launcher);
}
