/*
 * nvidia-smi --query-gpu=... --format=csv: a row for each GPU, again and again with -l. The columns
 * are those that were asked for; "pstate", "[N/A]" and their like are no figures.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "import/reading.h"

static const struct quantity_column {
	const char *name, *metric, *unit;
	double factor;
} quantities[] = {
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
};

/* Columns that a healthy GPU has 0 or "Not Active" in. */
static const char *const faults[] = {
	"ecc.errors.uncorrected.volatile.total",
	"ecc.errors.uncorrected.aggregate.total",
	"clocks_throttle_reasons.hw_slowdown",
	"clocks_throttle_reasons.hw_thermal_slowdown",
	"clocks_event_reasons.hw_slowdown",
	"clocks_event_reasons.hw_thermal_slowdown",
	"retired_pages.pending",
	"remapped_rows.failure",
};

/* True for the words that nvidia-smi prints where the GPU does not answer. */
static bool nvidia_smi_gpu_fails(const char *cell)
{
	return strstr(cell, "lost") || strstr(cell, "ERR!") || strstr(cell, "rror") ||
	       strstr(cell, "requires reset");
}

/* Describes the GPU or the run; no figures. */
static const char *const facts[] = { "timestamp", "name",       "gpu_name",       "index",
				     "uuid",      "gpu_uuid",   "pci.bus_id",     "gpu_bus_id",
				     "serial",    "gpu_serial", "driver_version", "vbios_version",
				     "count" };

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

static void nvidia_smi_name_other_columns(struct import *import, const struct import_table *table)
{
	for (size_t i = 0; i < table->count; i++) {
		bool known = false;

		for (size_t k = 0; k < ARRAY_SIZE(quantities); k++)
			known |= strcmp(quantities[k].name, table->names[i]) == 0;
		for (size_t k = 0; k < ARRAY_SIZE(facts); k++)
			known |= strcmp(facts[k], table->names[i]) == 0;
		for (size_t k = 0; k < ARRAY_SIZE(faults); k++)
			known |= strcmp(faults[k], table->names[i]) == 0;
		if (!known)
			import_left_out(import, "column %s", table->names[i]);
	}
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
	for (size_t i = 0; i < ARRAY_SIZE(quantities); i++) {
		const char *cell = smi_cell(t, fields, quantities[i].name, NULL);
		char *end;
		double value = strtod(cell, &end);

		if (end != cell && (!*end || *end == ' '))
			import_metric(c, quantities[i].metric, quantities[i].unit, BETTER_NONE,
				      value * quantities[i].factor);
		else if (nvidia_smi_gpu_fails(cell))
			import_failed(c, "nvidia-smi reports %s: %s", quantities[i].name, cell);
	}
	for (size_t i = 0; i < ARRAY_SIZE(faults); i++) {
		const char *cell = smi_cell(t, fields, faults[i], NULL);

		if (*cell && *cell != '[' && strcmp(cell, "0") != 0 && strcmp(cell, "No") != 0 &&
		    strcmp(cell, "Not Active") != 0 && strcmp(cell, "N/A") != 0)
			import_failed(c, "nvidia-smi reports %s: %s", faults[i], cell);
	}
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
	for (size_t i = 0; i < ARRAY_SIZE(quantities); i++)
		known += import_column(&head, quantities[i].name, 0) >= 0;
	for (size_t i = 0; i < ARRAY_SIZE(facts); i++)
		known += import_column(&head, facts[i], 0) >= 0;
	if (known >= 2 || (known && head.count == 1)) {
		import_heading(t, l->v[0], ',');
		nvidia_smi_cut_units(t);
		nvidia_smi_name_other_columns(l->import, t);
		return STATUS_OK;
	}
	if (!t->count)
		return STATUS_OK;
	count = import_fields(l->v[0], ',', fields, IMPORT_COLUMNS);
	if (count == 1 && t->count > 1) /* another program's words */
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
	return import_error(import, 1, "no heading is in it; run nvidia-smi without noheader");
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
