/*
 * BabelStream: its text table and --csv. It reports the bandwidth of the fastest pass. Lines before
 * the table name the device, the programming model and failures.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/memory.h"
#include "base/text.h"
#include "import/reading.h"

/* Arrays that an operation reads and writes; bandwidth counts the bytes of all of them. */
static const struct babelstream_operation {
	const char *name;
	double arrays;
} operations[] = {
	{ "copy", 2 }, { "mul", 2 }, { "add", 3 }, { "triad", 3 }, { "dot", 2 },
};

static const struct babelstream_unit {
	const char *name;
	double bytes;
} units[] = {
	{ "mbytes", 1e6 },      { "mibytes", 1 << 20 }, { "MB", 1e6 },     { "MiB", 1 << 20 },
	{ "GB", 1e9 },          { "GiB", 1 << 30 },     { "TB", 1e12 },    { "TiB", 0x1p40 },
	{ "KB", 1e3 },          { "KiB", 1 << 10 },     { "gbytes", 1e9 }, { "MBytes", 1e6 },
	{ "MiBytes", 1 << 20 },
};

/* MB per MiB */
#define MEBI 1.048576

struct babelstream {
	char separator;
	double unit; /* bytes per unit of the rate */
	size_t device;
	bool has_device, began;
	int number;
	char model[40], name[128];
	double element_bytes, array_bytes; /* from the text; 0: not given */
	size_t passes, first_case;         /* in this run */
	char failed[200];                  /* the tool's message; "": none */
	bool sum_only;                     /* only the sum failed */
};

static double babelstream_unit_bytes(const char *name, size_t length)
{
	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		if (strlen(units[i].name) == length && strncmp(units[i].name, name, length) == 0)
			return units[i].bytes;
	return 0;
}

/* Begins a new run and clears the state of the last one. */
static void babelstream_take_banner(struct import *import)
{
	struct babelstream *b = import->state;

	if (b->began)
		memset(b, 0, sizeof(*b));
	b->first_case = import->result->case_count;
}

static void babelstream_take_version(struct import *import)
{
	building_tool(import, "BabelStream %.20s", import->v[0]);
}

/* Matches "Using CUDA device NAME", and since version 6 "CUDA Device 0: "NAME"". */
static void babelstream_take_device(struct import *import)
{
	struct babelstream *b = import->state;
	char **v = import->v;

	b->number = v[1] && strlen(v[0]) < 5 ? atoi(v[0]) : 0;
	snprintf(b->name, sizeof(b->name), "%s", v[1] ? v[1] : v[0]);
}

static void babelstream_take_precision(struct import *import)
{
	((struct babelstream *)import->state)->element_bytes =
		strcmp(import->v[0], "float") == 0 ? 4 : 8;
}

static void babelstream_take_passes(struct import *import)
{
	((struct babelstream *)import->state)->passes = strtoul(import->v[0], NULL, 10);
}

/*
 * "Array size: 268.4 MB (=0.3 GB)" is rounded. Assumes the power of two that rounds to it, because
 * BabelStream's own sizes are powers of two.
 */
static void babelstream_take_array(struct import *import)
{
	struct babelstream *b = import->state;
	const char *size = import->v[0], *name = import->v[1];
	double number, unit = babelstream_unit_bytes(name, strlen(name)), half;

	if (!lines_real(size, &number) || !(number > 0) || unit <= 0)
		building_error(import, "expected a size, not '%.30s %.10s'", size, name);
	half = lines_half_digit(size) * unit;
	b->array_bytes = number * unit;
	for (double power = 1024; power <= 0x1p50; power *= 2)
		if (fabs(power - number * unit) <= half)
			b->array_bytes = power;
}

static void babelstream_fail_case(const struct babelstream *b, struct case_result *c)
{
	const struct case_parameter *operation = case_parameter(c, "operation");

	if (*b->failed && (!b->sum_only || (operation && strcmp(operation->text, "dot") == 0)))
		import_failed(c, "%s", b->failed);
}

/* This line comes before or after the table, because the shell joins stdout and stderr. */
static void babelstream_take_invalid(struct import *import)
{
	struct babelstream *b = import->state;
	bool sum = text_starts_with(import->v[0], "sum");

	if (*b->failed && (sum || !b->sum_only))
		return;
	b->sum_only = sum;
	snprintf(b->failed, sizeof(b->failed), "Validation failed on %s", import->v[0]);
	for (size_t i = b->first_case; i < import->result->case_count; i++)
		babelstream_fail_case(b, &import->result->cases[i]);
}

static void babelstream_take_csv_head(struct import *import)
{
	static const char *const wanted[] = { "num_times",   "n_elements",  "sizeof",
					      "min_runtime", "max_runtime", "avg_runtime" };
	struct babelstream *b = import->state;
	char *heading = xasprintf("function,%s", import->v[0]);

	lines_heading(import, heading, ',');
	free(heading);
	b->began = true;
	b->separator = ',';
	b->unit = 0;
	for (size_t i = 0; i < import->column_count && b->unit == 0; i++) {
		const char *name = import->columns[i], *end = strstr(name, "_per_sec");

		if (end && text_starts_with(name, "max_"))
			b->unit = babelstream_unit_bytes(name + 4, (size_t)(end - name - 4));
		if (b->unit > 0)
			snprintf(import->columns[i], sizeof("Rate"),
				 "Rate"); /* as in the text form */
	}
	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++)
		if (lines_column(import, wanted[i], 0) < 0)
			building_error(import, "the heading has no column '%s'", wanted[i]);
	if (b->unit <= 0)
		building_error(import,
			       "expected a column max_UNIT_per_sec, such as max_mbytes_per_sec");
}

static void babelstream_take_text_head(struct import *import)
{
	struct babelstream *b = import->state;

	b->began = true;
	b->separator = ' ';
	b->unit = babelstream_unit_bytes(import->v[0], strlen(import->v[0]));
	lines_heading(import, "Function Rate min_runtime Max Average", ' ');
	if (b->unit <= 0)
		building_error(import, "expected a unit such as MBytes/sec, not '%.20s'",
			       import->v[0]);
}

/* A CPU is not a CUDA device. A programming model without a device may run on a CPU or a GPU. */
static void babelstream_find_device(struct import *import, struct babelstream *b)
{
	static const char *const of_cpu[] = { "OpenMP", "Serial", "TBB" };
	const char *name = import->options->device ? import->options->device : b->name;
	struct import_device d = { .backend = "unknown", .number = b->number, .name = name };

	if (b->has_device)
		return;
	b->has_device = true;
	if (lines_find_any(name, "CPU", "Xeon", "EPYC", "Core(TM)"))
		d.backend = "host";
	else if (*name)
		d.backend = NULL;
	else if (strcmp(b->model, "CUDA") == 0 || (!*b->model && b->separator == ','))
		d.backend = "cuda";
	for (size_t i = 0; !*name && i < ARRAY_SIZE(of_cpu); i++)
		if (strcmp(of_cpu[i], b->model) == 0)
			d = (struct import_device){ .backend = "host", .name = "CPU" };
	b->device = building_device(import, &d);
}

static void babelstream_add_case(struct import *import, struct babelstream *b,
				 const struct babelstream_operation *o, double rate,
				 double shortest)
{
	struct case_result *c;

	babelstream_find_device(import, b);
	c = building_case(import, "stream", &b->device, 1,
			  PARAMETERS(WORD("operation", o->name),
				     WORD("precision", b->element_bytes == 8 ? "fp64" : "fp32"),
				     BYTES("size", b->array_bytes)));
	if (b->passes && !*c->notes)
		building_note(c, "The value is the fastest of %zu passes.", b->passes);
	building_metric(c, "stream.bandwidth", "B/s", rate);
	building_metric(c, "stream.time", "s", shortest);
	babelstream_fail_case(b, c);
}

/* Rejects a bandwidth that does not match the bytes of the arrays: columns were swapped. */
static void babelstream_check_row(struct import *import, struct babelstream *b,
				  const struct babelstream_operation *o, double rate,
				  const char *time)
{
	double moved = rate * strtod(time, NULL), wanted = o->arrays * b->array_bytes;
	double slack = 0.02 * wanted + 2 * lines_half_digit(time) * rate;

	if (fabs(moved - wanted) <= slack)
		return;
	/* GPU-STREAM before 3.0 writes MB but means 2^20 bytes. */
	if (b->separator == ' ' && fabs(moved - wanted * MEBI) <= slack)
		b->array_bytes *= MEBI;
	else
		building_error(import,
			       "%.4g B/s during %s s do not give the %.4g bytes that %s moves; the "
			       "columns may be in another order",
			       rate, time, wanted, o->name);
}

static double babelstream_number(struct import *import, const char *column)
{
	const char *cell = lines_cell(import, column, 0);
	double value;

	if (!lines_real(cell, &value) || value <= 0)
		building_error(import, "expected a number above 0, not '%.40s'", cell);
	return value;
}

static void babelstream_take_row(struct import *import, struct babelstream *b)
{
	const struct babelstream_operation *o = NULL;
	double rate = babelstream_number(import, "Rate") * b->unit;
	double shortest = babelstream_number(import, "min_runtime");

	for (size_t i = 0; i < ARRAY_SIZE(operations); i++)
		if (strcasecmp(operations[i].name, import->fields[0]) == 0)
			o = &operations[i];
	if (!o) { /* nstream, init, ... */
		building_left_out(import, "%s", import->fields[0]);
		return;
	}
	if (b->element_bytes != 4 && b->element_bytes != 8 && b->separator == ',')
		building_error(import, "expected sizeof 4 or 8, not '%.40s'",
			       lines_cell(import, "sizeof", 0));
	else if (b->element_bytes != 4 && b->element_bytes != 8)
		building_error(import, "the size of an element is unknown, because the line "
				       "'Precision: ...' is missing");
	if (b->array_bytes <= 0)
		building_error(import, "the size of the arrays is unknown, because the line 'Array "
				       "size: ...' is missing");
	babelstream_check_row(import, b, o, rate, lines_cell(import, "min_runtime", 0));
	babelstream_add_case(import, b, o, rate, shortest);
}

static void babelstream_take_line(struct import *import)
{
	struct babelstream *b = import->state;
	size_t count;
	double rate, passes;

	if (!b->began)
		return;
	count = lines_row(import, import->v[0], b->separator, IMPORT_FIELDS);
	/* Lines of other programs may follow the table. */
	if (count < 2 || (b->separator == ' ' &&
			  (count != import->column_count || !lines_real(import->fields[1], &rate))))
		return;
	if (count != import->column_count) {
		building_error(import, "expected %zu columns, not %zu", import->column_count,
			       count);
		return;
	}
	/* The text form prints the set-up before its table. */
	if (b->separator == ',') {
		if (!lines_real(lines_cell(import, "sizeof", 0), &b->element_bytes))
			b->element_bytes = 0;
		b->array_bytes = babelstream_number(import, "n_elements") * b->element_bytes;
		if (lines_real(lines_cell(import, "num_times", 0), &passes) && passes > 0 &&
		    passes < 1e9)
			b->passes = (size_t)passes;
	}
	babelstream_take_row(import, b);
}

static const struct import_rule stream_lines[] = {
	{ "BabelStream", babelstream_take_banner },
	{ "Version: %w", babelstream_take_version },
	{ "Implementation: %r", .fact = "programming model", INTO(struct babelstream, model) },
	{ "Using * device %r", babelstream_take_device },
	{ "CUDA Device %d: \"%t\"", babelstream_take_device },
	{ "Kokkos library for %r", babelstream_take_device },
	{ "Precision: %w", babelstream_take_precision },
	{ "Running kernels %d times", babelstream_take_passes },
	{ "Array size: %w %w", babelstream_take_array },
	{ "Validation failed on %r", babelstream_take_invalid },
	{ "FAILED validation of %r", babelstream_take_invalid },
	{ "function,%r", babelstream_take_csv_head },
	{ "Function %w/s", babelstream_take_text_head },
	{ "%r", babelstream_take_line },
	{ 0 },
};

static void babelstream_stream_finish(struct import *import)
{
	const struct babelstream *b = import->state;

	if (*b->failed && b->began)
		building_fact(import, "validation", b->failed);
	if (!b->began)
		building_error(import,
			       "the file has no table, because no line begins with 'function,' or "
			       "'Function '%s%.200s",
			       import->failure ? "; a program failed: " : "",
			       import->failure ? import->failure : "");
}

const struct import_format import_babelstream = {
	.name = "babelstream",
	.summary = "cuda-stream --csv > FILE (without --csv the values are rounded)",
	.marks = { "function,num_times", "BabelStream", "Function    M", "Function    G",
		   "Function    T" },
	.silent = "single passes, clocks, power, temperatures, start time",
	.tool = "BabelStream",
	.rules = stream_lines,
	.state_bytes = sizeof(struct babelstream),
	.finish = babelstream_stream_finish,
};
