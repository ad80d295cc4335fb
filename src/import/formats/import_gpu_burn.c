/*
 * gpu-burn: a line of progress with the rate, the errors and the temperature of every GPU, and
 * "GPU 0: OK" or "FAULTY" in the end. Its exit code is 0 whatever it found.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "import/reading.h"

#define MOST_GPUS 256

struct burner {
	struct burned {
		char name[128], uuid[64];
		double *rates; /* FLOP/s, each of new work */
		size_t count, capacity;
		double done, errors, errors_before; /* since the last summary */
		int hottest;
		bool died, faulty, summarised;
	} gpus[MOST_GPUS];
	size_t count, first; /* GPUs that burn; number of the first, which may be the only one */
	char precision[24];
	bool concluded, aborted;
};

static enum status take_burn_name(struct import *import, void *state, size_t line, char **v)
{
	struct burner *b = state;
	size_t number = strtoul(v[0], NULL, 10);

	(void)import;
	(void)line;
	if (number < MOST_GPUS) {
		snprintf(b->gpus[number].name, sizeof(b->gpus[0].name), "%s", v[1]);
		snprintf(b->gpus[number].uuid, sizeof(b->gpus[0].uuid), "%s", v[2]);
	}
	return STATUS_OK;
}

/* "Initialized device 0 with 81079 MB of memory (...), using FLOATS, using Tensor Cores" */
static enum status take_burn_device(struct import *import, void *state, size_t line, char **v)
{
	struct burner *b = state;

	(void)import;
	(void)line;
	if (!*b->precision)
		b->first = strtoul(v[0], NULL, 10);
	snprintf(b->precision, sizeof(b->precision), "%s%s",
		 strstr(v[1], "DOUBLES") ? "fp64" : "fp32",
		 strstr(v[1], "Tensor") ? "_tensor" : "");
	return STATUS_OK;
}

/* The next number of "a - b - c", after words such as "(7150 Gflop/s)"; NULL: there is no more. */
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

/* "2261 (7150 Gflop/s) - 0 (0 Gflop/s)": a rate is a sample when work was done since the last. */
static void gpu_burn_read_rates(struct burner *b, char *at)
{
	double done, rate;

	for (size_t i = 0; i < MOST_GPUS && (at = gpu_burn_next_number(at, &done)); i++) {
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

static enum status take_burn_progress(struct import *import, void *state, size_t line, char **v)
{
	struct burner *b = state;
	char *at = v[2];
	double value;

	(void)import;
	(void)line;
	gpu_burn_read_rates(b, v[1]);
	for (size_t i = 0; i < b->count && (at = gpu_burn_next_number(at, &value)); i++) {
		struct burned *g = &b->gpus[i];

		if (value < g->errors_before) /* counted anew after each summary */
			g->errors_before = 0;
		g->errors += value - g->errors_before;
		g->errors_before = value;
		at = gpu_burn_after_group(at);
	}
	at = v[3];
	for (size_t i = 0; i < b->count && (at = gpu_burn_next_number(at, &value)); i++) {
		b->gpus[i].hottest = value > b->gpus[i].hottest && value < 1000
					     ? (int)value
					     : b->gpus[i].hottest;
		at = gpu_burn_after_group(at);
	}
	return STATUS_OK;
}

static enum status take_burn_end(struct import *import, void *state, size_t line, char **v)
{
	(void)import;
	(void)line;
	(void)v;
	((struct burner *)state)->concluded = true;
	return STATUS_OK;
}

static enum status take_burn_abort(struct import *import, void *state, size_t line, char **v)
{
	(void)import;
	(void)line;
	(void)v;
	((struct burner *)state)->aborted = true;
	return STATUS_OK;
}

static enum status take_burn_verdict(struct import *import, void *state, size_t line, char **v)
{
	struct burner *b = state;
	size_t number = strtoul(v[0], NULL, 10);

	(void)import;
	(void)line;
	if (!b->concluded || number >= MOST_GPUS)
		return STATUS_OK;
	b->gpus[number].summarised = true;
	b->gpus[number].faulty = strcmp(v[1], "OK") != 0;
	b->count = number >= b->count ? number + 1 : b->count;
	return STATUS_OK;
}

static enum status add_burned(struct import *import, struct burner *b, size_t i)
{
	const struct burned *g = &b->gpus[i], *named = &b->gpus[i + b->first];
	const struct import_device d = { .backend = import_backend(named->name),
					 .number = (int)(i + b->first),
					 .name = named->name,
					 .uuid = named->uuid };
	size_t device = import_device(import, &d);
	struct case_result *c = import_case(import, 1, "burn", &device, 1);

	if (!c)
		return STATUS_USAGE;
	import_word(c, "tool", "gpu-burn");
	import_word(c, "load", *b->precision ? b->precision : "fp32");
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
		import_broken(c, "gpu-burn reports no work of this GPU");
	if (!g->summarised)
		import_incomplete(import, "GPU %zu has no verdict", i);
	return STATUS_OK;
}

static const struct import_rule burn_lines[] = {
	{ "GPU %d: %t (UUID: %w)", take_burn_name },
	{ "GPU %d: %w", take_burn_verdict },
	{ "Initialized device %d with * using %r", take_burn_device },
	{ "%n%% proc'd: %t errors: %t temps: %r", take_burn_progress },
	{ "Tested %d GPU", take_burn_end },
	{ "No clients are alive", take_burn_abort },
	{ NULL, NULL },
};

static enum status gpu_burn_read(struct import *import)
{
	struct burner *b = xcalloc(1, sizeof(*b));
	enum status status = import_lines(import, burn_lines, b);

	import_tool(import, "gpu-burn");
	if (b->first + b->count > MOST_GPUS)
		b->first = 0;
	for (size_t i = 0; status == STATUS_OK && i < b->count; i++)
		status = add_burned(import, b, i);
	for (size_t i = 0; i < MOST_GPUS; i++)
		free(b->gpus[i].rates);
	free(b);
	return status;
}

const struct import_format import_gpu_burn = {
	.name = "gpu-burn",
	.summary = "gpu_burn SECONDS > FILE",
	.marks = { "Burning for ", "~proc'd: ", "Using compare file: " },
	.silent = "version, clocks, power, size of its matrices, time of its start",
	.read = gpu_burn_read,
};
