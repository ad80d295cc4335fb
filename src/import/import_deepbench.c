/*
 * Baidu DeepBench's workbooks as CSV, one row per result: GEMM (gpu, precision, M, N, K, A_trans,
 * B_trans, time_ms) and all-reduce (gpu, library_or_algorithm, bytes, n_gpus, time in
 * mean_time_ms). Columns are found by name. A file holds several GPUs; times are means of whole
 * microseconds.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "import/reading.h"

#define FIELDS 32

enum column {
	GPU,
	PRECISION,
	M,
	N,
	K,
	A_TRANS,
	B_TRANS,
	TIME,
	MEAN_TIME,
	BYTES,
	RANKS,
	NODES,
	LIBRARY,
	WORKLOAD,
	COLUMNS
};
static const char *const names[COLUMNS] = {
	"gpu",
	"precision",
	"M",
	"N",
	"K",
	"A_trans",
	"B_trans",
	"time_ms",
	"mean_time_ms",
	"bytes",
	"n_gpus",
	"n_nodes",
	"library_or_algorithm",
	"workload",
};

/* Names of the cards in the workbooks. */
static const char *const gpus[][2] = {
	{ "NV_1080Ti", "GeForce GTX 1080 Ti" }, { "NV_P100", "Tesla P100-PCIE-16GB" },
	{ "NV_V100", "Tesla V100-SXM2-16GB" },  { "NV_T4", "Tesla T4" },
	{ "NV_TitanXp", "TITAN Xp" },           { "NV_TitanX_Pascal", "TITAN X (Pascal)" },
	{ "NV_TitanX", "GeForce GTX TITAN X" }, { "NV_M40", "Tesla M40" },
};

static const char *const precisions[][2] = {
	{ "fp32", "fp32" },
	{ "fp16_mixed_tensor", "fp16" },
	{ "fp16in_fp32math_pseudo", "fp16" },
	{ "int8xint32", "int8" },
};

static const char *translated(const char *const table[][2], size_t count, const char *word)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(table[i][0], word) == 0)
			return table[i][1];
	return NULL;
}

struct table {
	int at[COLUMNS]; /* index of the field; -1: there is none */
	bool began;
};

struct row {
	struct import *import;
	size_t line;
	char **fields;
	size_t count;
	const struct table *table;
};

static const char *field(const struct row *row, enum column column)
{
	int at = row->table->at[column];

	return at >= 0 && (size_t)at < row->count ? row->fields[at] : NULL;
}

static enum status number(const struct row *row, enum column column, double *value)
{
	const char *text = field(row, column);

	if (!text || !import_real(text, value) || *value <= 0)
		return import_error(row->import, row->line,
				    "%s: expected a number above 0, not '%.40s'", names[column],
				    text ? text : "");
	return STATUS_OK;
}

/* Devices of one GPU model have numbers of their own: 1000 of them each. */
#define MODEL 1000
static enum status first_device(const struct row *row, int *first, const char **name)
{
	const char *gpu = field(row, GPU);

	for (size_t i = 0; gpu && i < ARRAY_SIZE(gpus); i++) {
		if (strcmp(gpus[i][0], gpu) == 0) {
			*first = (int)i * MODEL;
			*name = gpus[i][1];
			return STATUS_OK;
		}
	}
	return import_error(row->import, row->line, "gpu: '%.40s' is no card that is known here",
			    gpu ? gpu : "");
}

static bool transposed(const struct row *row, enum column column)
{
	const char *text = field(row, column);

	return text && strcmp(text, "T") == 0;
}

static void set_label(struct case_result *c, const char *label)
{
	free(c->label);
	c->label = xstrdup(label ? label : "");
}

static enum status read_gemm(const struct row *row)
{
	const char *precision = field(row, PRECISION), *ours, *name, *device;
	double m, n, k, time;
	struct case_result *c;
	char size[64];
	int first;

	ours = precision ? translated(precisions, ARRAY_SIZE(precisions), precision) : NULL;
	if (!ours)
		return import_error(row->import, row->line, "precision: '%.40s' is not known here",
				    precision ? precision : "");
	if (first_device(row, &first, &name) != STATUS_OK || number(row, M, &m) != STATUS_OK ||
	    number(row, N, &n) != STATUS_OK || number(row, K, &k) != STATUS_OK ||
	    number(row, TIME, &time) != STATUS_OK)
		return STATUS_USAGE;
	device = import_device(row->import, "cuda", first, name);
	c = import_case(row->import, "matmul", &device, 1);
	set_label(c, field(row, WORKLOAD));
	import_word(c, "precision", ours);
	snprintf(size, sizeof(size), "%.0fx%.0fx%.0f", m, n, k);
	import_number(c, "size", m == n && n == k ? m : (double)NAN, size);
	if (transposed(row, A_TRANS) || transposed(row, B_TRANS)) {
		snprintf(size, sizeof(size), "%s%s", transposed(row, A_TRANS) ? "t" : "n",
			 transposed(row, B_TRANS) ? "t" : "n");
		import_word(c, "transpose", size);
	}
	import_metric(c, "matmul.throughput", strcmp(ours, "int8") == 0 ? "ops/s" : "FLOP/s",
		      BETTER_HIGHER, 2 * m * n * k / (time * 1e-3));
	import_metric(c, "matmul.time", "s", BETTER_LOWER, time * 1e-3);
	import_named(c);
	return STATUS_OK;
}

static void add_all_reduce(const struct row *row, int first, const char *name, size_t ranks,
			   double bytes, double seconds)
{
	const char **devices = xcalloc(ranks, sizeof(*devices));
	struct case_result *c;
	char text[32];

	/* The list of devices may move while it grows. */
	for (size_t i = 0; i < ranks; i++)
		import_device(row->import, "cuda", first + (int)i, name);
	for (size_t i = 0; i < ranks; i++)
		devices[i] = import_device(row->import, "cuda", first + (int)i, name);
	c = import_case(row->import, "collective", devices, ranks);
	free(devices);
	set_label(c, field(row, LIBRARY));
	snprintf(text, sizeof(text), "%zu", ranks);
	import_number(c, "devices", (double)ranks, text);
	import_word(c, "operation", "all_reduce");
	import_word(c, "precision", "fp32");
	import_word(c, "placement", "out_of_place");
	import_bytes(c, "size", bytes);
	import_metric(c, "collective.busbw", "B/s", BETTER_HIGHER,
		      bytes / seconds * 2 * ((double)ranks - 1) / (double)ranks);
	import_metric(c, "collective.algbw", "B/s", BETTER_HIGHER, bytes / seconds);
	import_metric(c, "collective.time", "s", BETTER_LOWER, seconds);
	import_named(c);
}

static enum status read_all_reduce(const struct row *row)
{
	const char *name;
	double bytes, ranks, time;
	int first;

	if (first_device(row, &first, &name) != STATUS_OK ||
	    number(row, BYTES, &bytes) != STATUS_OK || number(row, RANKS, &ranks) != STATUS_OK ||
	    number(row, MEAN_TIME, &time) != STATUS_OK)
		return STATUS_USAGE;
	if (ranks != floor(ranks) || ranks > MODEL)
		return import_error(row->import, row->line, "n_gpus: no number of devices");
	add_all_reduce(row, first, name, (size_t)ranks, bytes, time * 1e-3);
	return STATUS_OK;
}

static enum status read_head(struct import *import, size_t line, char **fields, size_t count,
			     struct table *table)
{
	for (size_t c = 0; c < COLUMNS; c++) {
		table->at[c] = -1;
		for (size_t i = 0; i < count; i++)
			if (strcmp(fields[i], names[c]) == 0)
				table->at[c] = (int)i;
	}
	table->began = true;
	if (table->at[GPU] < 0 || (table->at[K] < 0 && table->at[BYTES] < 0))
		return import_error(import, line,
				    "expected columns gpu and M, N, K (GEMM) or bytes "
				    "(all-reduce)");
	return STATUS_OK;
}

static enum status deepbench_read(struct import *import)
{
	struct import_lines lines = import_lines(import);
	struct table table = { .began = false };
	enum status status = STATUS_OK;

	import_tool(import, "DeepBench");
	while (status == STATUS_OK && import_next(&lines)) {
		char *fields[FIELDS];
		const bool empty = !*lines.line;
		const size_t count = import_fields(lines.line, ',', fields, FIELDS);
		const struct row row = { import, lines.number, fields, count, &table };

		if (empty)
			continue;
		if (!table.began)
			status = read_head(import, lines.number, fields, count, &table);
		else
			status = table.at[K] >= 0 ? read_gemm(&row) : read_all_reduce(&row);
	}
	import_lines_end(&lines);
	return status;
}

const struct import_format import_deepbench = {
	.name = "deepbench",
	.summary = "DeepBench's result workbooks, a sheet as CSV",
	.read = deepbench_read,
};
