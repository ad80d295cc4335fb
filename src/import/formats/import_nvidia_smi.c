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

/* "utilization.gpu [%]" is the column utilization.gpu. */
static size_t nvidia_smi_name_length(const char *heading)
{
	const char *unit = strstr(heading, " [");

	return unit ? (size_t)(unit - heading) : strlen(heading);
}

static const struct smi_column *nvidia_smi_column_named(const char *heading)
{
	size_t length = nvidia_smi_name_length(heading);

	for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
		if (strlen(columns[i].name) == length &&
		    strncmp(columns[i].name, heading, length) == 0)
			return &columns[i];
	return NULL;
}

/* The cell of the first of two columns that the table has. */
static const char *nvidia_smi_cell(const struct import *import, const char *name, const char *other)
{
	return lines_cell(import, lines_column(import, name, 0) >= 0 ? name : other, 0);
}

/* Adds a figure or a fault. */
static void nvidia_smi_read_cell(struct case_result *c, const struct smi_column *column,
				 const char *cell)
{
	char *end;
	double value = strtod(cell, &end);
	bool fails;

	if (column->metric && end != cell && (!*end || *end == ' ')) {
		building_metric(c, column->metric, column->unit, value * column->factor);
		return;
	}
	if (column->metric) /* texts that nvidia-smi prints if the GPU does not respond */
		fails = lines_find_any(cell, "lost", "ERR!", "rror", "requires reset");
	else
		fails = column->fault && *cell && *cell != '[' && strcmp(cell, "0") != 0 &&
			strcmp(cell, "No") != 0 && strcmp(cell, "Not Active") != 0 &&
			strcmp(cell, "N/A") != 0;
	if (fails)
		import_failed(c, "nvidia-smi reports %s: %s", column->name, cell);
}

static void nvidia_smi_add_row(struct import *import)
{
	const struct import_device d = { .number = atoi(lines_cell(import, "index", 0)),
					 .name = nvidia_smi_cell(import, "name", "gpu_name"),
					 .pci = nvidia_smi_cell(import, "pci.bus_id", "gpu_bus_id"),
					 .uuid = nvidia_smi_cell(import, "uuid", "gpu_uuid"),
					 .serial =
						 nvidia_smi_cell(import, "serial", "gpu_serial") };
	size_t device = building_device(import, &d);
	struct case_result *c = building_case(import, "monitor", &device, 1, PARAMETERS({ 0 }));

	building_started(import, lines_cell(import, "timestamp", 0));
	building_fact(import, "driver", lines_cell(import, "driver_version", 0));
	for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
		nvidia_smi_read_cell(c, &columns[i], lines_cell(import, columns[i].name, 0));
}

static void nvidia_smi_take_line(struct import *import)
{
	char *line = xstrdup(import->v[0]);
	size_t count = lines_row(import, import->v[0], ',', IMPORT_FIELDS), known = 0;

	for (size_t i = 0; i < count; i++) {
		const struct smi_column *column = nvidia_smi_column_named(import->fields[i]);

		known += column && !column->fault;
	}
	/* A heading has known columns that are no faults: two, or it has only one column. */
	if (known >= 2 || (known && count == 1)) {
		lines_heading(import, line, ',');
		for (size_t i = 0; i < import->column_count; i++) {
			char *name = import->columns[i];

			name[nvidia_smi_name_length(name)] = '\0';
			if (!nvidia_smi_column_named(name))
				building_left_out(import, "column %s", name);
		}
	} else if (count == import->column_count)
		nvidia_smi_add_row(import);
	else if (count > 1 && import->column_count) /* not the output of another program */
		building_error(import, "expected the %zu columns of the heading, not %zu",
			       import->column_count, count);
	free(line);
}

static const struct import_rule smi_lines[] = { { "%r", nvidia_smi_take_line }, { 0 } };

static void nvidia_smi_finish(struct import *import)
{
	if (!import->column_count)
		building_error(import, "the file has no heading; run nvidia-smi without noheader");
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
	.finish = nvidia_smi_finish,
};
