/*
 * OSU micro-benchmarks: "# OSU MPI-CUDA Bandwidth Test v7.2", a heading, one row per size. The
 * output names neither hosts nor devices.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "import/reading.h"

struct osu {
	char test[80], buffers[40];
	const char *backend;
	bool pair;           /* two ranks; otherwise the number of ranks is unknown */
	char columns[8][40]; /* after the size: "Avg Latency(us)" */
	size_t count;        /* 0: no heading yet */
	size_t devices[2];
	bool has_devices;
};

static void take_osu_title(struct import *import)
{
	struct osu *o = import->state;
	char *title = import->v[0], *version = strstr(title, " v");
	const char *kind;

	memset(o, 0, sizeof(*o));
	o->backend = strstr(title, "CUDA") ? "cuda" : strstr(title, "ROCM") ? "hip" : "host";
	building_tool(import, "OSU micro-benchmarks%s", version ? version : "");
	if (version)
		*version = '\0';
	if (text_ends_with(title, " Test"))
		title[strlen(title) - 5] = '\0';
	snprintf(o->test, sizeof(o->test), "%s", title);
	kind = strchr(title, ' ');
	o->pair = strstr(title, "Bandwidth") || (kind && strcmp(kind, " Latency") == 0);
}

static void take_osu_buffers(struct import *import)
{
	struct osu *o = import->state;

	snprintf(o->buffers, sizeof(o->buffers), "%.16s to %.16s", import->v[0], import->v[1]);
}

/* Column names contain blanks. A name ends with a unit or two blanks. */
static void take_osu_heading(struct import *import)
{
	struct osu *o = import->state;
	char *at = import->v[0];

	for (o->count = 0; *at && o->count < ARRAY_SIZE(o->columns);) {
		char *bracket = strchr(at, ')'), *gap = strstr(at, "  ");
		size_t length = bracket && (!gap || bracket < gap) ? (size_t)(bracket + 1 - at)
				: gap                              ? (size_t)(gap - at)
								   : strlen(at);

		snprintf(o->columns[o->count++], sizeof(o->columns[0]), "%.*s", (int)length, at);
		at += length + strspn(at + length, " ");
	}
}

static void find_osu_devices(struct import *import, struct osu *o)
{
	bool host = strcmp(o->backend, "host") == 0;

	for (int i = 0; !o->has_devices && i < 1 + o->pair; i++)
		o->devices[i] =
			building_device(import,
					&(struct import_device){ .backend = o->backend,
								 .number = i,
								 .name = host ? "CPU" : "" });
	o->has_devices = true;
}

static void add_osu_value(struct import *import, struct case_result *c, const char *column,
			  double value)
{
	if (strstr(column, "Bandwidth") || strstr(column, "MB/s"))
		building_metric(c, "mpi.bandwidth", "B/s", value * 1e6);
	else if (text_starts_with(column, "Min "))
		building_metric(c, "mpi.latency_min", "s", value * 1e-6);
	else if (text_starts_with(column, "Max "))
		building_metric(c, "mpi.latency_max", "s", value * 1e-6);
	else if (strstr(column, "Latency") || strstr(column, "(us)"))
		building_metric(c, "mpi.latency", "s", value * 1e-6);
	else
		building_left_out(import, "column %s", column);
}

static void take_osu_row(struct import *import)
{
	struct osu *o = import->state;
	size_t count = lines_row(import, import->v[1], ' ', IMPORT_FIELDS);
	struct case_result *c;
	double value;

	if (!o->count || !count || !lines_real(import->fields[0], &value))
		return;
	if (count != o->count)
		building_error(import, "expected %zu columns after the size, not %zu", o->count,
			       count);
	else if (!o->backend)
		building_error(import,
			       "the test is unknown, because the line '# OSU ...' is missing");
	if (building_stopped(import))
		return;
	find_osu_devices(import, o);
	c = building_case(import, "mpi", o->devices, 1 + o->pair,
			  PARAMETERS(WORD("test", o->test),
				     WORD("buffers", *o->buffers ? o->buffers : NULL),
				     BYTES("size", strtod(import->v[0], NULL))));
	for (size_t i = 0; i < count; i++) {
		const char *field = import->fields[i];

		if (lines_real(field, &value) && value >= 0)
			add_osu_value(import, c, o->columns[i], value);
		else if (!strstr(o->columns[i], "Validation"))
			building_error(import, "expected a number, not '%.40s'", field);
		else if (strcmp(field, "Pass") != 0)
			import_failed(c, "the benchmark reports: %s %s", o->columns[i], field);
	}
}

static const struct import_rule osu_lines[] = {
	{ "# OSU %r", take_osu_title },
	{ "# Send Buffer on %w * Receive Buffer on %w", take_osu_buffers },
	{ "# Size %r", take_osu_heading },
	{ "#" },
	{ "%d %r", take_osu_row },
	{ 0 },
};

const struct import_format import_osu = {
	.name = "osu",
	.summary = "OSU micro-benchmarks: osu_bw -d cuda D D > FILE",
	.marks = { "# OSU " },
	.silent = "hosts, devices, ranks, samples, clocks, power, temperatures, start time",
	.rules = osu_lines,
	.state_bytes = sizeof(struct osu),
};
