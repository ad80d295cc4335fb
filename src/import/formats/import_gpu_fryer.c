/* gpu-fryer: rate, temperature and throttling of every GPU, and which GPUs are unhealthy. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "import/reading.h"

struct fryer {
	struct import_gpu gpus[IMPORT_GPUS];
	bool throttled[IMPORT_GPUS]; /* a note reports it */
	char precision[32];
	size_t last, last_gpu; /* case and number of the GPU that the following lines describe */
	bool has_last, concluded;
};

static enum status take_fryer_name(const struct import_line *l)
{
	struct fryer *f = l->state;
	size_t number = strtoul(l->v[0], NULL, 10);

	if (number < IMPORT_GPUS) {
		snprintf(f->gpus[number].name, sizeof(f->gpus[0].name), "%s", l->v[1]);
		snprintf(f->gpus[number].uuid, sizeof(f->gpus[0].uuid), "%s", l->v[2]);
	}
	return STATUS_OK;
}

/* "Using precision(s): BF16 FP8": several ran at the same time, and no rate names its precision. */
static enum status take_fryer_precision(const struct import_line *l)
{
	struct fryer *f = l->state;

	snprintf(f->precision, sizeof(f->precision), "%s", l->v[0]);
	if (strpbrk(f->precision, " ,"))
		return import_error(l->import, l->number,
				    "%.40s ran at the same time, and the rates do not name their "
				    "precision; run gpu-fryer with one precision",
				    l->v[0]);
	for (char *p = f->precision; *p; p++)
		*p = (char)tolower((unsigned char)*p);
	return STATUS_OK;
}

static struct case_result *fryer_case(const struct import_line *l)
{
	struct fryer *f = l->state;
	size_t device, number = strtoul(l->v[0], NULL, 10) % IMPORT_GPUS;
	struct case_result *c;

	device = import_listed_gpu(l->import, f->gpus, number);
	c = import_case(l->import, l->number, "burn", &device, 1,
			WORDS("tool", "gpu-fryer", "load",
			      *f->precision ? f->precision : "unknown"));
	if (!c)
		return NULL;
	c = import_named(l->import, c);
	f->last = (size_t)(c - l->import->result->cases);
	f->last_gpu = number;
	f->has_last = true;
	return c;
}

/* "GPU #7: 51494 Gflops/s (min: 50577.53, max: 51677.05, dev: 51493.79)" */
static enum status take_fryer_rate(const struct import_line *l)
{
	struct case_result *c = fryer_case(l);
	double rate;
	char *note;

	if (!c)
		return STATUS_USAGE;
	if (!import_real(l->v[1], &rate) || rate < 0)
		return import_error(l->import, l->number, "expected a rate, not '%.40s'", l->v[1]);
	if (rate == 0) {
		import_failed(c, "gpu-fryer measured 0 Gflops/s");
		return STATUS_OK;
	}
	import_metric(c, "burn.throughput", "FLOP/s", BETTER_HIGHER, rate * 1e9);
	if (c->metrics[0].series[0]) /* a repetition */
		return STATUS_OK;
	note = xasprintf("From %.20s to %.20s Gflops/s.", l->v[2], l->v[3]);
	case_result_note(c, note);
	free(note);
	return STATUS_OK;
}

/* "Throttling HW: false, Thermal SW: true, Thermal HW: false" */
static enum status take_fryer_detail(const struct import_line *l)
{
	struct fryer *f = l->state;
	char *note;

	if (!f->has_last || !strstr(l->v[0], "true") || f->throttled[f->last_gpu])
		return STATUS_OK;
	f->throttled[f->last_gpu] = true;
	note = xasprintf("Throttling HW: %s.", l->v[0]);
	case_result_note(&l->import->result->cases[f->last], note);
	free(note);
	return STATUS_OK;
}

/* "  - GPU 3 - GPU is throttled. ..." */
static enum status take_fryer_problem(const struct import_line *l)
{
	const struct fryer *f = l->state;
	struct case_result *c = f->concluded ? fryer_case(l) : NULL;

	if (c)
		import_failed(c, "gpu-fryer says: %s", l->v[1]);
	return l->import->err->status;
}

static const struct import_rule fryer_lines[] = {
	{ "Detected GPU #%d: \"%t\" (%w)", take_fryer_name },
	{ "Detected GPU #%d: %t (%w)", take_fryer_name },
	{ "Using precision(s): %r", take_fryer_precision },
	{ "GPU #%d: %n Gflops/s (min: %n, max: %n,", take_fryer_rate },
	{ "Throttling HW: %r", take_fryer_detail },
	{ "All GPUs seem healthy", INTO(struct fryer, concluded) },
	{ "Some GPUs are not healthy", INTO(struct fryer, concluded) },
	{ "- GPU %d - %r", take_fryer_problem },
	{ 0 },
};

static enum status fryer_finish(struct import *import, void *state)
{
	if (!((struct fryer *)state)->concluded)
		import_incomplete(import, "gpu-fryer gives no verdict");
	return STATUS_OK;
}

const struct import_format import_gpu_fryer = {
	.name = "gpu-fryer",
	.summary = "gpu-fryer SECONDS > FILE",
	.marks = { "Detected GPU #", "~Gflops/s (min: ", "All GPUs seem healthy",
		   "Some GPUs are not healthy" },
	.silent = "version, single samples, clocks, power, wrong results, time of its start",
	.tool = "gpu-fryer",
	.rules = fryer_lines,
	.state_bytes = sizeof(struct fryer),
	.finish = fryer_finish,
};
