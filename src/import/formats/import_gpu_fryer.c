/* gpu-fryer: rate, temperature and throttling of every GPU, and what it found unhealthy. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "import/reading.h"

#define MOST_GPUS 256

struct fryer {
	struct {
		char name[128], uuid[64];
		bool throttled; /* and a note says so */
	} gpus[MOST_GPUS];
	char precision[32];
	size_t last, last_gpu; /* case and number of the GPU that lines of its own follow */
	bool has_last, concluded;
};

static enum status take_fryer_name(struct import *import, void *state, size_t line, char **v)
{
	struct fryer *f = state;
	size_t number = strtoul(v[0], NULL, 10);

	(void)import;
	(void)line;
	if (number < MOST_GPUS) {
		snprintf(f->gpus[number].name, sizeof(f->gpus[0].name), "%s", v[1]);
		snprintf(f->gpus[number].uuid, sizeof(f->gpus[0].uuid), "%s", v[2]);
	}
	return STATUS_OK;
}

/*
 * "Using precision(s): BF16 FP8": several run at the same time, and no line of a rate says which is
 * its own.
 */
static enum status take_fryer_precision(struct import *import, void *state, size_t line, char **v)
{
	struct fryer *f = state;

	snprintf(f->precision, sizeof(f->precision), "%s", v[0]);
	if (strpbrk(f->precision, " ,"))
		return import_error(import, line,
				    "%.40s ran at the same time, and no rate says which is its "
				    "own; "
				    "run gpu-fryer with one precision",
				    v[0]);
	for (char *p = f->precision; *p; p++)
		*p = (char)tolower((unsigned char)*p);
	return STATUS_OK;
}

static struct case_result *fryer_case(struct import *import, struct fryer *f, size_t line,
				      const char *number)
{
	size_t i = strtoul(number, NULL, 10);
	const struct import_device d = { .backend = import_backend(f->gpus[i % MOST_GPUS].name),
					 .number = (int)(i % MOST_GPUS),
					 .name = f->gpus[i % MOST_GPUS].name,
					 .uuid = f->gpus[i % MOST_GPUS].uuid };
	size_t device = import_device(import, &d);
	struct case_result *c = import_case(import, line, "burn", &device, 1);

	if (!c)
		return NULL;
	import_word(c, "tool", "gpu-fryer");
	import_word(c, "load", *f->precision ? f->precision : "unknown");
	c = import_named(import, c);
	f->last = (size_t)(c - import->result->cases);
	f->last_gpu = i % MOST_GPUS;
	f->has_last = true;
	return c;
}

/* "GPU #7: 51494 Gflops/s (min: 50577.53, max: 51677.05, dev: 51493.79)" */
static enum status take_fryer_rate(struct import *import, void *state, size_t line, char **v)
{
	struct case_result *c = fryer_case(import, state, line, v[0]);
	double rate;
	char *note;

	if (!c)
		return STATUS_USAGE;
	if (!import_real(v[1], &rate) || rate < 0)
		return import_error(import, line, "expected a rate, not '%.40s'", v[1]);
	if (rate == 0) {
		import_failed(c, "gpu-fryer measured 0 Gflops/s");
		return STATUS_OK;
	}
	import_metric(c, "burn.throughput", "FLOP/s", BETTER_HIGHER, rate * 1e9);
	if (c->metrics[0].series[0]) /* a repetition */
		return STATUS_OK;
	note = xasprintf("From %.20s to %.20s Gflops/s.", v[2], v[3]);
	case_result_note(c, note);
	free(note);
	return STATUS_OK;
}

/* "Throttling HW: false, Thermal SW: true, Thermal HW: false" */
static enum status take_fryer_detail(struct import *import, void *state, size_t line, char **v)
{
	struct fryer *f = state;

	(void)line;
	if (f->has_last && strstr(v[0], "true") && !f->gpus[f->last_gpu].throttled) {
		char *note = xasprintf("Throttling HW: %s.", v[0]);

		case_result_note(&import->result->cases[f->last], note);
		f->gpus[f->last_gpu].throttled = true;
		free(note);
	}
	return STATUS_OK;
}

static enum status take_fryer_end(struct import *import, void *state, size_t line, char **v)
{
	(void)import;
	(void)line;
	(void)v;
	((struct fryer *)state)->concluded = true;
	return STATUS_OK;
}

/* "  - GPU 3 - GPU is throttled. ..." */
static enum status take_fryer_problem(struct import *import, void *state, size_t line, char **v)
{
	struct fryer *f = state;
	struct case_result *c = f->concluded ? fryer_case(import, f, line, v[0]) : NULL;

	if (c)
		import_failed(c, "gpu-fryer says: %s", v[1]);
	return import->err->status;
}

static const struct import_rule fryer_lines[] = {
	{ "Detected GPU #%d: \"%t\" (%w)", take_fryer_name },
	{ "Detected GPU #%d: %t (%w)", take_fryer_name },
	{ "Using precision(s): %r", take_fryer_precision },
	{ "GPU #%d: %n Gflops/s (min: %n, max: %n,", take_fryer_rate },
	{ "Temperature: %n", NULL },
	{ "Throttling HW: %r", take_fryer_detail },
	{ "All GPUs seem healthy", take_fryer_end },
	{ "Some GPUs are not healthy", take_fryer_end },
	{ "- GPU %d - %r", take_fryer_problem },
	{ NULL, NULL },
};

static enum status gpu_fryer_read(struct import *import)
{
	struct fryer *f = xcalloc(1, sizeof(*f));
	enum status status = import_lines(import, fryer_lines, f);

	import_tool(import, "gpu-fryer");
	if (status == STATUS_OK && !f->concluded)
		import_incomplete(import, "gpu-fryer gives no verdict");
	free(f);
	return status;
}

const struct import_format import_gpu_fryer = {
	.name = "gpu-fryer",
	.summary = "gpu-fryer SECONDS > FILE",
	.marks = { "Detected GPU #", "~Gflops/s (min: ", "All GPUs seem healthy",
		   "Some GPUs are not healthy" },
	.silent = "version, single samples, clocks, power, wrong results, time of its start",
	.read = gpu_fryer_read,
};
