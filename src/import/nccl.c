#include "import/nccl.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

static const struct {
	const char *theirs, *ours;
} collectives[] = {
	{ "all_reduce", "all_reduce" },
	{ "all_gather", "all_gather" },
	{ "reduce_scatter", "reduce_scatter" },
	{ "broadcast", "broadcast" },
	{ "reduce", "reduce" },
	{ "sendrecv", "send_recv" },
	{ "alltoall", "all_to_all" },
};

static const struct {
	const char *theirs, *ours;
} types[] = {
	{ "float", "fp32" },
	{ "half", "fp16" },
	{ "double", "fp64" },
	{ "bfloat16", "bf16" },
};

const char *nccl_collective(const char *program)
{
	const char *base = strrchr(program, '/');
	size_t length;

	base = base ? base + 1 : program;
	length = strcspn(base, " \t");
	if (length > 5 && strncmp(base + length - 5, "_perf", 5) == 0)
		length -= 5;
	for (size_t i = 0; i < ARRAY_SIZE(collectives); i++)
		if ((strlen(collectives[i].theirs) == length &&
		     strncmp(collectives[i].theirs, base, length) == 0) ||
		    strcmp(collectives[i].ours, base) == 0)
			return collectives[i].ours;
	return NULL;
}

/* As in suites/collective.c: what means nothing to an operation is no parameter of it. */
static bool reduces(const char *collective)
{
	return strstr(collective, "reduce") != NULL;
}

static bool has_placement(const char *collective)
{
	static const char *const without[] = { "broadcast", "send_recv", "all_to_all" };

	for (size_t i = 0; i < ARRAY_SIZE(without); i++)
		if (strcmp(without[i], collective) == 0)
			return false;
	return true;
}

/* The other place of such an operation is the same case again. */
static bool is_second(const struct nccl_row *row)
{
	return row->in_place && !has_placement(row->collective);
}

static const char *type_name(const char *theirs)
{
	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		if (strcmp(types[i].theirs, theirs) == 0)
			return types[i].ours;
	return theirs;
}

static double above_zero(double value)
{
	return value > 0 ? value : (double)NAN;
}

bool nccl_add(struct import *import, const struct nccl_row *row)
{
	const char **devices;
	struct case_result *c;
	char text[32];

	if (is_second(row))
		return true;
	devices = xcalloc(row->ranks, sizeof(*devices));
	for (size_t i = 0; i < row->ranks; i++)
		devices[i] = import->result->devices[i].id;
	c = import_case(import, "collective", devices, row->ranks);
	free(devices);
	snprintf(text, sizeof(text), "%zu", row->ranks);
	import_number(c, "devices", (double)row->ranks, text);
	import_word(c, "operation", row->collective);
	if (reduces(row->collective))
		import_word(c, "precision", type_name(row->type));
	if (has_placement(row->collective))
		import_word(c, "placement", row->in_place ? "in_place" : "out_of_place");
	import_bytes(c, "size", row->bytes);
	if (row->busbw_gbs == 0 || row->algbw_gbs == 0)
		import_left_out(import, "bandwidths of 0");
	import_metric(c, "collective.busbw", "B/s", BETTER_HIGHER,
		      above_zero(row->busbw_gbs * 1e9));
	import_metric(c, "collective.algbw", "B/s", BETTER_HIGHER,
		      above_zero(row->algbw_gbs * 1e9));
	import_metric(c, "collective.time", "s", BETTER_LOWER, row->time_us * 1e-6);
	import_named(c);
	if (import_earlier(import, c))
		return false;
	if (row->wrong > 0) {
		snprintf(text, sizeof(text), "%.0f wrong elements", row->wrong);
		import_failed(c, text);
	}
	return true;
}
