/* gpuproof doctor: shows if this machine can be measured, and what could disturb a measurement. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/commands/doctor.h"
#include "cli/options.h"
#include "cli/output/table.h"
#include "cli/run/nodes/run_look.h"
#include "result/device_json.h"
#include "result/host/xid_findings.h"
#include "result/json/json_writer.h"
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

static void doctor_add_line(struct doctor_answer *answer, const struct doctor_check *check,
			    const struct finding *finding)
{
	ARRAY_GROW(answer->lines, answer->count, answer->capacity);
	answer->lines[answer->count++] = (struct answer_line){ check, *finding };
}

static void doctor_add_finding(void *context, const struct finding *finding)
{
	doctor_add_line(context, &by_severity[finding->severity], finding);
}

static void doctor_add_device(struct doctor_answer *answer, const struct device_info *d)
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
	doctor_add_finding(answer, &finding);
	device_findings(d, doctor_add_finding, answer);
}

static void doctor_add_component(struct doctor_answer *answer, const struct component *c)
{
	struct finding finding = { .severity = SEVERITY_OK };

	finding_set_subject(&finding, c->name, "");
	snprintf(finding.text, sizeof(finding.text), "%s%s%.250s", c->version,
		 c->version[0] && c->detail[0] ? ", " : "", c->detail);
	doctor_add_line(answer, c->present ? &by_severity[SEVERITY_OK] : &missing, &finding);
}

static size_t doctor_count_gpus(const struct probe *probe)
{
	size_t count = 0;

	for (size_t i = 0; i < probe->device_count; i++)
		count += !device_is_host(&probe->devices[i]);
	return count;
}

static void print_for_people(const struct doctor_answer *answer, const struct probe *probe,
			     FILE *out)
{
	size_t gpus = doctor_count_gpus(probe);
	struct output_table table = TABLE_EMPTY;

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

static void doctor_print_json(const struct doctor_answer *answer, const struct probe *probe)
{
	struct json_writer w = { .expand = 2 };
	char *text;

	writer_open(&w, '{');
	writer_bool_member(&w, "measurable", probe->device_count > 0);
	writer_key(&w, "devices");
	writer_unsigned(&w, probe->device_count);
	writer_key(&w, "checks");
	writer_open(&w, '[');
	for (size_t i = 0; i < answer->count; i++) {
		writer_open(&w, '{');
		writer_text_member(&w, "state", answer->lines[i].check->word);
		writer_text_member(&w, "subject", answer->lines[i].finding.subject);
		writer_text_member(&w, "text", answer->lines[i].finding.text);
		writer_close(&w, '}');
	}
	writer_close(&w, ']');
	writer_close(&w, '}');
	text = writer_finish(&w);
	fputs(text, stdout);
	free(text);
}

/* Examines this machine. Returns the exit code. */
static int doctor_examine(bool json, FILE *out)
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
		doctor_add_finding(&answer, &finding);
	}
	for (size_t i = 0; i < probe.device_count; i++)
		doctor_add_device(&answer, &probe.devices[i]);
	for (size_t i = 0; i < probe.component_count; i++)
		doctor_add_component(&answer, &probe.components[i]);
	for (size_t i = 0; i < probe.finding_count; i++)
		doctor_add_finding(&answer, &probe.findings[i]);
	xid_findings("", probe.devices, probe.device_count, doctor_add_finding, &answer);
	host_findings("", ".", doctor_add_finding, &answer);
	if (json)
		doctor_print_json(&answer, &probe);
	else
		print_for_people(&answer, &probe, out);
	code = probe.device_count ? EXIT_ACCEPTED : EXIT_ENVIRONMENT;
	free(answer.lines);
	probe_release(&probe);
	return code;
}

char *doctor_report(void)
{
	char *text = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);

	if (out) {
		doctor_examine(false, out);
		fclose(out);
	}
	return text ? text : xstrdup("");
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

static int doctor_look_at_nodes(const struct doctor_arguments *a)
{
	char *command =
		a->places.simulated ? xasprintf("gpuproof doctor --fleet --simulate-nodes %lld",
						(long long)a->places.simulated)
		: a->places.hosts ? xasprintf("gpuproof doctor --fleet --hosts %s", a->places.hosts)
				  : xstrdup("gpuproof doctor --fleet");
	int code = run_look(&a->places, a->output, command);

	free(command);
	return code;
}

static int doctor_run(struct call *call)
{
	const struct doctor_arguments *a = call->arguments;
	bool elsewhere = a->places.simulated || a->places.hosts || a->places.launch || a->output;

	if (call->count)
		return command_usage(call->command,
				     "unexpected argument '%s'; doctor examines this machine",
				     call->operands[0]);
	if (elsewhere && !a->fleet)
		return command_usage(call->command, "--output, --simulate-nodes, --hosts and "
						    "--launch need --fleet");
	if (a->fleet && a->json)
		return command_usage(call->command,
				     "--json cannot be combined with --fleet; DIR/result.json has "
				     "the findings of all nodes");
	if (a->output && !*a->output)
		return command_usage(call->command, "--output: empty directory name");
	if (run_places_conflict(&a->places))
		return command_usage(call->command, RUN_PLACES_CONFLICT);
	return a->fleet ? doctor_look_at_nodes(a) : doctor_examine(a->json, stdout);
}

const struct command command_doctor = {
	.name = "doctor",
	.options = rows,
	.arguments = sizeof(struct doctor_arguments),
	.most = ANY_NUMBER,
	.run = doctor_run,
};
