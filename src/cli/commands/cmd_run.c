/* gpuproof run: reads options and config; runs on one node (run_one_node.h) or several. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/run/nodes/run_fleet.h"
#include "cli/run/run_launches.h"
#include "cli/run/run_one_node.h"
#include "cli/words.h"
#include "fleet/launcher.h"
#include "plan/config.h"
#include "result/result.h"

static void cmd_run_dry_print_case(const struct plan *plan, const struct plan_case *c, int width)
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

static void cmd_run_print_plan(const struct plan *plan)
{
	int width = 2;
	uint64_t device_bytes = 0, host_bytes = 0;
	double seconds = 0;
	size_t launches = run_launches_least(plan);
	size_t skipped = 0;
	char device[32], host[32], time[32];

	for (size_t i = 0; i < plan->case_count; i++)
		width = (int)strlen(plan->cases[i].id) > width ? (int)strlen(plan->cases[i].id)
							       : width;
	width = width < 80 ? width : 80;
	printf("%-*s  %10s  %10s  %9s\n", width, "case", "per device", "host", "time");
	for (size_t i = 0; i < plan->case_count; i++) {
		const struct plan_case *c = &plan->cases[i];

		cmd_run_dry_print_case(plan, c, width);
		if (c->skip_reason) {
			skipped++;
			continue;
		}
		device_bytes = c->device_bytes > device_bytes ? c->device_bytes : device_bytes;
		host_bytes = c->host_bytes > host_bytes ? c->host_bytes : host_bytes;
		seconds += c->estimate_seconds;
	}
	printf("\n%zu case%s (%zu skipped) on %zu device%s. Memory: at most %s per device and %s "
	       "on the host. Time: about %s",
	       plan->case_count, text_plural(plan->case_count), skipped, plan->device_count,
	       text_plural(plan->device_count),
	       units_format((double)device_bytes, "B", device, sizeof(device)),
	       units_format((double)host_bytes, "B", host, sizeof(host)),
	       units_about(seconds, time, sizeof(time)));
	if (launches > 1)
		printf(", and %s for %zu launches%s",
		       units_about(seconds * (double)launches, time, sizeof(time)), launches,
		       run_launches_auto(plan) ? " (minimum)" : "");
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

static void cmd_run_dry_print_row(struct costs *sum, const char *stage, size_t rounds,
				  size_t groups, size_t cases, double seconds, double payload)
{
	char time[32], bytes[32];

	printf("%-28s  %6zu  %7zu  %7zu  %10s  %10s\n", stage, rounds, groups, cases,
	       units_about(seconds, time, sizeof(time)),
	       payload > 0 ? units_format(payload, "B", bytes, sizeof(bytes)) : "-");
	sum->rounds += rounds;
	sum->seconds += seconds;
}

static size_t cmd_run_dry_count_cases(const struct plan *plan, double *seconds, double *payload)
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
static struct device_info *cmd_run_repeat_devices(const struct plan *plan, int nodes)
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
static void cmd_run_dry_print_groups(struct costs *sum, const struct plan *plan, const char *stage,
				     struct plan_group what, size_t size, size_t rounds,
				     size_t groups)
{
	struct error err = ERROR_NONE;
	struct plan group = { 0 };
	struct device_info *devices;
	double seconds = 0, payload = 0;
	size_t cases;

	what.nodes = (int)(size < MOST_PLANNED ? size : MOST_PLANNED);
	devices = cmd_run_repeat_devices(plan, what.nodes);
	if (plan_build_group(&group, plan->config, devices, (size_t)what.nodes * plan->device_count,
			     &what, &err) == STATUS_OK) {
		cases = cmd_run_dry_count_cases(&group, &seconds, &payload);
		if (cases)
			cmd_run_dry_print_row(sum, stage, rounds, groups, groups * cases,
					      (double)rounds * (seconds + ROUND_SECONDS),
					      (double)(groups * size) * payload);
	} else {
		printf("%-28s  %s\n", stage, err.message);
	}
	plan_release(&group);
	free(devices);
}

static void cmd_run_dry_print_sizes(struct costs *sum, const struct plan *plan)
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
		cmd_run_dry_print_groups(sum, plan, stage, what, size, 1 + rest,
					 sum->nodes / size + rest);
	}
}

static void cmd_run_dry_print_pairs(struct costs *sum, const struct plan *plan)
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
	cmd_run_dry_print_groups(sum, plan,
				 asked ? "random pairs" : "all pairs of nodes, once each", what, 2,
				 rounds, rounds * (sum->nodes / 2));
	/* Only happens if there are suspects, once for each group of them. */
	if (confirm > 0)
		cmd_run_dry_print_groups(&unlikely, plan, "repetition, per suspect", what, 2,
					 (size_t)confirm, (size_t)confirm);
}

static void cmd_run_print_nodes(const struct plan *plan, const char *launch)
{
	const struct section *fleet = config_section(plan->config, "fleet", "");
	struct launcher launcher = { 0 };
	struct error err = ERROR_NONE;
	struct costs sum = { 0 };
	double seconds, payload, hours;
	size_t cases, launches = run_launches_least(plan);
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
		printf("\n%s decides on how many nodes the run starts; to set the number: "
		       "fleet.nodes = N\n",
		       how);
	} else {
		printf("\n%zu node%s like this one: %s\n\n%-28s  %6s  %7s  %7s  %10s  %10s\n",
		       sum.nodes, text_plural(sum.nodes), how, "", "rounds", "groups", "cases",
		       "time", "payload");
		cases = cmd_run_dry_count_cases(plan, &seconds, &payload);
		cmd_run_dry_print_row(&sum, "each node alone", 1, sum.nodes,
				      sum.nodes * cases * launches, seconds * (double)launches, 0);
		cmd_run_dry_print_sizes(&sum, plan);
		cmd_run_dry_print_pairs(&sum, plan);
		hours = (double)sum.nodes * sum.seconds / 3600;
		printf("\n%zu round%s, about %s: %.3g node-hours, %.3g device-hours. Payload: "
		       "bytes of one operation of\neach case, summed over all groups. A case "
		       "repeats its operation until its interval is narrow.\n",
		       sum.rounds, text_plural(sum.rounds),
		       units_about(sum.seconds, time, sizeof(time)), hours,
		       hours * (double)plan->device_count);
	}
	free(how);
	launcher_release(&launcher);
}

struct run_arguments {
	struct run_request request;
	const char *output, *resume; /* directories as given; NULL: option not given */
	const char *node_name;       /* NULL: from the environment, or the host name */
	bool dry_run;
	struct run_places places;
	char *made; /* directory that was named here */
};

/* Sets the key of [run] with the same name. */
static enum status cmd_run_take_key(void *overrides, const char *name, const char *value,
				    struct error *err)
{
	overrides_add(overrides, xasprintf("run.%s=%s", name, value));
	return err->status;
}

/* Each --only adds a name to the override of [run] only. */
static enum status cmd_run_take_only(void *overrides, const char *name, const char *value,
				     struct error *err)
{
	struct overrides *o = overrides;

	if (!*value || strpbrk(value, " \t"))
		return error_set(err, STATUS_USAGE, "--%s: invalid case '%.60s'", name, value);
	for (size_t i = 0; i < o->count; i++)
		if (text_starts_with(o->items[i].text, "run.only=")) {
			char *longer = xasprintf("%s %s", o->items[i].text, value);

			free((char *)o->items[i].text);
			o->items[i].text = longer;
			return STATUS_OK;
		}
	overrides_add(o, xasprintf("run.only=%s", value));
	return err->status;
}

#define LONG_SOAK 3600.0 /* s; beyond, slices of a minute would make the result large */

/* The keys of [suite burn] that a soak of that time has. */
static enum status cmd_run_take_soak(void *overrides, const char *name, const char *value,
				     struct error *err)
{
	double seconds;

	if (units_parse_duration(value, &seconds, err) != STATUS_OK)
		return error_prefix(err, "--%s", name);
	overrides_add(overrides, xasprintf("suite burn.duration=%s", value));
	overrides_add(overrides, xstrdup("suite burn.memory_most=1TiB"));
	if (seconds > LONG_SOAK)
		overrides_add(overrides, xstrdup("suite burn.slice=10min"));
	return STATUS_OK;
}

#define RUN_KEY(NAME, VALUE, ...) \
	CALL_ROW(NAME, VALUE, cmd_run_take_key, run_arguments, request.overrides, __VA_ARGS__)

static const struct option_row rows[] = {
	TEXT_ROW('o', "output", "DIR", run_arguments, output),
	TEXT_ROW(0, "resume", "DIR", run_arguments, resume),
	FLAG_ROW(0, "dry-run", run_arguments, dry_run),
	RUN_KEY("backend", "NAME", .words = cli_words_backends),
	RUN_KEY("devices", "LIST"),
	RUN_KEY("suites", "LIST", .words = cli_words_suites),
	CALL_ROW("only", "CASE", cmd_run_take_only, run_arguments, request.overrides),
	CALL_ROW("set", "SECTION.KEY=VALUE", overrides_take, run_arguments, request.overrides,
		 .words = cli_words_settings),
	RUN_KEY("launches", "N"),
	FLAG_ROW(0, "check", run_arguments, request.check.wanted),
	CALL_ROW("soak", "TIME", cmd_run_take_soak, run_arguments, request.overrides),
	TEXT_ROW(0, "limits", "FILE", run_arguments, request.check.limits_source,
		 .file = OPTION_FILE_READ, .words = cli_words_limits, .or_file = true),
	CALL_ROW("baseline", "RESULT", result_list_take, run_arguments, request.check.baseline),
	FLAG_ROW(0, "strict", run_arguments, request.check.strict),
	TEXT_ROW(0, "against", "OTHER", run_arguments, request.against),
	TEXT_ROW(0, "events", "FILE", run_arguments, request.events, .file = OPTION_FILE_WRITTEN),
	RUN_KEY("seed", "N"),
	RUN_KEY("label", "TEXT"),
	RUN_KEY("tags", "TEXT"),
	COUNT_ROW("simulate-nodes", "N", run_arguments, places.simulated),
	TEXT_ROW(0, "hosts", "FILE", run_arguments, places.hosts, .file = OPTION_FILE_READ),
	TEXT_ROW(0, "launch", "COMMAND", run_arguments, places.launch),
	TEXT_ROW(0, "node-name", "NAME", run_arguments, node_name),
	FLAG_ROW('q', "quiet", run_arguments, request.quiet),
	FLAG_ROW(0, "no-report", run_arguments, request.no_report),
	{ 0 },
};

/*
 * Removes trailing slashes. An empty name, from an unset variable, would become the root directory.
 */
static void cmd_run_take_directory(struct run_arguments *a, struct error *err)
{
	const char *given = a->resume ? a->resume : a->output;
	size_t length = given ? strlen(given) : 0;

	a->request.resume = a->resume != NULL;
	if (!given)
		return;
	if (length == 0)
		error_set(err, STATUS_USAGE, "--%s: empty directory name",
			  a->resume ? "resume" : "output");
	while (length > 1 && given[length - 1] == '/')
		length--;
	a->request.directory = a->made = xstrndup(given, length);
}

static bool cmd_run_is_node_name(const char *name)
{
	size_t length = strlen(name);

	return length > 0 && length <= 200 &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:-") ==
		       length;
}

/* Rejects options that exclude each other. */
static int cmd_run_refuse_arguments(const struct call *call)
{
	const struct run_arguments *a = call->arguments;
	const struct run_request *r = &a->request;
	const struct command *command = call->command;

	if (call->count > 1)
		return cli_command_usage(command, "unexpected argument '%s'; run takes one CONFIG",
					 call->operands[1]);
	if (r->resume && (r->source || r->overrides.count || a->output || a->dry_run))
		return cli_command_usage(command,
					 "--resume uses the config and the directory of the "
					 "run; omit CONFIG and --output");
	if (run_fleet_places_conflict(&a->places))
		return cli_command_usage(command, RUN_PLACES_CONFLICT);
	if (r->resume && (a->places.simulated || a->places.hosts))
		return cli_command_usage(command, "--resume uses the nodes of the run; omit "
						  "--simulate-nodes, --hosts and --launch");
	if (!r->check.wanted &&
	    (r->check.strict || r->check.limits_source || r->check.baseline.count))
		return cli_command_usage(command, "--limits, --baseline and --strict need --check");
	if (r->against && (r->check.wanted || r->resume || r->events))
		return cli_command_usage(command, "--against cannot be combined with --check, "
						  "--resume or --events");
	if (r->events && (!*r->events || strcmp(r->events, "-") == 0))
		return cli_command_usage(command, "--events needs a file, because results and "
						  "verdicts go to standard output");
	if (a->node_name && (a->places.simulated || a->places.hosts))
		return cli_command_usage(command,
					 "--node-name names one node. For a run on several, "
					 "set GPUPROOF_NODE on each of them");
	if (a->node_name && !cmd_run_is_node_name(a->node_name))
		return cli_command_usage(command,
					 "--node-name '%.60s': use letters, digits, '.', "
					 "'_', ':' and '-', 200 at most",
					 a->node_name);
	if (!r->resume && !r->source)
		return cli_command_usage(command, "no CONFIG given; name a file or a shipped "
						  "config such as quick");
	return EXIT_ACCEPTED;
}

/* The command line in a form that can be pasted into a shell. */
static char *cmd_run_command_line(int argc, char **argv)
{
	struct text line = TEXT_EMPTY;

	text_add(&line, "gpuproof");
	for (int i = 0; i < argc; i++) {
		text_add_char(&line, ' ');
		text_add_shell_word(&line, argv[i]);
	}
	return text_detach(&line);
}

/* In a multi-node run each node plans its own cases; a dry run shows the cases of this one. */
static int cmd_run_prepare(struct call *call, struct run_setup *setup, bool *nodes)
{
	struct run_arguments *a = call->arguments;
	struct run_request *r = &a->request;

	if (run_setup_config(setup, r->source, &r->overrides, r->resume ? r->directory : NULL,
			     &call->err) != STATUS_OK)
		return call->err.message[0] ? cli_command_fail(&call->err) : EXIT_USAGE;
	*nodes = config_section(&setup->config, "fleet", "") && !a->dry_run;
	if (*nodes)
		return r->against ? cli_command_usage(call->command,
						      "--against works on one node only")
				  : EXIT_ACCEPTED;
	if (run_setup_plan(setup, &call->err) != STATUS_OK ||
	    (r->check.wanted && run_setup_refuse_cpu(setup, &call->err) != STATUS_OK) ||
	    (r->check.wanted && run_check_prepare(&r->check, &setup->plan) != STATUS_OK))
		return EXIT_USAGE;
	return EXIT_ACCEPTED;
}

static int cmd_run_run(struct call *call)
{
	struct run_arguments *a = call->arguments;
	struct run_request *r = &a->request;
	struct run_setup setup = { 0 };
	bool nodes = false;
	char *command;
	int code;

	r->source = call->count ? call->operands[0] : NULL;
	cmd_run_take_directory(a, &call->err);
	if (call->err.status != STATUS_OK)
		return EXIT_USAGE;
	code = cmd_run_refuse_arguments(call);
	if (code != EXIT_ACCEPTED || run_fleet_is_copied())
		return EXIT_USAGE;
	/* A resumed run knows its nodes. */
	if (!a->resume)
		run_fleet_places_override(&a->places, &r->overrides);
	/* Workers and the programs of --against read it from there. */
	if (a->node_name)
		setenv("GPUPROOF_NODE", a->node_name, 1);
	code = cmd_run_prepare(call, &setup, &nodes);
	if (code == EXIT_ACCEPTED && a->dry_run) {
		cmd_run_print_plan(&setup.plan);
		cmd_run_print_nodes(&setup.plan, a->places.launch);
	} else if (code == EXIT_ACCEPTED) {
		if (!r->directory)
			r->directory = a->made = one_node_new_directory(setup.config.name);
		r->command = command = cmd_run_command_line(call->argc, call->argv);
		code = nodes ? run_fleet(r, &setup.config, a->places.launch)
			     : run_one_node(r, &setup);
		free(command);
	}
	run_setup_release(&setup);
	return code;
}

static int cmd_run_end(struct call *call, int code)
{
	struct run_arguments *a = call->arguments;

	free(a->made);
	run_check_release(&a->request.check);
	overrides_release(&a->request.overrides);
	return code;
}

const struct command command_run = {
	.name = "run",
	.options = rows,
	.arguments = sizeof(struct run_arguments),
	.most = ANY_NUMBER,
	.words = cli_words_configs,
	.run = cmd_run_run,
	.end = cmd_run_end,
};
