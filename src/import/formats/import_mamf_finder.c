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

static enum status take_mamf_start(const struct import_line *l)
{
	import_started(l->import, l->v[0]);
	return STATUS_OK;
}

static enum status take_mamf_type(const struct import_line *l)
{
	static const char *const types[][2] = {
		{ "bfloat16", "bf16" }, { "float16", "fp16" }, { "float32", "fp32" },
		{ "float64", "fp64" },  { "float8", "fp8" },   { "int8", "int8" },
	};
	struct mamf *m = l->state;

	snprintf(m->precision, sizeof(m->precision), "%s", l->v[0]);
	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		if (strstr(l->v[0], types[i][0])) {
			snprintf(m->precision, sizeof(m->precision), "%s", types[i][1]);
			break;
		}
	return STATUS_OK;
}

/* `load` is "boost" or "sustained"; NULL for versions that do not distinguish them. */
static struct case_result *mamf_case(struct import *import, const struct mamf *m, size_t line,
				     const char *shape, const char *load)
{
	const struct import_device d = { .backend = import_backend(m->name), .name = m->name };
	size_t device = import_device(import, &d);
	unsigned x, y, z;
	char size[40];
	struct case_result *c;

	if (sscanf(shape, "%9ux%9ux%9u", &x, &y, &z) != 3) {
		import_error(import, line, "expected a shape, not '%.40s'", shape);
		return NULL;
	}
	if (x == y && y == z)
		snprintf(size, sizeof(size), "%u", x);
	else
		snprintf(size, sizeof(size), "%ux%ux%u", x, y, z);
	c = import_case(import, line, "matmul", &device, 1,
			WORDS("precision", *m->precision ? m->precision : "unknown", "size", size,
			      "implementation", "pytorch", "load", load));
	return c ? import_named(import, c) : NULL;
}

static enum status mamf_add_rate(struct import *import, struct case_result *c, size_t line,
				 const char *rate)
{
	double tflops;

	if (!c)
		return STATUS_USAGE;
	if (!import_real(rate, &tflops))
		return import_error(import, line, "expected a rate, not '%.20s'", rate);
	import_metric(c, "matmul.throughput", "FLOP/s", BETTER_HIGHER, tflops * 1e12);
	if (tflops <= 0)
		import_failed(c, "mamf-finder measured 0 TFLOPS");
	return STATUS_OK;
}

static enum status mamf_add_shape(const struct import_line *l, const char *shape, const char *rate)
{
	return mamf_add_rate(l->import, mamf_case(l->import, l->state, l->number, shape, NULL),
			     l->number, rate);
}

/* "     1 |  720.1(mean)  722.3(median)  731.0(max) @ 4096x4096x4096 | best: ..." */
static enum status mamf_take_shape(const struct import_line *l)
{
	((struct mamf *)l->state)->rows = true;
	return mamf_add_shape(l, l->v[4], l->v[2]);
}

/* First versions: "     1 |  720.1 TFLOPS @ 4096x4096x4096 | best: ..." */
static enum status take_old_shape(const struct import_line *l)
{
	((struct mamf *)l->state)->rows = true;
	return mamf_add_shape(l, l->v[2], l->v[1]);
}

/* The rows contain the best shape, unless only the end of the output was kept. */
static enum status mamf_take_best(const struct import_line *l)
{
	struct mamf *m = l->state;

	m->concluded = true;
	return m->rows ? STATUS_OK : mamf_add_shape(l, l->v[1], l->v[0]);
}

/*
 * "4096x4096x4096  743.0  679  1792  1.6%  749.6 743.2 743.0  <- MSMF": the runs are samples. For
 * MAMF the output has only the highest bursts, so its mean has no samples.
 */
static enum status mamf_take_confirmed(const struct import_line *l)
{
	struct mamf *m = l->state;
	bool sustained = text_ends_with(l->v[1], "<- MSMF");
	char *fields[IMPORT_COLUMNS], *runs = sustained ? strchr(l->v[1], '%') : NULL;
	struct case_result *c;
	size_t count;
	enum status status = STATUS_OK;

	if (!sustained && !text_ends_with(l->v[1], "<- MAMF"))
		return STATUS_OK;
	c = mamf_case(l->import, m, l->number, l->v[0], sustained ? "sustained" : "boost");
	count = import_fields(runs ? runs + 1 : l->v[1], ' ', fields, IMPORT_COLUMNS);
	if (!c || count < 3)
		return c ? import_error(l->import, l->number, "expected a rate") : STATUS_USAGE;
	m->confirmed[sustained] = true;
	count = runs ? count - 2 : 1;
	for (size_t i = 0; status == STATUS_OK && i < count; i++)
		status = mamf_add_rate(l->import, c, l->number, fields[i]);
	return status;
}

/* "MSMF (max sustainable, saturated):   743 TFLOPS @ 4096x4096x4096 (MxNxK)  679W 1792MHz" */
static enum status mamf_take_headline(const struct import_line *l)
{
	struct mamf *m = l->state;
	bool sustained = text_starts_with(l->v[0], "max sustainable");

	m->concluded = true;
	if (m->confirmed[sustained])
		return STATUS_OK;
	return mamf_add_rate(l->import,
			     mamf_case(l->import, m, l->number, l->v[2],
				       sustained ? "sustained" : "boost"),
			     l->number, l->v[1]);
}

static const struct import_rule mamf_lines[] = {
	{ "Benchmark started on %r", take_mamf_start },
	{ "*Dtype: %w", take_mamf_type },
	{ "- _CudaDeviceProperties(name='%t'", INTO(struct mamf, name) },
	{ "%d | %n(mean) %n(median) %n(max) @ %w", mamf_take_shape },
	{ "%d | %n TFLOPS @ %w", take_old_shape },
	{ "MAMF (%t): %n TFLOPS @ %w", mamf_take_headline },
	{ "MSMF (%t): %n TFLOPS @ %w", mamf_take_headline },
	{ "median: %n TFLOPS @ %w", mamf_take_best },
	{ "The best outcome was %n TFLOPS @ %w", mamf_take_best },
	{ "%w %r", mamf_take_confirmed },
	{ 0 },
};

static enum status mamf_finish(struct import *import, void *state)
{
	if (!((struct mamf *)state)->concluded)
		import_incomplete(import, "mamf-finder reports no best shape: it was stopped");
	return STATUS_OK;
}

const struct import_format import_mamf_finder = {
	.name = "mamf-finder",
	.summary = "mamf-finder.py ... > FILE",
	.marks = { "~(median)", "** Dtype:", "~TFLOPS @ ", "~ shapes => the best outcome" },
	.silent = "version, single samples, clocks, power, temperatures, wrong results, time zone",
	.tool = "mamf-finder",
	.rules = mamf_lines,
	.state_bytes = sizeof(struct mamf),
	.finish = mamf_finish,
};
