/* gpu-fryer: rate, temperature and throttling of every GPU, and which GPUs are unhealthy. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "import/reading.h"

struct fryer {
	bool throttled[IMPORT_GPUS]; /* a note reports it */
	char precision[32];
	size_t last, last_gpu; /* case and number of the GPU that the following lines describe */
	bool has_last, concluded;
};

/* "Using precision(s): BF16 FP8": several ran at the same time, and no rate names its precision. */
static void gpu_fryer_take_precision(struct import *import)
{
	struct fryer *f = import->state;

	snprintf(f->precision, sizeof(f->precision), "%s", import->v[0]);
	if (strpbrk(f->precision, " ,"))
		building_error(import,
			       "gpu-fryer ran several precisions (%.40s) and does not print the "
			       "precision of each rate; run it with one precision",
			       import->v[0]);
	for (char *p = f->precision; *p; p++)
		*p = (char)tolower((unsigned char)*p);
}

static struct case_result *gpu_fryer_case(struct import *import)
{
	struct fryer *f = import->state;
	size_t number = strtoul(import->v[0], NULL, 10) % IMPORT_GPUS;
	size_t device = building_gpu(import, number);
	struct case_result *c =
		building_case(import, "burn", &device, 1,
			      PARAMETERS(WORD("tool", "gpu-fryer"),
					 WORD("load", *f->precision ? f->precision : "unknown")));

	f->last = (size_t)(c - import->result->cases);
	f->last_gpu = number;
	f->has_last = true;
	return c;
}

/* "GPU #7: 51494 Gflops/s (min: 50577.53, max: 51677.05, dev: 51493.79)" */
static void gpu_fryer_take_rate(struct import *import)
{
	struct case_result *c = gpu_fryer_case(import);
	char **v = import->v;
	double rate;

	if (!lines_real(v[1], &rate) || rate < 0) {
		building_error(import, "expected a rate, not '%.40s'", v[1]);
	} else if (rate == 0) {
		import_failed(c, "gpu-fryer measured 0 Gflops/s");
	} else {
		building_metric(c, "burn.throughput", "FLOP/s", rate * 1e9);
		if (!c->metrics[0].series[0]) /* not a repetition */
			building_note(c, "Range: %.20s to %.20s Gflops/s.", v[2], v[3]);
	}
}

/* "Throttling HW: false, Thermal SW: true, Thermal HW: false" */
static void gpu_fryer_take_detail(struct import *import)
{
	struct fryer *f = import->state;

	if (!f->has_last || !strstr(import->v[0], "true") || f->throttled[f->last_gpu])
		return;
	f->throttled[f->last_gpu] = true;
	building_note(&import->result->cases[f->last], "Throttling HW: %s.", import->v[0]);
}

/* "  - GPU 3 - GPU is throttled. ..." */
static void gpu_fryer_take_problem(struct import *import)
{
	if (((struct fryer *)import->state)->concluded)
		import_failed(gpu_fryer_case(import), "gpu-fryer reports: %s", import->v[1]);
}

static const struct import_rule fryer_lines[] = {
	{ "Detected GPU #%d: \"%t\" (%w)", lines_take_gpu },
	{ "Detected GPU #%d: %t (%w)", lines_take_gpu },
	{ "Using precision(s): %r", gpu_fryer_take_precision },
	{ "GPU #%d: %n Gflops/s (min: %n, max: %n,", gpu_fryer_take_rate },
	{ "Throttling HW: %r", gpu_fryer_take_detail },
	{ "All GPUs seem healthy", INTO(struct fryer, concluded) },
	{ "Some GPUs are not healthy", INTO(struct fryer, concluded) },
	{ "- GPU %d - %r", gpu_fryer_take_problem },
	{ 0 },
};

static void gpu_fryer_finish(struct import *import)
{
	if (!((struct fryer *)import->state)->concluded)
		building_incomplete(import, "gpu-fryer printed no verdict");
}

const struct import_format import_gpu_fryer = {
	.name = "gpu-fryer",
	.summary = "gpu-fryer SECONDS > FILE",
	.marks = { "Detected GPU #", "~Gflops/s (min: ", "All GPUs seem healthy",
		   "Some GPUs are not healthy" },
	.silent = "version, single samples, clocks, power, wrong results, start time",
	.tool = "gpu-fryer",
	.rules = fryer_lines,
	.state_bytes = sizeof(struct fryer),
	.finish = gpu_fryer_finish,
};
