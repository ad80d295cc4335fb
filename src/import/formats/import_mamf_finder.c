/*
 * mamf-finder (maximum achievable matmul FLOPS): the mean, median and highest rate of each shape,
 * in lines that overwrite each other, and the best in the end. The median counts. Since 2026 it
 * confirms two winners: MAMF is a burst at boost clocks, MSMF what a GPU at its power limit
 * sustains.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "import/reading.h"

struct mamf {
	char precision[24], name[128];
	bool rows, concluded;
	bool confirmed[2]; /* whether the row of MAMF, of MSMF was read */
};

static void mamf_finder_take_start(struct import *import)
{
	building_started(import, import->v[0]);
}

static void mamf_finder_take_type(struct import *import)
{
	static const char *const types[][2] = {
		{ "bfloat16", "bf16" }, { "float16", "fp16" }, { "float32", "fp32" },
		{ "float64", "fp64" },  { "float8", "fp8" },   { "int8", "int8" },
	};
	struct mamf *m = import->state;

	snprintf(m->precision, sizeof(m->precision), "%s", import->v[0]);
	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		if (strstr(import->v[0], types[i][0])) {
			snprintf(m->precision, sizeof(m->precision), "%s", types[i][1]);
			break;
		}
}

/* `load` is "boost" or "sustained"; NULL for versions that do not distinguish them. */
static void mamf_finder_add_rate(struct import *import, const char *shape, const char *load,
				 const char *rate)
{
	const struct mamf *m = import->state;
	size_t device = building_device(import, &(struct import_device){ .name = m->name });
	unsigned x = 0, y = 0, z = 0;
	char size[40];
	struct case_result *c;
	double tflops;

	if (sscanf(shape, "%9ux%9ux%9u", &x, &y, &z) != 3)
		building_error(import, "expected a shape, not '%.40s'", shape);
	if (x == y && y == z)
		snprintf(size, sizeof(size), "%u", x);
	else
		snprintf(size, sizeof(size), "%ux%ux%u", x, y, z);
	c = building_case(import, "matmul", &device, 1,
			  PARAMETERS(WORD("precision", *m->precision ? m->precision : "unknown"),
				     WORD("size", size), WORD("implementation", "pytorch"),
				     WORD("load", load)));
	tflops = lines_number(import, rate, "a rate");
	building_metric(c, "matmul.throughput", "FLOP/s", tflops * 1e12);
	if (tflops <= 0)
		import_failed(c, "mamf-finder measured 0 TFLOPS");
}

/*
 * "     1 |  720.1(mean)  722.3(median)  731.0(max) @ 4096x4096x4096 | best: ..."; first versions:
 * "     1 |  720.1 TFLOPS @ 4096x4096x4096 | best: ..."
 */
static void mamf_finder_take_shape(struct import *import)
{
	bool old = !import->v[3];

	((struct mamf *)import->state)->rows = true;
	mamf_finder_add_rate(import, import->v[old ? 2 : 4], NULL, import->v[old ? 1 : 2]);
}

/* The rows contain the best shape, unless only the end of the output was kept. */
static void mamf_finder_take_best(struct import *import)
{
	struct mamf *m = import->state;

	m->concluded = true;
	if (!m->rows)
		mamf_finder_add_rate(import, import->v[1], NULL, import->v[0]);
}

/*
 * "4096x4096x4096  743.0  679  1792  1.6%  749.6 743.2 743.0  <- MSMF": the runs are samples. For
 * MAMF the output has only the highest bursts, so its mean has no samples.
 */
static void mamf_finder_take_confirmed(struct import *import)
{
	struct mamf *m = import->state;
	char *rest = import->v[1], *runs;
	bool sustained = text_ends_with(rest, "<- MSMF");
	size_t count;

	if (!sustained && !text_ends_with(rest, "<- MAMF"))
		return;
	runs = sustained ? strchr(rest, '%') : NULL;
	count = lines_row(import, runs ? runs + 1 : rest, ' ', IMPORT_FIELDS);
	if (count < 3)
		building_error(import, "expected a rate");
	m->confirmed[sustained] = true;
	count = runs ? count - 2 : 1;
	for (size_t i = 0; !building_stopped(import) && i < count; i++)
		mamf_finder_add_rate(import, import->v[0], sustained ? "sustained" : "boost",
				     import->fields[i]);
}

/* "MSMF (max sustainable, saturated):   743 TFLOPS @ 4096x4096x4096 (MxNxK)  679W 1792MHz" */
static void mamf_finder_take_headline(struct import *import)
{
	struct mamf *m = import->state;
	bool sustained = text_starts_with(import->v[0], "max sustainable");

	m->concluded = true;
	if (!m->confirmed[sustained])
		mamf_finder_add_rate(import, import->v[2], sustained ? "sustained" : "boost",
				     import->v[1]);
}

static const struct import_rule mamf_lines[] = {
	{ "Benchmark started on %r", mamf_finder_take_start },
	{ "*Dtype: %w", mamf_finder_take_type },
	{ "- _CudaDeviceProperties(name='%t'", INTO(struct mamf, name) },
	{ "%d | %n(mean) %n(median) %n(max) @ %w", mamf_finder_take_shape },
	{ "%d | %n TFLOPS @ %w", mamf_finder_take_shape },
	{ "MAMF (%t): %n TFLOPS @ %w", mamf_finder_take_headline },
	{ "MSMF (%t): %n TFLOPS @ %w", mamf_finder_take_headline },
	{ "median: %n TFLOPS @ %w", mamf_finder_take_best },
	{ "The best outcome was %n TFLOPS @ %w", mamf_finder_take_best },
	{ "%w %r", mamf_finder_take_confirmed },
	{ 0 },
};

static void mamf_finder_finish(struct import *import)
{
	if (!((struct mamf *)import->state)->concluded)
		building_incomplete(import,
				    "mamf-finder was stopped before it printed the best shape");
}

const struct import_format import_mamf_finder = {
	.name = "mamf-finder",
	.summary = "mamf-finder.py ... > FILE",
	.marks = { "~(median)", "** Dtype:", "~TFLOPS @ ", "~ shapes => the best outcome" },
	.silent = "version, single samples, clocks, power, temperatures, wrong results, time zone",
	.tool = "mamf-finder",
	.rules = mamf_lines,
	.state_bytes = sizeof(struct mamf),
	.finish = mamf_finder_finish,
};
