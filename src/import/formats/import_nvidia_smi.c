/*
 * nvidia-smi --query-gpu=... --format=csv: one row per GPU, repeated with -l. The columns are the
 * fields in the query. Texts such as "pstate" and "[N/A]" are not figures.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "import/reading.h"

/* Known columns. Others are listed as left out. */
static const struct smi_column {
	const char *name, *metric, *unit;
	double factor;
	bool fault; /* a healthy GPU reports 0 or "Not Active" */
} columns[] = {
	{ "temperature.gpu", "monitor.temperature", "degC", 1 },
	{ "temperature.memory", "monitor.memory_temperature", "degC", 1 },
	{ "power.draw", "monitor.power", "W", 1 },
	{ "power.draw.average", "monitor.power_average", "W", 1 },
	{ "power.draw.instant", "monitor.power_instant", "W", 1 },
	{ "clocks.sm", "monitor.sm_clock", "Hz", 1e6 },
	{ "clocks.current.sm", "monitor.sm_clock", "Hz", 1e6 },
	{ "clocks.gr", "monitor.graphics_clock", "Hz", 1e6 },
	{ "clocks.current.graphics", "monitor.graphics_clock", "Hz", 1e6 },
	{ "clocks.mem", "monitor.memory_clock", "Hz", 1e6 },
	{ "clocks.current.memory", "monitor.memory_clock", "Hz", 1e6 },
	{ "utilization.gpu", "monitor.utilization", "1", 0.01 },
	{ "utilization.memory", "monitor.memory_utilization", "1", 0.01 },
	{ "memory.used", "monitor.memory_used", "B", 1 << 20 },
	{ "ecc.errors.uncorrected.volatile.total", .fault = true },
	{ "ecc.errors.uncorrected.aggregate.total", .fault = true },
	{ "clocks_throttle_reasons.hw_slowdown", .fault = true },
	{ "clocks_throttle_reasons.hw_thermal_slowdown", .fault = true },
	{ "clocks_event_reasons.hw_slowdown", .fault = true },
	{ "clocks_event_reasons.hw_thermal_slowdown", .fault = true },
	{ "retired_pages.pending", .fault = true },
	{ "remapped_rows.failure", .fault = true },
	{ "timestamp" },
	{ "name" },
	{ "gpu_name" },
	{ "index" },
	{ "uuid" },
	{ "gpu_uuid" },
	{ "pci.bus_id" },
	{ "gpu_bus_id" },
	{ "serial" },
	{ "gpu_serial" },
	{ "driver_version" },
	{ "vbios_version" },
	{ "count" },
};

static const struct smi_column *smi_column_named(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
		if (strcmp(columns[i].name, name) == 0)
			return &columns[i];
	return NULL;
}

/* True for the texts that nvidia-smi prints if the GPU does not respond. */
static bool nvidia_smi_gpu_fails(const char *cell)
{
	return strstr(cell, "lost") || strstr(cell, "ERR!") || strstr(cell, "rror") ||
	       strstr(cell, "requires reset");
}

/* "utilization.gpu [%]" without its unit. */
static void nvidia_smi_cut_units(struct import_table *table)
{
	for (size_t i = 0; i < table->count; i++)
		if (strstr(table->names[i], " ["))
			*strstr(table->names[i], " [") = '\0';
}

static const char *smi_cell(const struct import_table *t, char **fields, const char *name,
			    const char *other)
{
	int column = import_column(t, name, 0);

	if (column < 0 && other)
		column = import_column(t, other, 0);
	return column >= 0 ? fields[column] : "";
}

/* Adds a figure or a fault. */
static void smi_read_cell(struct case_result *c, const struct smi_column *column, const char *cell)
{
	char *end;
	double value = strtod(cell, &end);

	if (column->metric && end != cell && (!*end || *end == ' '))
		import_metric(c, column->metric, column->unit, BETTER_NONE, value * column->factor);
	else if (column->metric
			 ? nvidia_smi_gpu_fails(cell)
			 : column->fault && *cell && *cell != '[' && strcmp(cell, "0") != 0 &&
				   strcmp(cell, "No") != 0 && strcmp(cell, "Not Active") != 0 &&
				   strcmp(cell, "N/A") != 0)
		import_failed(c, "nvidia-smi reports %s: %s", column->name, cell);
}

static enum status add_smi_row(struct import *import, const struct import_table *t, size_t line,
			       char **fields)
{
	const char *name = smi_cell(t, fields, "name", "gpu_name");
	const struct import_device d = { .backend = import_backend(name),
					 .number = atoi(smi_cell(t, fields, "index", NULL)),
					 .name = name,
					 .pci = smi_cell(t, fields, "pci.bus_id", "gpu_bus_id"),
					 .uuid = smi_cell(t, fields, "uuid", "gpu_uuid"),
					 .serial = smi_cell(t, fields, "serial", "gpu_serial") };
	size_t device = import_device(import, &d);
	struct case_result *c = import_case(import, line, "monitor", &device, 1, NULL);

	if (!c)
		return STATUS_USAGE;
	c = import_named(import, c);
	import_started(import, smi_cell(t, fields, "timestamp", NULL));
	import_fact(import, "driver", smi_cell(t, fields, "driver_version", NULL));
	for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
		smi_read_cell(c, &columns[i], smi_cell(t, fields, columns[i].name, NULL));
	return STATUS_OK;
}

static enum status take_smi_line(const struct import_line *l)
{
	struct import_table *t = l->state;
	struct import_table head;
	char *fields[IMPORT_COLUMNS];
	size_t count, known;

	import_heading(&head, l->v[0], ',');
	nvidia_smi_cut_units(&head);
	known = 0;
	for (size_t i = 0; i < head.count; i++) {
		const struct smi_column *column = smi_column_named(head.names[i]);

		known += column && !column->fault;
	}
	if (known >= 2 || (known && head.count == 1)) {
		import_heading(t, l->v[0], ',');
		nvidia_smi_cut_units(t);
		for (size_t i = 0; i < t->count; i++)
			if (!smi_column_named(t->names[i]))
				import_left_out(l->import, "column %s", t->names[i]);
		return STATUS_OK;
	}
	if (!t->count)
		return STATUS_OK;
	count = import_fields(l->v[0], ',', fields, IMPORT_COLUMNS);
	if (count == 1 && t->count > 1) /* output of another program */
		return STATUS_OK;
	if (count != t->count)
		return import_error(l->import, l->number,
				    "expected the %zu columns of the heading, not %zu", t->count,
				    count);
	return add_smi_row(l->import, t, l->number, fields);
}

static const struct import_rule smi_lines[] = { { "%r", take_smi_line }, { 0 } };

static enum status smi_finish(struct import *import, void *state)
{
	if (((struct import_table *)state)->count)
		return STATUS_OK;
	return import_error(import, 1, "the file has no heading; run nvidia-smi without noheader");
}

const struct import_format import_nvidia_smi = {
	.name = "nvidia-smi",
	.summary =
		"nvidia-smi --query-gpu=timestamp,index,name,uuid,power.draw --format=csv > FILE",
	.marks = { "~, utilization.gpu [%]", "~, temperature.gpu", "~, power.draw [W]",
		   "~, memory.used [MiB]", "~, clocks.", "~, pci.bus_id", "timestamp, ",
		   "index, name", "name, ", "timestamp,index", "timestamp,utilization.gpu",
		   "timestamp,name,", "timestamp,power.draw" },
	.silent = "load of the GPUs, wrong results, host, time zone",
	.tool = "nvidia-smi",
	.rules = smi_lines,
	.state_bytes = sizeof(struct import_table),
	.finish = smi_finish,
};
