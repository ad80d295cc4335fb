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
	struct import_table table;
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

static const struct babelstream_operation *babelstream_operation_named(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(operations); i++)
		if (strcasecmp(operations[i].name, name) == 0)
			return &operations[i];
	return NULL;
}

/* Begins a new run and clears the state of the last one. */
static enum status take_banner(const struct import_line *l)
{
	if (((struct babelstream *)l->state)->began)
		memset(l->state, 0, sizeof(struct babelstream));
	((struct babelstream *)l->state)->first_case = l->import->result->case_count;
	return STATUS_OK;
}

static enum status babelstream_take_stream_version(const struct import_line *l)
{
	import_tool(l->import, "BabelStream %.20s", l->v[0]);
	return STATUS_OK;
}

/* Matches "Using CUDA device NAME", and since version 6 "CUDA Device 0: "NAME"". */
static enum status babelstream_take_stream_device(const struct import_line *l)
{
	struct babelstream *b = l->state;

	b->number = l->v[1] && strlen(l->v[0]) < 5 ? atoi(l->v[0]) : 0;
	snprintf(b->name, sizeof(b->name), "%s", l->v[1] ? l->v[1] : l->v[0]);
	return STATUS_OK;
}

static enum status babelstream_take_precision(const struct import_line *l)
{
	((struct babelstream *)l->state)->element_bytes = strcmp(l->v[0], "float") == 0 ? 4 : 8;
	return STATUS_OK;
}

static enum status take_passes(const struct import_line *l)
{
	((struct babelstream *)l->state)->passes = strtoul(l->v[0], NULL, 10);
	return STATUS_OK;
}

/*
 * "Array size: 268.4 MB (=0.3 GB)" is rounded. Assumes the power of two that rounds to it, because
 * BabelStream's own sizes are powers of two.
 */
static enum status babelstream_take_array(const struct import_line *l)
{
	struct babelstream *b = l->state;
	double number, unit = babelstream_unit_bytes(l->v[1], strlen(l->v[1])), half;

	if (!import_real(l->v[0], &number) || !(number > 0) || unit <= 0)
		return import_error(l->import, l->number, "expected a size, not '%.30s %.10s'",
				    l->v[0], l->v[1]);
	half = import_half_digit(l->v[0]) * unit;
	b->array_bytes = number * unit;
	for (double power = 1024; power <= 0x1p50; power *= 2)
		if (fabs(power - number * unit) <= half)
			b->array_bytes = power;
	return STATUS_OK;
}

static void babelstream_fail_stream_case(const struct babelstream *b, struct case_result *c)
{
	const struct case_parameter *operation = case_parameter(c, "operation");

	if (*b->failed && (!b->sum_only || (operation && strcmp(operation->text, "dot") == 0)))
		import_failed(c, "%s", b->failed);
}

/* This line comes before or after the table, because the shell joins stdout and stderr. */
static enum status take_invalid(const struct import_line *l)
{
	struct babelstream *b = l->state;
	bool sum = text_starts_with(l->v[0], "sum");

	if (*b->failed && (sum || !b->sum_only))
		return STATUS_OK;
	b->sum_only = sum;
	snprintf(b->failed, sizeof(b->failed), "Validation failed on %s", l->v[0]);
	for (size_t i = b->first_case; i < l->import->result->case_count; i++)
		babelstream_fail_stream_case(b, &l->import->result->cases[i]);
	return STATUS_OK;
}

static enum status babelstream_take_csv_head(const struct import_line *l)
{
	static const char *const wanted[] = { "num_times",   "n_elements",  "sizeof",
					      "min_runtime", "max_runtime", "avg_runtime" };
	struct babelstream *b = l->state;
	char heading[1024];

	snprintf(heading, sizeof(heading), "function,%.1000s", l->v[0]);
	import_heading(&b->table, heading, ',');
	b->separator = ',';
	b->unit = 0;
	for (size_t i = 0; i < b->table.count && b->unit == 0; i++) {
		const char *name = b->table.names[i], *end = strstr(name, "_per_sec");

		if (end && text_starts_with(name, "max_"))
			b->unit = babelstream_unit_bytes(name + 4, (size_t)(end - name - 4));
		if (b->unit > 0)
			b->table.names[i][0] = '\0'; /* no longer found by name */
	}
	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++)
		if (import_column(&b->table, wanted[i], 0) < 0)
			return import_error(l->import, l->number, "the heading has no column '%s'",
					    wanted[i]);
	b->began = true;
	if (b->unit > 0)
		return STATUS_OK;
	return import_error(l->import, l->number,
			    "expected a column max_UNIT_per_sec, such as "
			    "max_mbytes_per_sec");
}

static enum status babelstream_take_text_head(const struct import_line *l)
{
	struct babelstream *b = l->state;

	b->separator = ' ';
	b->unit = babelstream_unit_bytes(l->v[0], strlen(l->v[0]));
	import_heading(&b->table, "Function Rate Min Max Average", ' ');
	b->began = true;
	if (b->unit <= 0)
		return import_error(l->import, l->number,
				    "expected MBytes/sec or the like, not '%.20s'", l->v[0]);
	return STATUS_OK;
}

static bool babelstream_is_cpu(const char *name)
{
	return strstr(name, "CPU") || strstr(name, "Xeon") || strstr(name, "EPYC") ||
	       strstr(name, "Core(TM)");
}

/* A CPU is not a CUDA device. A programming model without a device may run on a CPU or a GPU. */
static void babelstream_find_stream_device(struct import *import, struct babelstream *b)
{
	static const char *const of_cpu[] = { "OpenMP", "Serial", "TBB" };
	const char *name = import->options->device ? import->options->device : b->name;
	struct import_device d = { .backend = "unknown", .number = b->number, .name = name };

	if (b->has_device)
		return;
	b->has_device = true;
	if (*name)
		d.backend = babelstream_is_cpu(name) ? "host" : import_backend(name);
	else if (strcmp(b->model, "CUDA") == 0 || (!*b->model && b->separator == ','))
		d.backend = "cuda";
	for (size_t i = 0; !*name && i < ARRAY_SIZE(of_cpu); i++)
		if (strcmp(of_cpu[i], b->model) == 0)
			d = (struct import_device){ .backend = "host", .name = "CPU" };
	b->device = import_device(import, &d);
}

static const char *babelstream_stream_cell(const struct babelstream *b, char **fields,
					   const char *name)
{
	int column = import_column(&b->table, name, 0);

	return column >= 0 ? fields[column] : "";
}

static enum status babelstream_add_stream_case(struct import *import, struct babelstream *b,
					       size_t line, const struct babelstream_operation *o,
					       double rate, double shortest)
{
	struct case_result *c;

	babelstream_find_stream_device(import, b);
	c = import_case(import, line, "stream", &b->device, 1,
			WORDS("operation", o->name, "precision",
			      b->element_bytes == 8 ? "fp64" : "fp32"));
	if (!c)
		return STATUS_USAGE;
	import_bytes(c, "size", b->array_bytes);
	if (b->passes) {
		free(c->notes);
		c->notes = xasprintf("The fastest of %zu passes.", b->passes);
	}
	c = import_named(import, c);
	import_metric(c, "stream.bandwidth", "B/s", BETTER_HIGHER, rate);
	import_metric(c, "stream.time", "s", BETTER_LOWER, shortest);
	babelstream_fail_stream_case(b, c);
	return STATUS_OK;
}

/* Rejects a bandwidth that does not match the bytes of the arrays: columns were swapped. */
static enum status babelstream_check_stream_row(struct import *import, struct babelstream *b,
						size_t line, const struct babelstream_operation *o,
						double rate, const char *time)
{
	double moved = rate * strtod(time, NULL), wanted = o->arrays * b->array_bytes;
	double slack = 0.02 * wanted + 2 * import_half_digit(time) * rate;

	if (fabs(moved - wanted) <= slack)
		return STATUS_OK;
	/* GPU-STREAM before 3.0 writes MB but means 2^20 bytes. */
	if (b->separator == ' ' && fabs(moved - wanted * MEBI) <= slack) {
		b->array_bytes *= MEBI;
		return STATUS_OK;
	}
	return import_error(import, line,
			    "%.4g B/s for %s s differ from the %.4g bytes of %s: wrong columns?",
			    rate, time, wanted, o->name);
}

static enum status babelstream_take_stream_row(struct import *import, struct babelstream *b,
					       size_t line, char **fields)
{
	const char *const numbers[] = {
		babelstream_stream_cell(b, fields, b->separator == ',' ? "" : "Rate"),
		babelstream_stream_cell(b, fields, b->separator == ',' ? "min_runtime" : "Min")
	};
	const struct babelstream_operation *o = babelstream_operation_named(fields[0]);
	double v[2];

	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		if (!import_real(numbers[i], &v[i]) || v[i] <= 0)
			return import_error(import, line, "expected a number above 0, not '%.40s'",
					    numbers[i]);
	if (!o) { /* nstream, init, ... */
		import_left_out(import, "%s", fields[0]);
		return STATUS_OK;
	}
	if (b->element_bytes != 4 && b->element_bytes != 8)
		return b->separator == ','
			       ? import_error(import, line, "expected sizeof 4 or 8, not '%.40s'",
					      babelstream_stream_cell(b, fields, "sizeof"))
			       : import_error(import, line,
					      "no line 'Precision: ...' gives the size of "
					      "an element");
	if (b->array_bytes <= 0)
		return import_error(import, line,
				    "no line 'Array size: ...' gives the size of "
				    "the arrays");
	if (babelstream_check_stream_row(import, b, line, o, v[0] * b->unit, numbers[1]) !=
	    STATUS_OK)
		return STATUS_USAGE;
	return babelstream_add_stream_case(import, b, line, o, v[0] * b->unit, v[1]);
}

/* Reads the set-up from a CSV row; the text form prints it before its table. */
static enum status babelstream_read_csv_setup(struct import *import, struct babelstream *b,
					      size_t line, char **fields)
{
	double elements, passes;

	if (!import_real(babelstream_stream_cell(b, fields, "n_elements"), &elements) ||
	    elements <= 0)
		return import_error(import, line, "expected a number above 0, not '%.40s'",
				    babelstream_stream_cell(b, fields, "n_elements"));
	if (!import_real(babelstream_stream_cell(b, fields, "sizeof"), &b->element_bytes))
		b->element_bytes = 0;
	b->array_bytes = elements * b->element_bytes;
	if (import_real(babelstream_stream_cell(b, fields, "num_times"), &passes) && passes > 0 &&
	    passes < 1e9)
		b->passes = (size_t)passes;
	return STATUS_OK;
}

static enum status babelstream_take_stream_line(const struct import_line *l)
{
	struct babelstream *b = l->state;
	char *fields[IMPORT_COLUMNS];
	size_t count;

	if (!b->began)
		return STATUS_OK;
	count = import_fields(l->v[0], b->separator, fields, IMPORT_COLUMNS);
	if (b->separator == ' ') {
		double rate;

		/* Lines of other programs may follow the table. */
		if (count != b->table.count || !import_real(fields[1], &rate))
			return STATUS_OK;
		return babelstream_take_stream_row(l->import, b, l->number, fields);
	}
	if (count < 2)
		return STATUS_OK;
	if (count != b->table.count)
		return import_error(l->import, l->number, "expected %zu columns, not %zu",
				    b->table.count, count);
	if (babelstream_read_csv_setup(l->import, b, l->number, fields) != STATUS_OK)
		return STATUS_USAGE;
	return babelstream_take_stream_row(l->import, b, l->number, fields);
}

static const struct import_rule stream_lines[] = {
	{ "BabelStream", take_banner },
	{ "Version: %w", babelstream_take_stream_version },
	{ "Implementation: %r", .fact = "programming model", INTO(struct babelstream, model) },
	{ "Using * device %r", babelstream_take_stream_device },
	{ "CUDA Device %d: \"%t\"", babelstream_take_stream_device },
	{ "Kokkos library for %r", babelstream_take_stream_device },
	{ "Precision: %w", babelstream_take_precision },
	{ "Running kernels %d times", take_passes },
	{ "Array size: %w %w", babelstream_take_array },
	{ "Validation failed on %r", take_invalid },
	{ "FAILED validation of %r", take_invalid },
	{ "function,%r", babelstream_take_csv_head },
	{ "Function %w/s", babelstream_take_text_head },
	{ "%r", babelstream_take_stream_line },
	{ 0 },
};

static enum status stream_finish(struct import *import, void *state)
{
	const struct babelstream *b = state;

	if (*b->failed && b->began)
		import_fact(import, "validation", b->failed);
	if (b->began)
		return STATUS_OK;
	return import_error(import, 1,
			    "the file has no table: no line begins with 'function,' or 'Function "
			    "'%s%.200s",
			    import->failure ? "; a program failed: " : "",
			    import->failure ? import->failure : "");
}

const struct import_format import_babelstream = {
	.name = "babelstream",
	.summary = "cuda-stream --csv > FILE; without --csv its figures are rounded",
	.marks = { "function,num_times", "BabelStream", "Function    M", "Function    G",
		   "Function    T" },
	.silent = "single passes, clocks, power, temperatures, time of its start",
	.tool = "BabelStream",
	.rules = stream_lines,
	.state_bytes = sizeof(struct babelstream),
	.finish = stream_finish,
};
