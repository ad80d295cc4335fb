/* gpuproof doctor: shows if this machine can be measured, and what could disturb a measurement. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/commands/doctor.h"
#include "cli/options.h"
#include "cli/output/print.h"
#include "cli/output/table.h"
#include "cli/run/nodes/run_fleet.h"
#include "fleet/merge.h"
#include "result/host/host_findings.h"
#include "result/json/json_writer.h"
#include "result/result.h"
#include "run/conductor.h"

struct doctor_check {
	const char *mark, *word;
};
static const struct doctor_check by_severity[] = {
	[SEVERITY_OK] = { "+", "ok" },
	[SEVERITY_NOTE] = { ".", "note" },
	[SEVERITY_WARNING] = { "!", "warning" },
	[SEVERITY_ERROR] = { "x", "error" },
};
static const struct doctor_check missing = { "-", "missing" };

struct doctor_answer {
	struct answer_line {
		const struct doctor_check *check;
		struct finding finding;
	} * lines;
	size_t count, capacity;
};

static void cmd_doctor_add_line(struct doctor_answer *answer, const struct doctor_check *check,
				const struct finding *finding)
{
	ARRAY_GROW(answer->lines, answer->count, answer->capacity);
	answer->lines[answer->count++] = (struct answer_line){ check, *finding };
}

static void cmd_doctor_add_finding(void *context, const struct finding *finding)
{
	cmd_doctor_add_line(context, &by_severity[finding->severity], finding);
}

static void cmd_doctor_add_device(struct doctor_answer *answer, const struct device_info *d)
{
	struct finding finding = { .severity = SEVERITY_OK };
	char bytes[32], memory[40] = "", capability[64] = "";

	if (d->memory_bytes)
		snprintf(memory, sizeof(memory), ", %s",
			 units_format((double)d->memory_bytes, "B", bytes, sizeof(bytes)));
	if (d->capability_major)
		snprintf(capability, sizeof(capability), ", compute capability %d.%d",
			 d->capability_major, d->capability_minor);
	finding_set_device(&finding, FINDING_DEVICE, d->id);
	snprintf(finding.text, sizeof(finding.text), "%s%s%s, backend %s (%s)", d->name, memory,
		 capability, d->backend, d->module);
	cmd_doctor_add_finding(answer, &finding);
	host_findings_of_device(d, cmd_doctor_add_finding, answer);
}

static void cmd_doctor_print_for_people(const struct doctor_answer *answer,
					const struct probe *probe, FILE *out)
{
	struct output_table table = TABLE_EMPTY;
	size_t gpus = 0;

	for (size_t i = 0; i < probe->device_count; i++)
		gpus += !device_is_host(&probe->devices[i]);
	for (size_t i = 0; i < answer->count; i++) {
		const struct answer_line *line = &answer->lines[i];

		TABLE_ROW(&table, line->check->mark, line->check->word, line->finding.subject,
			  line->finding.text);
	}
	table_finish(&table, out);
	if (gpus)
		fprintf(out, "\n%zu GPU%s found. To measure: gpuproof run quick\n", gpus,
			gpus == 1 ? "" : "s");
	else if (probe->device_count)
		fputs("\nNo GPU found. To measure the CPU: gpuproof run quick\n", out);
	else
		fputs("\nNo device can be measured on this machine.\n", out);
}

static void cmd_doctor_print_json(const struct doctor_answer *answer, const struct probe *probe)
{
	struct json_writer w = { .expand = 2 };

	writer_open(&w, '{');
	writer_bool_member(&w, "measurable", probe->device_count > 0);
	writer_key(&w, "devices");
	writer_unsigned(&w, probe->device_count);
	writer_open_member(&w, "checks", '[');
	for (size_t i = 0; i < answer->count; i++) {
		writer_open(&w, '{');
		writer_text_member(&w, "state", answer->lines[i].check->word);
		writer_text_member(&w, "subject", answer->lines[i].finding.subject);
		writer_text_member(&w, "text", answer->lines[i].finding.text);
		writer_close(&w, '}');
	}
	writer_close(&w, ']');
	writer_close(&w, '}');
	print_json(&w);
}

/* Examines this machine. Returns the exit code. */
static int cmd_doctor_examine(bool json, FILE *out)
{
	struct probe probe = { 0 };
	struct doctor_answer answer = { 0 };
	struct error err = ERROR_NONE;
	int code;

	if (probe_devices(&probe, NULL, &err) != STATUS_OK) {
		struct finding finding = { .severity = SEVERITY_ERROR,
					   .topic = FINDING_LOST,
					   .subject = FINDING_LOST };

		/* A failed probe is a finding as well: a problem of the host may be the reason. */
		snprintf(finding.text, sizeof(finding.text), "%.300s", err.message);
		cmd_doctor_add_finding(&answer, &finding);
	}
	for (size_t i = 0; i < probe.device_count; i++)
		cmd_doctor_add_device(&answer, &probe.devices[i]);
	for (size_t i = 0; i < probe.component_count; i++) {
		const struct component *c = &probe.components[i];
		struct finding finding = { .severity = SEVERITY_OK };

		finding_set_subject(&finding, c->name, "");
		snprintf(finding.text, sizeof(finding.text), "%s%s%.250s", c->version,
			 c->version[0] && c->detail[0] ? ", " : "", c->detail);
		cmd_doctor_add_line(&answer, c->present ? &by_severity[SEVERITY_OK] : &missing,
				    &finding);
	}
	for (size_t i = 0; i < probe.finding_count; i++)
		cmd_doctor_add_finding(&answer, &probe.findings[i]);
	xid_findings("", probe.devices, probe.device_count, cmd_doctor_add_finding, &answer);
	host_findings("", ".", cmd_doctor_add_finding, &answer);
	if (json)
		cmd_doctor_print_json(&answer, &probe);
	else
		cmd_doctor_print_for_people(&answer, &probe, out);
	code = probe.device_count ? EXIT_ACCEPTED : EXIT_ENVIRONMENT;
	free(answer.lines);
	probe_release(&probe);
	return code;
}

char *cmd_doctor_report(void)
{
	char *text = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);

	if (out) {
		cmd_doctor_examine(false, out);
		fclose(out);
	}
	return text ? text : xstrdup("");
}

/* Opens each device and launches an empty kernel. */
static const char look_config[] = "[fleet]\n"
				  "launcher = auto\n"
				  "[defaults]\n"
				  "max_time = 20ms\n"
				  "settle_time = 0s\n"
				  "[suite selftest]\n"
				  "checks = empty\n";

/*
 * "8 x NVIDIA H200, 1 x NVIDIA L4", and the rate of the network port, "" if unknown. Starts at
 * device *at: devices are sorted by node.
 */
static char *cmd_doctor_run_look_describe_devices(const struct result *r,
						  const struct result_node *node, size_t *at,
						  char *port, size_t size)
{
	struct text out = TEXT_EMPTY;
	size_t first = *at, end = first;

	*port = '\0';
	while (end < r->device_count && device_id_is_of_node(r->devices[end].id, node->name))
		end++;
	*at = end;
	for (size_t i = first; i < end; i++) {
		const struct device_info *d = &r->devices[i];
		size_t same = 0, before = 0;

		if (d->nic_bandwidth > 0)
			units_si(d->nic_bandwidth, "B/s", port, size);
		for (size_t k = first; k < end; k++)
			if (strcmp(r->devices[k].name, d->name) == 0)
				same++, before += k < i;
		if (!before)
			text_addf(&out, "%s%zu x %s", out.length ? ", " : "", same, d->name);
	}
	return text_detach(&out);
}

static const char *cmd_doctor_or_dash(const char *text)
{
	return text && *text ? text : "-";
}

static void cmd_doctor_look_add_node(struct output_table *table, const struct result *r,
				     const struct result_node *node, size_t *at,
				     const char *directory)
{
	char *path = merge_summary_path(directory, node->name), port[48];
	char *devices = cmd_doctor_run_look_describe_devices(r, node, at, port, sizeof(port));
	struct error err = ERROR_NONE;
	struct result own = { 0 };
	bool known = result_read_header(&own, path, &err) == STATUS_OK;

	TABLE_ROW(table, node->name,
		  node->status == NODE_OK ? "whole" : node_status_name(node->status),
		  cmd_doctor_or_dash(devices),
		  cmd_doctor_or_dash(known ? result_fact(&own, "driver") : NULL),
		  cmd_doctor_or_dash(known ? result_fact(&own, "kernel") : NULL),
		  cmd_doctor_or_dash(known ? result_fact(&own, "memory") : NULL),
		  cmd_doctor_or_dash(port));
	if (known)
		result_release(&own);
	error_clear(&err);
	free(devices);
	free(path);
}

/* `drift`: only differences between nodes; else all other warnings. Returns their number. */
static size_t cmd_doctor_run_look_print_findings(const struct result *r, bool drift)
{
	struct output_table table = TABLE_EMPTY;
	size_t count = 0;

	for (size_t i = 0; i < r->preflight_count; i++) {
		const struct finding *f = &r->preflight[i];

		if (f->severity < SEVERITY_WARNING ||
		    (strcmp(f->topic, FINDING_DRIFT) == 0) != drift)
			continue;
		TABLE_ROW(&table, f->severity == SEVERITY_ERROR ? "x" : "!", f->subject, f->text);
		count++;
	}
	table_finish(&table, stdout);
	return count;
}

static void cmd_doctor_print_look(const struct result *r, const char *directory)
{
	size_t whole = 0, drift;
	struct output_table table = TABLE_EMPTY;
	size_t at = 0;

	TABLE_ROW(&table, "NODE", "", "DEVICES", "DRIVER", "KERNEL", "MEMORY", "PORT");
	for (size_t i = 0; i < r->node_count; i++)
		cmd_doctor_look_add_node(&table, r, &r->nodes[i], &at, directory);
	table_finish(&table, stdout);
	puts("");
	cmd_doctor_run_look_print_findings(r, false);
	drift = cmd_doctor_run_look_print_findings(r, true);
	for (size_t i = 0; i < r->node_count; i++)
		whole += r->nodes[i].status == NODE_OK;
	printf("%zu of %zu nodes are complete; ", whole, r->node_count);
	if (whole < 3)
		puts("too few to find the node that differs (three are needed)");
	else if (drift)
		printf("%zu difference%s from the majority\n", drift, text_plural(drift));
	else
		puts("no differences between nodes");
}

/*
 * Starts an agent on each node, which opens each of its devices once. Prints a row per node, the
 * drift, and possible disturbances. `directory` NULL: a new one. `command`: repeats the call.
 * Returns an exit code: 0 if every node is complete, 4 if one was lost or failed.
 */
static int cmd_doctor_run_look(const struct run_places *places, const char *directory,
			       const char *command)
{
	struct overrides overrides = { 0 };
	struct error err = ERROR_NONE;
	struct text errors = TEXT_EMPTY;
	struct config config;
	char *own = directory ? NULL : one_node_new_directory("doctor");
	struct run_request request = { .directory = directory ? directory : own,
				       .command = command,
				       .quiet = true,
				       .no_report = true };
	struct result result;
	int code = EXIT_USAGE;

	run_fleet_places_override(places, &overrides);
	if (config_parse(&config, "doctor", look_config, strlen(look_config), overrides.items,
			 overrides.count, &errors) == STATUS_OK) {
		code = run_fleet(&request, &config, places->launch);
		if (result_read_from(&result, request.directory, &err) == STATUS_OK) {
			cmd_doctor_print_look(&result, request.directory);
			result_release(&result);
		}
		config_release(&config);
	}
	cli_command_print_errors(&errors);
	overrides_release(&overrides);
	error_clear(&err);
	free(own);
	return code;
}

struct doctor_arguments {
	bool json, fleet;
	const char *output; /* NULL: option not given */
	struct run_places places;
};

static const struct option_row rows[] = {
	FLAG_ROW(0, "json", doctor_arguments, json),
	FLAG_ROW(0, "fleet", doctor_arguments, fleet),
	TEXT_ROW('o', "output", "DIR", doctor_arguments, output),
	COUNT_ROW("simulate-nodes", "N", doctor_arguments, places.simulated),
	TEXT_ROW(0, "hosts", "FILE", doctor_arguments, places.hosts, .file = OPTION_FILE_READ),
	TEXT_ROW(0, "launch", "COMMAND", doctor_arguments, places.launch),
	{ 0 },
};

static int cmd_doctor_run(struct call *call)
{
	const struct doctor_arguments *a = call->arguments;
	bool elsewhere = a->places.simulated || a->places.hosts || a->places.launch || a->output;
	char *command;
	int code;

	if (call->count)
		return cli_command_usage(call->command,
					 "unexpected argument '%s'; doctor examines this machine",
					 call->operands[0]);
	if (elsewhere && !a->fleet)
		return cli_command_usage(call->command, "--output, --simulate-nodes, --hosts and "
							"--launch need --fleet");
	if (a->fleet && a->json)
		return cli_command_usage(call->command, "--json cannot be combined with --fleet; "
							"DIR/result.json has "
							"the findings of all nodes");
	if (a->output && !*a->output)
		return cli_command_usage(call->command, "--output: empty directory name");
	if (run_fleet_places_conflict(&a->places))
		return cli_command_usage(call->command, RUN_PLACES_CONFLICT);
	if (!a->fleet)
		return cmd_doctor_examine(a->json, stdout);
	command = a->places.simulated ? xasprintf("gpuproof doctor --fleet --simulate-nodes %lld",
						  (long long)a->places.simulated)
		  : a->places.hosts
			  ? xasprintf("gpuproof doctor --fleet --hosts %s", a->places.hosts)
			  : xstrdup("gpuproof doctor --fleet");
	code = cmd_doctor_run_look(&a->places, a->output, command);
	free(command);
	return code;
}

const struct command command_doctor = {
	.name = "doctor",
	.options = rows,
	.arguments = sizeof(struct doctor_arguments),
	.most = ANY_NUMBER,
	.run = cmd_doctor_run,
};
