/*
 * BabelStream --csv: function, num_times, n_elements, sizeof, max_mbytes_per_sec (or
 * max_mibytes_per_sec), min_runtime, max_runtime, avg_runtime. Its figure is that of the fastest
 * pass. Lines before the table ("Using CUDA device NAME") may be in the file.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/memory.h"
#include "base/text.h"
#include "import/reading.h"

#define FIELDS 9
enum column { FUNCTION, TIMES, ELEMENTS, SIZE, RATE, SHORTEST, LONGEST, MEAN, COLUMNS };

static const char *const operations[][2] = {
	{ "Copy", "copy" },   { "Mul", "mul" }, { "Add", "add" },
	{ "Triad", "triad" }, { "Dot", "dot" },
};

static const char *operation_named(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(operations); i++)
		if (strcasecmp(operations[i][0], name) == 0)
			return operations[i][1];
	return NULL;
}

struct table {
	bool began;
	double unit; /* bytes of one of the rate's */
	char *device;
};

static enum status read_head(struct import *import, size_t line, char **fields, size_t count,
			     struct table *table)
{
	if (count != COLUMNS)
		return import_error(import, line, "expected %d columns, not %zu", COLUMNS, count);
	if (strcmp(fields[RATE], "max_mbytes_per_sec") == 0)
		table->unit = 1e6;
	else if (strcmp(fields[RATE], "max_mibytes_per_sec") == 0)
		table->unit = 1 << 20;
	else
		return import_error(import, line,
				    "expected max_mbytes_per_sec or max_mibytes_per_sec, not "
				    "'%.40s'",
				    fields[RATE]);
	table->began = true;
	return STATUS_OK;
}

static enum status read_row(struct import *import, size_t line, char **fields, size_t count,
			    const struct table *table)
{
	const char *operation = operation_named(fields[FUNCTION]);
	double v[COLUMNS];
	const char *device;
	struct case_result *c;

	if (count != COLUMNS)
		return import_error(import, line, "expected %d columns, not %zu", COLUMNS, count);
	for (size_t i = TIMES; i < COLUMNS; i++)
		if (!import_real(fields[i], &v[i]) || v[i] <= 0)
			return import_error(import, line, "expected a number above 0, not '%.40s'",
					    fields[i]);
	if (!operation) { /* nstream, init, ... */
		import_left_out(import, fields[FUNCTION]);
		return STATUS_OK;
	}
	if (v[SIZE] != 4 && v[SIZE] != 8)
		return import_error(import, line, "expected sizeof 4 or 8, not '%.40s'",
				    fields[SIZE]);
	device = import_device(import, "cuda", 0, table->device ? table->device : "");
	c = import_case(import, "stream", &device, 1);
	import_word(c, "operation", operation);
	import_word(c, "precision", v[SIZE] == 8 ? "fp64" : "fp32");
	import_bytes(c, "size", v[ELEMENTS] * v[SIZE]);
	import_metric(c, "stream.bandwidth", "B/s", BETTER_HIGHER, v[RATE] * table->unit);
	import_metric(c, "stream.time", "s", BETTER_LOWER, v[SHORTEST]);
	free(c->notes);
	c->notes =
		xasprintf("The fastest of %.0f passes; the mean took %.4g s.", v[TIMES], v[MEAN]);
	import_named(c);
	return STATUS_OK;
}

static void read_preamble(const char *line, struct table *table)
{
	const char *name = strstr(line, "device ");

	if (text_starts_with(line, "Using ") && name) {
		free(table->device);
		table->device = xstrdup(name + strlen("device "));
	}
}

static enum status babelstream_read(struct import *import)
{
	struct import_lines lines = import_lines(import);
	struct table table = { 0 };
	enum status status = STATUS_OK;

	import_tool(import, "BabelStream");
	while (status == STATUS_OK && import_next(&lines)) {
		char *fields[FIELDS], *copy = xstrdup(lines.line);
		size_t count = import_fields(copy, ',', fields, FIELDS);

		if (count && strcmp(fields[0], "function") == 0)
			status = read_head(import, lines.number, fields, count, &table);
		else if (!table.began)
			read_preamble(lines.line, &table);
		else if (*lines.line)
			status = read_row(import, lines.number, fields, count, &table);
		free(copy);
	}
	if (status == STATUS_OK && !table.began)
		status = import_error(import, 1, "no line starts with 'function,'");
	import_lines_end(&lines);
	free(table.device);
	return status;
}

const struct import_format import_babelstream = {
	.name = "babelstream",
	.summary = "cuda-stream --csv > FILE",
	.for_people = "Function ",
	.instead = "run it with --csv",
	.read = babelstream_read,
};
