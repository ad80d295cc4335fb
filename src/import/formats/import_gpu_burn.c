/*
 * gpu-burn: progress lines with rate, errors and temperature of every GPU, and at the end "GPU 0:
 * OK" or "FAULTY". Its exit code is always 0.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "import/reading.h"

struct burner {
	struct burned {
		double *rates; /* FLOP/s, one per interval with new work */
		size_t count, capacity;
		double done, errors, errors_before; /* since the last summary */
		int hottest;
		bool died, faulty, summarised;
	} gpus[IMPORT_GPUS];
	size_t count, first; /* GPUs under load; number of the first, which may be the only one */
	char precision[24];
	bool concluded, aborted;
};

/* "Initialized device 0 with 81079 MB of memory (...), using FLOATS, using Tensor Cores" */
static void gpu_burn_take_device(struct import *import)
{
	struct burner *b = import->state;

	if (!*b->precision)
		b->first = strtoul(import->v[0], NULL, 10);
	snprintf(b->precision, sizeof(b->precision), "%s%s",
		 strstr(import->v[1], "DOUBLES") ? "fp64" : "fp32",
		 strstr(import->v[1], "Tensor") ? "_tensor" : "");
}

/*
 * Reads the next number of "a - b (7150 Gflop/s) - c" and the rate in brackets after it, 0 if there
 * is none, and moves *at to the next one. False at the end.
 */
static bool gpu_burn_next_number(char **at, double *value, double *rate)
{
	char *p = *at + strspn(*at, " -"), *end;

	*value = strtod(p, &end);
	if (end == p)
		return false;
	if (sscanf(end, " (%lf", rate) != 1)
		*rate = 0;
	while (*end && *end != '-')
		end += *end == '(' ? strcspn(end, ")") + (strchr(end, ')') != NULL) : 1;
	*at = end;
	return true;
}

/* "40%  proc'd: 2261 (7150 Gflop/s) - 0 (0 Gflop/s)   errors: 0 - 0   temps: 45 C - 44 C" */
static void gpu_burn_take_progress(struct import *import)
{
	struct burner *b = import->state;
	char *at = import->v[1];
	double value, rate;

	for (size_t i = 0; i < IMPORT_GPUS && gpu_burn_next_number(&at, &value, &rate); i++) {
		struct burned *g = &b->gpus[i];

		g->died |= value < 0;
		if (value > g->done && rate > 0) { /* new work was done */
			ARRAY_GROW(g->rates, g->count, g->capacity);
			g->rates[g->count++] = rate * 1e9;
		}
		g->done = value > 0 ? value : g->done;
		b->count = i >= b->count ? i + 1 : b->count;
	}
	at = import->v[2];
	for (size_t i = 0; i < b->count && gpu_burn_next_number(&at, &value, &rate); i++) {
		struct burned *g = &b->gpus[i];

		if (value < g->errors_before) /* the count restarts after each summary */
			g->errors_before = 0;
		g->errors += value - g->errors_before;
		g->errors_before = value;
	}
	at = import->v[3];
	for (size_t i = 0; i < b->count && gpu_burn_next_number(&at, &value, &rate); i++)
		if (value > b->gpus[i].hottest && value < 1000)
			b->gpus[i].hottest = (int)value;
}

static void gpu_burn_take_verdict(struct import *import)
{
	struct burner *b = import->state;
	size_t number = strtoul(import->v[0], NULL, 10);

	if (!b->concluded || number >= IMPORT_GPUS)
		return;
	b->gpus[number].summarised = true;
	b->gpus[number].faulty = strcmp(import->v[1], "OK") != 0;
	b->count = number >= b->count ? number + 1 : b->count;
}

static void gpu_burn_add(struct import *import, const struct burner *b, size_t i)
{
	const struct burned *g = &b->gpus[i];
	size_t device = building_gpu(import, i + b->first);
	struct case_result *c =
		building_case(import, "burn", &device, 1,
			      PARAMETERS(WORD("tool", "gpu-burn"),
					 WORD("load", *b->precision ? b->precision : "fp32")));

	for (size_t k = 0; k < g->count; k++)
		building_metric(c, "burn.throughput", "FLOP/s", g->rates[k]);
	if (g->hottest)
		building_note(c, "Maximum temperature: %d °C.", g->hottest);
	if (g->faulty || g->errors > 0)
		import_failed(c, "gpu-burn found %.0f errors%s", g->errors,
			      g->faulty ? ": FAULTY" : "");
	if (g->died || b->aborted)
		import_broken(c, "the gpu-burn process of this GPU died");
	else if (!g->count)
		import_broken(c, "gpu-burn reports no work for this GPU");
	if (!g->summarised)
		building_incomplete(import, "gpu-burn printed no verdict for GPU %zu", i);
}

static const struct import_rule burn_lines[] = {
	{ "GPU %d: %t (UUID: %w)", lines_take_gpu },
	{ "GPU %d: %w", gpu_burn_take_verdict },
	{ "Initialized device %d with * using %r", gpu_burn_take_device },
	{ "%n%% proc'd: %t errors: %t temps: %r", gpu_burn_take_progress },
	{ "Tested %d GPU", INTO(struct burner, concluded) },
	{ "No clients are alive", INTO(struct burner, aborted) },
	{ 0 },
};

static void gpu_burn_finish(struct import *import)
{
	struct burner *b = import->state;

	if (b->first + b->count > IMPORT_GPUS)
		b->first = 0;
	for (size_t i = 0; i < b->count; i++)
		gpu_burn_add(import, b, i);
}

static void gpu_burn_release(void *state)
{
	for (size_t i = 0; i < IMPORT_GPUS; i++)
		free(((struct burner *)state)->gpus[i].rates);
}

const struct import_format import_gpu_burn = {
	.name = "gpu-burn",
	.summary = "gpu_burn SECONDS > FILE",
	.marks = { "Burning for ", "~proc'd: ", "Using compare file: " },
	.silent = "version, clocks, power, matrix size, start time",
	.tool = "gpu-burn",
	.rules = burn_lines,
	.state_bytes = sizeof(struct burner),
	.finish = gpu_burn_finish,
	.release = gpu_burn_release,
};
