/* Parses a file into struct gpu. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/units.h"
#include "plan/ini/ini.h"
#include "plan/limits/spec_keys.h"
#include "reference/gpu.h"

struct sheet_key {
	const char *name;
	const char *unit; /* SI base unit; "1": a count; NULL: a word */
};

/*
 * Data-sheet keys that limits cannot refer to; plan/limits/spec_keys.h has the others.
 *
 * Adding one: add a row here.
 */
static const struct sheet_key keys[] = {
	{ "year", "1" },            /* year of the first delivery */
	{ "dies", "1" },            /* devices on one board */
	{ "multiprocessors", "1" }, /* streaming multiprocessors */
	{ "fp32_cores", "1" },      /* FP32 units of one multiprocessor */
	{ "base_clock", "Hz" },
	{ "boost_clock", "Hz" },   /* rated; a card may reach more */
	{ "query_clock", "Hz" },   /* as deviceQuery prints it */
	{ "tensor_clock", "Hz" },  /* clock of the tensor-core rates */
	{ "memory_clock", "Hz" },  /* two transfers per clock */
	{ "memory_bus", "1" },     /* bits */
	{ "memory_visible", "B" }, /* with ECC on */
	{ "l2", "B" },             /* second-level cache */
	{ "pcie_generation", "1" },
	{ "pcie_lanes", "1" },
	{ "nvlink_generation", "1" },
	{ "nvlink_links", "1" },
	{ "nvlink_link_bandwidth", "B/s" },     /* one link, one direction */
	{ "memory_bandwidth_marketed", "B/s" }, /* as advertised */
	{ "fp32_base", "FLOP/s" },              /* at the base clock */
	{ "fp64_base", "FLOP/s" },              /* at the base clock */
	{ "fp32_rounded", "FLOP/s" },           /* as advertised */
	{ "fp16_tensor_rounded", "FLOP/s" },    /* as advertised */
	{ "fp16_tensor_boost", "FLOP/s" },      /* at the rated boost clock */
	{ "int8", "ops/s" },                    /* INT8 without tensor cores */
	{ "power_board", "W" },                 /* all dies of a board */
	{ "power_die", "W" },                   /* limit of one die */
	{ "architecture", NULL },
	{ "chip", NULL },
	{ "capability", NULL }, /* compute capability */
	{ "memory_type", NULL },
	{ "memory_sizes", NULL },  /* if the model has several sizes */
	{ "memory_clocks", NULL }, /* one per memory size */
	{ "tensor_cores", NULL },
	{ "fp16_arithmetic", NULL },
	{ "fp64_ratio", NULL }, /* ratio to the FP32 rate */
	{ "fp16_ratio", NULL }, /* ratio to the FP32 rate, without tensor cores */
	{ "int8_dot", NULL },   /* dp4a */
	{ "ecc", NULL },
	{ "p2p", NULL },
	{ "pcie_shared", NULL },
	{ "board_switch", NULL },
	{ "memory_pools", NULL },
	{ "last_toolkit", NULL }, /* newest CUDA toolkit that supports the chip */
	{ "last_driver", NULL },
	{ "variant", NULL },
	{ "note", NULL },
	{ 0 },
};

/* Parses "4800 GB/s", "16GiB" or "132" in the unit of its key. */
static enum status gpu_read_sheet_parse(const char *text, const char *unit, double *value,
					struct error *err)
{
	uint64_t bytes = 0;
	enum status status;

	if (strcmp(unit, "1") == 0)
		return units_parse_real(text, value, err);
	if (strcmp(unit, "B") != 0)
		return units_parse_quantity(text, unit, value, err);
	status = units_parse_size(text, &bytes, err);
	*value = (double)bytes;
	return status;
}

#define PUBLISHED "published "

static const char *const statuses[] = { "read", "derived", "to-verify" };

const char *gpu_read_sheet_status_name(enum sheet_status status)
{
	return statuses[status];
}

enum section { SECTION_NONE, SECTION_GPU, SECTION_SHEET, SECTION_PUBLISHED };

struct gpu_reading {
	struct gpu *gpu;
	struct error *err;
	enum section section;
	enum sheet_status status;
	size_t header; /* line of the section header */
};

static void gpu_read_fail(struct gpu_reading *r, size_t line, const char *format, const char *what)
{
	struct text message = TEXT_EMPTY;

	text_addf(&message, format, what);
	error_set(r->err, STATUS_USAGE, "%s:%zu: %s", r->gpu->file->name, line, message.data);
	text_release(&message);
}

static void gpu_read_begin_published(struct gpu_reading *r, size_t line, const char *name)
{
	struct gpu *gpu = r->gpu;

	for (size_t i = 0; i < gpu->published_count; i++)
		if (strcmp(gpu->published[i].name, name) == 0)
			gpu_read_fail(r, line, "[published %s] is repeated", name);
	ARRAY_GROW(gpu->published, gpu->published_count, gpu->published_capacity);
	gpu->published[gpu->published_count++] = (struct published){ .name = xstrdup(name),
								     .value = NAN,
								     .low = NAN,
								     .high = NAN,
								     .devices = 1,
								     .workload = xstrdup(""),
								     .conditions = xstrdup(""),
								     .above_peak = xstrdup(""),
								     .source = xstrdup("") };
}

/* Checks that the section that ends here is complete. */
static void gpu_read_check_published(struct gpu_reading *r)
{
	const struct published *p;

	if (r->section != SECTION_PUBLISHED)
		return;
	p = &r->gpu->published[r->gpu->published_count - 1];
	if (!p->quantity)
		gpu_read_fail(r, r->header, "[published %s] has no quantity", p->name);
	if (!isfinite(p->value))
		gpu_read_fail(r, r->header, "[published %s] has no value", p->name);
	if (!*p->source)
		gpu_read_fail(r, r->header, "[published %s] has no source", p->name);
}

static void gpu_read_on_section(void *context, size_t line, const char *name)
{
	struct gpu_reading *r = context;

	gpu_read_check_published(r);
	r->section = SECTION_NONE;
	r->header = line;
	if (strcmp(name, "gpu") == 0)
		r->section = SECTION_GPU;
	for (size_t i = 0; i < ARRAY_SIZE(statuses); i++) {
		if (strcmp(name, statuses[i]) == 0) {
			r->section = SECTION_SHEET;
			r->status = (enum sheet_status)i;
		}
	}
	if (text_starts_with(name, PUBLISHED)) {
		r->section = SECTION_PUBLISHED;
		gpu_read_begin_published(r, line, name + strlen(PUBLISHED));
	}
	if (r->section == SECTION_NONE)
		gpu_read_fail(r, line, "unknown section [%.60s]", name);
}

static void gpu_read_set_text(char **member, const char *value)
{
	free(*member);
	*member = xstrdup(value);
}

static void gpu_read_on_gpu(struct gpu_reading *r, size_t line, const char *key, const char *value)
{
	const struct {
		const char *key;
		char **member;
	} members[] = { { "name", &r->gpu->name },
			{ "label", &r->gpu->label },
			{ "match", &r->gpu->match },
			{ "source", &r->gpu->source } };

	for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
		if (strcmp(members[i].key, key) == 0) {
			gpu_read_set_text(members[i].member, value);
			return;
		}
	}
	gpu_read_fail(r, line, "unknown key '%.60s' in [gpu]", key);
}

static void gpu_read_on_sheet(struct gpu_reading *r, size_t line, const char *name,
			      const char *text)
{
	const struct spec_key *figure = spec_key_find(name);
	struct sheet_key key = { 0 };
	struct gpu *gpu = r->gpu;
	double value = NAN;

	if (figure)
		key = (struct sheet_key){ figure->name, figure->unit };
	for (size_t i = 0; !key.name && keys[i].name; i++)
		if (strcmp(keys[i].name, name) == 0)
			key = keys[i];
	if (!key.name) {
		gpu_read_fail(r, line, "unknown key '%.60s'", name);
		return;
	}
	if (gpu_entry(gpu, name)) {
		gpu_read_fail(r, line, "'%.60s' is repeated", name);
		return;
	}
	if (key.unit && gpu_read_sheet_parse(text, key.unit, &value, r->err) != STATUS_OK) {
		error_prefix(r->err, "%s:%zu: %s", gpu->file->name, line, name);
		return;
	}
	ARRAY_GROW(gpu->entries, gpu->entry_count, gpu->entry_capacity);
	gpu->entries[gpu->entry_count++] = (struct sheet_entry){ .key = xstrdup(name),
								 .unit = key.unit,
								 .value = value,
								 .text = xstrdup(text),
								 .status = r->status };
}

/* Parses "12.1 TFLOP/s" or "499 GB/s .. 503 GB/s"; the quantity must be set before. */
static void gpu_read_parse_value(struct gpu_reading *r, size_t line, struct published *p,
				 const char *text)
{
	const char *dots = strstr(text, " .. ");
	char *first = dots ? xstrndup(text, (size_t)(dots - text)) : xstrdup(text);

	if (!p->quantity) {
		gpu_read_fail(r, line, "quantity must come before value in [published %s]",
			      p->name);
	} else if (units_parse_quantity(first, p->quantity->unit, &p->value, r->err) != STATUS_OK ||
		   (dots && units_parse_quantity(dots + strlen(" .. "), p->quantity->unit, &p->high,
						 r->err) != STATUS_OK)) {
		error_prefix(r->err, "%s:%zu: value", r->gpu->file->name, line);
	} else if (dots) {
		p->low = p->value;
		p->value = (p->low + p->high) / 2;
	}
	free(first);
}

static void gpu_read_on_published(struct gpu_reading *r, size_t line, const char *key,
				  const char *value)
{
	struct published *p = &r->gpu->published[r->gpu->published_count - 1];

	if (strcmp(key, "quantity") == 0) {
		p->quantity = quantity_find(value);
		if (!p->quantity)
			gpu_read_fail(r, line, "unknown quantity '%.60s'", value);
	} else if (strcmp(key, "value") == 0) {
		gpu_read_parse_value(r, line, p, value);
	} else if (strcmp(key, "devices") == 0) {
		int64_t devices = 0;

		if (units_parse_integer(value, &devices, r->err) != STATUS_OK)
			error_prefix(r->err, "%s:%zu: devices", r->gpu->file->name, line);
		else if (devices < 1 || devices > 100000)
			gpu_read_fail(r, line, "devices = %s is not a number from 1 to 100000",
				      value);
		else
			p->devices = (int)devices;
	} else {
		char **text = strcmp(key, "workload") == 0     ? &p->workload
			      : strcmp(key, "conditions") == 0 ? &p->conditions
			      : strcmp(key, "source") == 0     ? &p->source
			      : strcmp(key, "above_peak") == 0 ? &p->above_peak
							       : NULL;

		if (text)
			gpu_read_set_text(text, value);
		else
			gpu_read_fail(r, line, "unknown key '%.60s' in [published]", key);
	}
}

static void gpu_read_on_entry(void *context, size_t line, const char *key, const char *value)
{
	struct gpu_reading *r = context;

	if (r->section == SECTION_GPU)
		gpu_read_on_gpu(r, line, key, value);
	else if (r->section == SECTION_SHEET)
		gpu_read_on_sheet(r, line, key, value);
	else if (r->section == SECTION_PUBLISHED)
		gpu_read_on_published(r, line, key, value);
}

static void gpu_read_on_problem(void *context, size_t line, const char *message)
{
	gpu_read_fail(context, line, "%s", message);
}

enum status gpu_read(struct gpu *gpu, const struct embedded_file *file, struct error *err)
{
	struct gpu_reading r = { .gpu = gpu, .err = err };
	const struct ini_sink sink = { .context = &r,
				       .section = gpu_read_on_section,
				       .entry = gpu_read_on_entry,
				       .problem = gpu_read_on_problem };

	/* "v100-pcie" from "v100-pcie.ini" */
	*gpu = (struct gpu){ .id = xstrndup(file->name, strcspn(file->name, ".")),
			     .file = file,
			     .name = xstrdup(""),
			     .label = xstrdup(""),
			     .match = xstrdup(""),
			     .source = xstrdup("") };
	ini_read((const char *)file->data, file->size, &sink);
	gpu_read_check_published(&r);
	if (!*gpu->name || !*gpu->label || !*gpu->match)
		gpu_read_fail(&r, 1, "[gpu] needs name, label and %s", "match");
	if (err->status != STATUS_OK)
		gpu_read_release(gpu);
	return err->status;
}

void gpu_read_release(struct gpu *gpu)
{
	for (size_t i = 0; i < gpu->entry_count; i++) {
		free(gpu->entries[i].key);
		free(gpu->entries[i].text);
	}
	for (size_t i = 0; i < gpu->published_count; i++) {
		struct published *p = &gpu->published[i];

		free(p->name);
		free(p->workload);
		free(p->conditions);
		free(p->above_peak);
		free(p->source);
	}
	free(gpu->entries);
	free(gpu->published);
	free(gpu->id);
	free(gpu->name);
	free(gpu->label);
	free(gpu->match);
	free(gpu->source);
	*gpu = (struct gpu){ 0 };
}
