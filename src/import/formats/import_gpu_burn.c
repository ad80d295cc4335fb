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
	struct import_gpu named[IMPORT_GPUS];
	size_t count, first; /* GPUs under load; number of the first, which may be the only one */
	char precision[24];
	bool concluded, aborted;
};

static enum status take_burn_name(const struct import_line *l)
{
	struct burner *b = l->state;
	size_t number = strtoul(l->v[0], NULL, 10);

	if (number < IMPORT_GPUS) {
		snprintf(b->named[number].name, sizeof(b->named[0].name), "%s", l->v[1]);
		snprintf(b->named[number].uuid, sizeof(b->named[0].uuid), "%s", l->v[2]);
	}
	return STATUS_OK;
}

/* "Initialized device 0 with 81079 MB of memory (...), using FLOATS, using Tensor Cores" */
static enum status take_burn_device(const struct import_line *l)
{
	struct burner *b = l->state;

	if (!*b->precision)
		b->first = strtoul(l->v[0], NULL, 10);
	snprintf(b->precision, sizeof(b->precision), "%s%s",
		 strstr(l->v[1], "DOUBLES") ? "fp64" : "fp32",
		 strstr(l->v[1], "Tensor") ? "_tensor" : "");
	return STATUS_OK;
}

/* The next number of "a - b - c", skipping words such as "(7150 Gflop/s)"; NULL at the end. */
static char *gpu_burn_next_number(char *at, double *value)
{
	char *end;

	at += strspn(at, " -");
	*value = strtod(at, &end);
	return end == at ? NULL : end;
}

static char *gpu_burn_after_group(char *at)
{
	while (*at && *at != '-')
		at += *at == '(' ? strcspn(at, ")") + (strchr(at, ')') != NULL) : 1;
	return at;
}

/* "2261 (7150 Gflop/s) - 0 (0 Gflop/s)": a rate is a sample only if new work was done. */
static void gpu_burn_read_rates(struct burner *b, char *at)
{
	double done, rate;

	for (size_t i = 0; i < IMPORT_GPUS && (at = gpu_burn_next_number(at, &done)); i++) {
		struct burned *g = &b->gpus[i];

		if (done < 0)
			g->died = true;
		if (done > g->done && sscanf(at, " (%lf", &rate) == 1 && rate > 0) {
			ARRAY_GROW(g->rates, g->count, g->capacity);
			g->rates[g->count++] = rate * 1e9;
		}
		g->done = done > 0 ? done : g->done;
		b->count = i >= b->count ? i + 1 : b->count;
		at = gpu_burn_after_group(at);
	}
}

static enum status take_burn_progress(const struct import_line *l)
{
	struct burner *b = l->state;
	char *at = l->v[2];
	double value;

	gpu_burn_read_rates(b, l->v[1]);
	for (size_t i = 0; i < b->count && (at = gpu_burn_next_number(at, &value)); i++) {
		struct burned *g = &b->gpus[i];

		if (value < g->errors_before) /* the count restarts after each summary */
			g->errors_before = 0;
		g->errors += value - g->errors_before;
		g->errors_before = value;
		at = gpu_burn_after_group(at);
	}
	at = l->v[3];
	for (size_t i = 0; i < b->count && (at = gpu_burn_next_number(at, &value)); i++) {
		b->gpus[i].hottest = value > b->gpus[i].hottest && value < 1000
					     ? (int)value
					     : b->gpus[i].hottest;
		at = gpu_burn_after_group(at);
	}
	return STATUS_OK;
}

static enum status take_burn_verdict(const struct import_line *l)
{
	struct burner *b = l->state;
	size_t number = strtoul(l->v[0], NULL, 10);

	if (!b->concluded || number >= IMPORT_GPUS)
		return STATUS_OK;
	b->gpus[number].summarised = true;
	b->gpus[number].faulty = strcmp(l->v[1], "OK") != 0;
	b->count = number >= b->count ? number + 1 : b->count;
	return STATUS_OK;
}

static enum status add_burned(struct import *import, struct burner *b, size_t i)
{
	const struct burned *g = &b->gpus[i];
	size_t device = import_listed_gpu(import, b->named, i + b->first);
	struct case_result *c = import_case(import, 1, "burn", &device, 1,
					    WORDS("tool", "gpu-burn", "load",
						  *b->precision ? b->precision : "fp32"));

	if (!c)
		return STATUS_USAGE;
	c = import_named(import, c);
	for (size_t k = 0; k < g->count; k++)
		import_metric(c, "burn.throughput", "FLOP/s", BETTER_HIGHER, g->rates[k]);
	if (g->hottest) {
		char note[48];

		snprintf(note, sizeof(note), "At most %d °C.", g->hottest);
		case_result_note(c, note);
	}
	if (g->faulty || g->errors > 0)
		import_failed(c, "gpu-burn found %.0f errors%s", g->errors,
			      g->faulty ? ": FAULTY" : "");
	if (g->died || b->aborted)
		import_broken(c, "the process of this GPU died");
	else if (!g->count)
		import_broken(c, "gpu-burn reports no work for this GPU");
	if (!g->summarised)
		import_incomplete(import, "GPU %zu has no verdict", i);
	return STATUS_OK;
}

static const struct import_rule burn_lines[] = {
	{ "GPU %d: %t (UUID: %w)", take_burn_name },
	{ "GPU %d: %w", take_burn_verdict },
	{ "Initialized device %d with * using %r", take_burn_device },
	{ "%n%% proc'd: %t errors: %t temps: %r", take_burn_progress },
	{ "Tested %d GPU", INTO(struct burner, concluded) },
	{ "No clients are alive", INTO(struct burner, aborted) },
	{ 0 },
};

static enum status burn_finish(struct import *import, void *state)
{
	struct burner *b = state;
	enum status status = STATUS_OK;

	if (b->first + b->count > IMPORT_GPUS)
		b->first = 0;
	for (size_t i = 0; status == STATUS_OK && i < b->count; i++)
		status = add_burned(import, b, i);
	return status;
}

static void burn_release(void *state)
{
	for (size_t i = 0; i < IMPORT_GPUS; i++)
		free(((struct burner *)state)->gpus[i].rates);
}

const struct import_format import_gpu_burn = {
	.name = "gpu-burn",
	.summary = "gpu_burn SECONDS > FILE",
	.marks = { "Burning for ", "~proc'd: ", "Using compare file: " },
	.silent = "version, clocks, power, size of its matrices, time of its start",
	.tool = "gpu-burn",
	.rules = burn_lines,
	.state_bytes = sizeof(struct burner),
	.finish = burn_finish,
	.release = burn_release,
};
