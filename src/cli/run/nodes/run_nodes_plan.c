#include "cli/run/nodes/run_nodes_plan.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/units.h"
#include "cli/run/run_launches.h"
#include "fleet/launcher.h"
#include "result/result.h"

#define MOST_SIZES 64
/* A group is planned with as many nodes at most: more cost no more seconds by a plan's estimate. */
#define MOST_PLANNED 32
/* Starting ranks, opening devices and connecting, for each round of groups. */
#define ROUND_SECONDS 3.0

/* Sums up all rounds. */
struct costs {
	size_t nodes;
	size_t rounds;
	double seconds;
};

static void print_row(struct costs *sum, const char *stage, size_t rounds, size_t groups,
		      size_t cases, double seconds, double payload)
{
	char time[32], bytes[32];

	printf("%-28s  %6zu  %7zu  %7zu  %10s  %10s\n", stage, rounds, groups, cases,
	       units_about(seconds, time, sizeof(time)),
	       payload > 0 ? units_format(payload, "B", bytes, sizeof(bytes)) : "-");
	sum->rounds += rounds;
	sum->seconds += seconds;
}

static size_t count_cases(const struct plan *plan, double *seconds, double *payload)
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

/* Devices of `nodes` nodes as those of `plan`; malloc'ed. */
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

/* `rounds` of `groups` groups of `size` nodes each, as many as `sum->nodes` allow at one time. */
static void print_groups(struct costs *sum, const struct plan *plan, const char *stage,
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
		cases = count_cases(&group, &seconds, &payload);
		if (cases)
			print_row(sum, stage, rounds, groups, groups * cases,
				  (double)rounds * (seconds + ROUND_SECONDS),
				  (double)(groups * size) * payload);
	} else {
		printf("%-28s  %s\n", stage, err.message);
	}
	plan_release(&group);
	free(devices);
}

/* Distinct numbers of nodes that suites ask for, 0 for all. */
static size_t list_sizes(const struct config *config, size_t *sizes)
{
	size_t count = 0;

	for (size_t i = 0; i < config->count; i++) {
		const struct section *s = &config->sections[i];
		const struct setting *nodes = s->suite && s->suite->groups == SUITE_OF_NODES
						      ? section_setting(s, "nodes")
						      : NULL;

		for (size_t v = 0; nodes && v < nodes->count && count < MOST_SIZES; v++) {
			size_t size = (size_t)nodes->values[v].integer, k = 0;

			while (k < count && sizes[k] != size)
				k++;
			if (k == count && size != 1)
				sizes[count++] = size;
		}
	}
	return count;
}

static void print_sizes(struct costs *sum, const struct plan *plan)
{
	size_t sizes[MOST_SIZES], count = list_sizes(plan->config, sizes);

	for (size_t i = 0; i < count; i++) {
		size_t size = sizes[i] ? sizes[i] : sum->nodes, rest;
		struct plan_group what = { .asked = (int)sizes[i], .kind = SUITE_OF_NODES };
		char stage[64];

		snprintf(stage, sizeof(stage), "%s%zu nodes", sizes[i] ? "groups of " : "all ",
			 size);
		if (size < 2 || size > sum->nodes) {
			printf("%-28s  not possible with %zu node%s\n", stage, sum->nodes,
			       sum->nodes == 1 ? "" : "s");
			continue;
		}
		rest = sum->nodes % size > 0;
		print_groups(sum, plan, stage, what, size, 1 + rest, sum->nodes / size + rest);
	}
}

/* The highest that a section of pairs asks for; 0 is all of them. -1: there is none. */
static int64_t pair_rounds(const struct config *config, const char *key)
{
	int64_t most = -1;

	for (size_t i = 0; i < config->count; i++) {
		const struct section *s = &config->sections[i];
		int64_t value;

		if (!s->suite || s->suite->groups != SUITE_OF_PAIRS)
			continue;
		value = section_integer(s, key);
		most = value > most ? value : most;
		if (value == 0 && strcmp(key, "rounds") == 0)
			return 0;
	}
	return most;
}

static void print_pairs(struct costs *sum, const struct plan *plan)
{
	const struct plan_group what = { .kind = SUITE_OF_PAIRS, .round = 1 };
	int64_t asked = pair_rounds(plan->config, "rounds");
	int64_t confirm = pair_rounds(plan->config, "confirm");
	size_t all = (sum->nodes + 1) / 2 * 2 - 1, rounds = asked ? (size_t)asked : all;
	struct costs unlikely = { .nodes = sum->nodes };

	if (asked < 0)
		return;
	if (sum->nodes < 2) {
		printf("%-28s  not possible with 1 node\n", "pairs of nodes");
		return;
	}
	print_groups(sum, plan, asked ? "random pairs" : "every two nodes once", what, 2, rounds,
		     rounds * (sum->nodes / 2));
	/* Comes only where there are suspects, and as often as they ask for. */
	if (confirm > 0)
		print_groups(&unlikely, plan, "suspects again, one suspect", what, 2,
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
		printf("\nOn how many nodes is not known here: %s\n", err.message);
		launcher_release(&launcher);
		return;
	}
	how = launcher_describe(&launcher);
	sum.nodes = launcher.expected;
	if (!sum.nodes) {
		printf("\nOn as many nodes as %s starts; fleet.nodes = N says how many\n", how);
	} else {
		printf("\n%zu node%s like this one: %s\n\n%-28s  %6s  %7s  %7s  %10s  %10s\n",
		       sum.nodes, sum.nodes == 1 ? "" : "s", how, "", "rounds", "groups", "cases",
		       "time", "payload");
		cases = count_cases(plan, &seconds, &payload);
		print_row(&sum, "each node by itself", 1, sum.nodes, sum.nodes * cases * launches,
			  seconds * (double)launches, 0);
		print_sizes(&sum, plan);
		print_pairs(&sum, plan);
		hours = (double)sum.nodes * sum.seconds / 3600;
		printf("\n%zu round%s, about %s: %.3g node-hours, %.3g device-hours. The payload "
		       "is "
		       "that of one operation of\neach case, over all groups; a case repeats it "
		       "until "
		       "its interval is narrow\n",
		       sum.rounds, sum.rounds == 1 ? "" : "s",
		       units_about(sum.seconds, time, sizeof(time)), hours,
		       hours * (double)plan->device_count);
	}
	free(how);
	launcher_release(&launcher);
}
