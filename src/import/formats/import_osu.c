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

static enum status take_osu_title(const struct import_line *l)
{
	struct osu *o = l->state;
	char *version = strstr(l->v[0], " v");

	memset(o, 0, sizeof(*o));
	o->backend = strstr(l->v[0], "CUDA") ? "cuda" : strstr(l->v[0], "ROCM") ? "hip" : "host";
	import_tool(l->import, "OSU micro-benchmarks%s", version ? version : "");
	if (version)
		*version = '\0';
	if (text_ends_with(l->v[0], " Test"))
		l->v[0][strlen(l->v[0]) - 5] = '\0';
	snprintf(o->test, sizeof(o->test), "%s", l->v[0]);
	o->pair = strstr(l->v[0], "Bandwidth") ||
		  strcmp(strchr(l->v[0], ' ') ? strchr(l->v[0], ' ') : "", " Latency") == 0;
	return STATUS_OK;
}

static enum status take_osu_buffers(const struct import_line *l)
{
	struct osu *o = l->state;

	snprintf(o->buffers, sizeof(o->buffers), "%.16s to %.16s", l->v[0], l->v[1]);
	return STATUS_OK;
}

/* Column names contain blanks. A name ends with a unit or two blanks. */
static enum status take_osu_heading(const struct import_line *l)
{
	struct osu *o = l->state;
	char *at = l->v[0];

	for (o->count = 0; *at && o->count < ARRAY_SIZE(o->columns);) {
		char *bracket = strchr(at, ')'), *gap = strstr(at, "  ");
		size_t length = bracket && (!gap || bracket < gap) ? (size_t)(bracket + 1 - at)
				: gap                              ? (size_t)(gap - at)
								   : strlen(at);

		snprintf(o->columns[o->count++], sizeof(o->columns[0]), "%.*s", (int)length, at);
		at += length + strspn(at + length, " ");
	}
	return STATUS_OK;
}

static void find_osu_devices(struct import *import, struct osu *o)
{
	for (int i = 0; !o->has_devices && i < 2; i++) {
		const struct import_device d = {
			.backend = o->backend,
			.number = i,
			.name = o->backend[0] == 'h' && o->backend[1] == 'o' ? "CPU" : ""
		};

		if (!i || o->pair)
			o->devices[i] = import_device(import, &d);
	}
	o->has_devices = true;
}

static void add_osu_value(struct import *import, struct case_result *c, const char *column,
			  double value)
{
	if (strstr(column, "Bandwidth") || strstr(column, "MB/s"))
		import_metric(c, "mpi.bandwidth", "B/s", BETTER_HIGHER, value * 1e6);
	else if (text_starts_with(column, "Min "))
		import_metric(c, "mpi.latency_min", "s", BETTER_LOWER, value * 1e-6);
	else if (text_starts_with(column, "Max "))
		import_metric(c, "mpi.latency_max", "s", BETTER_LOWER, value * 1e-6);
	else if (strstr(column, "Latency") || strstr(column, "(us)"))
		import_metric(c, "mpi.latency", "s", BETTER_LOWER, value * 1e-6);
	else
		import_left_out(import, "column %s", column);
}

static enum status take_osu_row(const struct import_line *l)
{
	struct osu *o = l->state;
	char *fields[IMPORT_COLUMNS];
	size_t count = import_fields(l->v[1], ' ', fields, IMPORT_COLUMNS);
	struct case_result *c;
	double value;

	if (!o->count || !count || !import_real(fields[0], &value))
		return STATUS_OK;
	if (count != o->count)
		return import_error(l->import, l->number,
				    "expected %zu columns after the size, not %zu", o->count,
				    count);
	if (!o->backend)
		return import_error(l->import, l->number, "no line '# OSU ...' names the test");
	find_osu_devices(l->import, o);
	c = import_case(l->import, l->number, "mpi", o->devices, o->pair ? 2 : 1,
			WORDS("test", o->test, "buffers", *o->buffers ? o->buffers : NULL));
	if (!c)
		return STATUS_USAGE;
	import_bytes(c, "size", strtod(l->v[0], NULL));
	c = import_named(l->import, c);
	for (size_t i = 0; i < count; i++) {
		if (import_real(fields[i], &value) && value >= 0)
			add_osu_value(l->import, c, o->columns[i], value);
		else if (strstr(o->columns[i], "Validation") && strcmp(fields[i], "Pass") != 0)
			import_failed(c, "OSU says: %s %s", o->columns[i], fields[i]);
		else if (!strstr(o->columns[i], "Validation"))
			return import_error(l->import, l->number, "expected a number, not '%.40s'",
					    fields[i]);
	}
	return STATUS_OK;
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
	.silent = "hosts, devices, ranks, samples, clocks, power, temperatures, time of its start",
	.rules = osu_lines,
	.state_bytes = sizeof(struct osu),
};
