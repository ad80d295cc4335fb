/*
 * gpuproof list: lists devices, suites, metrics, configs, GPU models. Adding a kind of list: add a
 * row to `actions` and its function, which prints a table or, with --json, an array.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/embedded.h"
#include "base/memory.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/output/print.h"
#include "cli/output/table.h"
#include "plan/limits/limit.h"
#include "plan/suite.h"
#include "reference/gpu.h"
#include "result/result_fields.h"
#include "result/json/json_writer.h"
#include "run/conductor.h"

struct list_arguments {
	bool json;
};

static struct json_writer cmd_list_start_json(void)
{
	struct json_writer w = { .expand = 1 };

	writer_open(&w, '[');
	return w;
}

/* Prints one of the two and releases both. */
static int cmd_list_finish(const struct call *call, struct json_writer *w,
			   struct output_table *table)
{
	const struct list_arguments *a = call->arguments;
	char *text;

	writer_close(w, ']');
	text = writer_finish(w);
	if (a->json)
		fputs(text, stdout);
	else
		table_finish(table, stdout);
	free(text);
	table_release(table);
	return EXIT_ACCEPTED;
}

static void cmd_list_gpus_write_sheet(struct json_writer *w, const struct gpu *gpu)
{
	writer_open_member(w, "sheet", '{');
	for (size_t i = 0; i < gpu->entry_count; i++) {
		const struct sheet_entry *entry = &gpu->entries[i];

		writer_key(w, entry->key);
		writer_open_inline(w, '{');
		if (entry->unit) {
			writer_real_member(w, "value", entry->value);
			writer_text_member(w, "unit", entry->unit);
		} else {
			writer_text_member(w, "text", entry->text);
		}
		writer_text_member(w, "status", gpu_read_sheet_status_name(entry->status));
		writer_close(w, '}');
	}
	writer_close(w, '}');
}

/* "4.800 TB/s", "none", "-" */
static const char *cmd_list_gpu_figure(const struct gpu *gpu, const char *key, char *out,
				       size_t size)
{
	double value = gpu_figure(gpu, key);
	const struct sheet_entry *entry = gpu_entry(gpu, key);

	if (isfinite(value))
		units_format(value, entry->unit, out, size);
	else
		snprintf(out, size, "-");
	return out;
}

static void cmd_list_devices_table(const struct probe *probe)
{
	struct output_table table = TABLE_EMPTY;
	bool host = false;

	TABLE_ROW(&table, "DEVICE", "MEMORY", "CAPABILITY", "PCI", "NAME");
	for (size_t i = 0; i < probe->device_count; i++) {
		const struct device_info *d = &probe->devices[i];
		char memory[32] = "-", capability[16] = "-";

		if (d->memory_bytes)
			units_format((double)d->memory_bytes, "B", memory, sizeof(memory));
		if (d->capability_major)
			snprintf(capability, sizeof(capability), "%d.%d", d->capability_major,
				 d->capability_minor);
		TABLE_ROW(&table, d->id, memory, capability, d->pci[0] ? d->pci : "-", d->name);
		host |= device_is_host(d);
	}
	table_finish(&table, stdout);
	/* `run quick` names host:1 as well. */
	if (host)
		puts("This list shows the CPU as one device. A config can split it into several "
		     "([run] host_devices).");
}

static int cmd_list_print_devices(struct call *call)
{
	const bool json = ((struct list_arguments *)call->arguments)->json;
	struct probe probe = { 0 };

	if (probe_devices(&probe, NULL, &call->err) != STATUS_OK)
		return EXIT_ENVIRONMENT;
	if (json) {
		fputs("[", stdout);
		for (size_t i = 0; i < probe.device_count; i++) {
			char *line = json_fields_line(device_info_fields, &probe.devices[i]);

			printf("%s\n %s", i ? "," : "", line);
			free(line);
		}
		puts(probe.device_count ? "\n]" : "]");
	} else
		cmd_list_devices_table(&probe);
	probe_release(&probe);
	return EXIT_ACCEPTED;
}

static int cmd_list_gpus(struct call *call)
{
	struct json_writer w = cmd_list_start_json();
	struct output_table table = TABLE_EMPTY;
	size_t count;
	const struct gpu *gpus = gpus_all(&count);

	TABLE_ROW(&table, "GPU", "ARCHITECTURE", "CAPABILITY", "MEMORY AT", "FP32", "FP16 TENSOR",
		  "PUBLISHED", "NAME");
	for (const struct gpu *g = gpus; g < gpus + count; g++) {
		char memory[32], fp32[32], tensor[32], published[24];

		snprintf(published, sizeof(published), "%zu", g->published_count);
		TABLE_ROW(&table, g->id, gpu_words(g, "architecture"), gpu_words(g, "capability"),
			  cmd_list_gpu_figure(g, "memory_bandwidth", memory, sizeof(memory)),
			  cmd_list_gpu_figure(g, "fp32", fp32, sizeof(fp32)),
			  cmd_list_gpu_figure(g, "fp16_tensor", tensor, sizeof(tensor)), published,
			  g->name);
		writer_open(&w, '{');
		writer_text_member(&w, "id", g->id);
		writer_text_member(&w, "name", g->name);
		writer_text_member(&w, "label", g->label);
		writer_text_member(&w, "match", g->match);
		writer_text_member(&w, "source", g->source);
		cmd_list_gpus_write_sheet(&w, g);
		writer_close(&w, '}');
	}
	return cmd_list_finish(call, &w, &table);
}

static int cmd_list_suites(struct call *call)
{
	struct json_writer w = cmd_list_start_json();
	struct output_table table = TABLE_EMPTY;

	TABLE_ROW(&table, "SUITE", "MEASURES");
	for (const struct suite *const *s = suites; *s; s++) {
		TABLE_ROW(&table, (*s)->name, (*s)->summary);
		writer_open(&w, '{');
		writer_text_member(&w, "name", (*s)->name);
		writer_text_member(&w, "summary", (*s)->summary);
		writer_key(&w, "axes");
		writer_open_inline(&w, '[');
		for (const char *const *axis = (*s)->axes; axis && *axis; axis++)
			writer_text(&w, *axis);
		writer_close(&w, ']');
		writer_key(&w, "metrics");
		writer_open_inline(&w, '[');
		for (const struct metric *m = (*s)->metrics; m->name; m++)
			writer_text(&w, m->name);
		writer_close(&w, ']');
		writer_close(&w, '}');
	}
	return cmd_list_finish(call, &w, &table);
}

static void cmd_list_add_metrics(const char *suite, const struct metric *metrics,
				 struct json_writer *w, struct output_table *table)
{
	static const char *const better[] = {
		[BETTER_HIGHER] = "higher", [BETTER_LOWER] = "lower", [BETTER_NONE] = "none"
	};

	for (const struct metric *m = metrics; m->name; m++) {
		TABLE_ROW(table, m->name, m->unit, better[m->better], m->help);
		writer_open(w, '{');
		writer_text_member(w, "name", m->name);
		writer_text_member(w, "suite", suite);
		writer_text_member(w, "unit", m->unit);
		writer_text_member(w, "better", better[m->better]);
		writer_bool_member(w, "headline", m->headline);
		writer_text_member(w, "help", m->help);
		writer_close(w, '}');
	}
}

static int cmd_list_metrics(struct call *call)
{
	struct json_writer w = cmd_list_start_json();
	struct output_table table = TABLE_EMPTY;

	TABLE_ROW(&table, "METRIC", "UNIT", "BETTER", "DEFINITION");
	for (const struct suite *const *s = suites; *s; s++)
		cmd_list_add_metrics((*s)->name, (*s)->metrics, &w, &table);
	/* Metrics of the node belong to no suite; limits may use them. */
	cmd_list_add_metrics("node", node_metrics, &w, &table);
	return cmd_list_finish(call, &w, &table);
}

static int cmd_list_configs(struct call *call)
{
	struct json_writer w = cmd_list_start_json();
	struct output_table table = TABLE_EMPTY;

	TABLE_ROW(&table, "CONFIG", "PURPOSE");
	for (const struct embedded_file *file = embedded_configs; file->name; file++) {
		char *name = xstrndup(file->name, strlen(file->name) - strlen(".ini"));
		const char *text = (const char *)file->data;
		/* Purpose of a config, from the comment in its first line. */
		size_t mark = *text == ';' || *text == '#' ? strspn(text, ";# \t") : 0;
		char *summary = xstrndup(text + mark, mark ? strcspn(text + mark, "\r\n") : 0);

		TABLE_ROW(&table, name, summary);
		writer_open(&w, '{');
		writer_text_member(&w, "name", name);
		writer_text_member(&w, "summary", summary);
		writer_close(&w, '}');
		free(name);
		free(summary);
	}
	return cmd_list_finish(call, &w, &table);
}

static const struct option_row rows[] = {
	FLAG_ROW(0, "json", list_arguments, json),
	{ 0 },
};

static const struct action actions[] = {
	{ .name = "devices", .run = cmd_list_print_devices },
	{ .name = "suites", .run = cmd_list_suites },
	{ .name = "metrics", .run = cmd_list_metrics },
	{ .name = "configs", .run = cmd_list_configs },
	{ .name = "gpus", .run = cmd_list_gpus },
	{ 0 },
};

const struct command command_list = {
	.name = "list",
	.actions = actions,
	.options = rows,
	.arguments = sizeof(struct list_arguments),
};
