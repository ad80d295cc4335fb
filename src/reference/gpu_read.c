/* From the text of a file to struct gpu. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "base/units.h"
#include "plan/ini/ini.h"
#include "reference/gpu.h"
#include "reference/sheet.h"

#define PUBLISHED "published "

static const char *const statuses[] = { "read", "derived", "to-verify" };

const char *sheet_status_name(enum sheet_status status)
{
	return statuses[status];
}

enum section { SECTION_NONE, SECTION_GPU, SECTION_SHEET, SECTION_PUBLISHED };

struct reading {
	struct gpu *gpu;
	struct error *err;
	enum section section;
	enum sheet_status status;
	size_t header; /* line of the section */
};

static void complain(struct reading *r, size_t line, const char *format, const char *what)
{
	struct text message = TEXT_EMPTY;

	text_addf(&message, format, what);
	error_set(r->err, STATUS_USAGE, "%s:%zu: %s", r->gpu->file->name, line, message.data);
	text_release(&message);
}

static void begin_published(struct reading *r, size_t line, const char *name)
{
	struct gpu *gpu = r->gpu;

	for (size_t i = 0; i < gpu->published_count; i++)
		if (strcmp(gpu->published[i].name, name) == 0)
			complain(r, line, "a second [published %s]", name);
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
static void check_published(struct reading *r)
{
	const struct published *p;

	if (r->section != SECTION_PUBLISHED)
		return;
	p = &r->gpu->published[r->gpu->published_count - 1];
	if (!p->quantity)
		complain(r, r->header, "[published %s] has no quantity", p->name);
	if (!isfinite(p->value))
		complain(r, r->header, "[published %s] has no value", p->name);
	if (!*p->source)
		complain(r, r->header, "[published %s] has no source", p->name);
}

static void on_section(void *context, size_t line, const char *name)
{
	struct reading *r = context;

	check_published(r);
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
		begin_published(r, line, name + strlen(PUBLISHED));
	}
	if (r->section == SECTION_NONE)
		complain(r, line, "there is no section [%.60s]", name);
}

static void take(char **member, const char *value)
{
	free(*member);
	*member = xstrdup(value);
}

static void on_gpu(struct reading *r, size_t line, const char *key, const char *value)
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
			take(members[i].member, value);
			return;
		}
	}
	complain(r, line, "[gpu] has no key '%.60s'", key);
}

static void on_sheet(struct reading *r, size_t line, const char *name, const char *text)
{
	struct sheet_key found;
	const struct sheet_key *key = sheet_key_find(name, &found);
	struct gpu *gpu = r->gpu;
	double value = NAN;

	if (!key) {
		complain(r, line, "there is no figure '%.60s'", name);
		return;
	}
	if (gpu_entry(gpu, name)) {
		complain(r, line, "a second '%.60s'", name);
		return;
	}
	if (key->unit && sheet_parse(text, key->unit, &value, r->err) != STATUS_OK) {
		error_prefix(r->err, "%s:%zu: %s", gpu->file->name, line, name);
		return;
	}
	ARRAY_GROW(gpu->entries, gpu->entry_count, gpu->entry_capacity);
	gpu->entries[gpu->entry_count++] = (struct sheet_entry){ .key = xstrdup(name),
								 .unit = key->unit,
								 .value = value,
								 .text = xstrdup(text),
								 .status = r->status };
}

/* "12.1 TFLOP/s" or "499 GB/s .. 503 GB/s"; the quantity must be known by then. */
static void parse_value(struct reading *r, size_t line, struct published *p, const char *text)
{
	const char *dots = strstr(text, " .. ");
	char *first = dots ? xstrndup(text, (size_t)(dots - text)) : xstrdup(text);

	if (!p->quantity) {
		complain(r, line, "value before quantity in [published %s]", p->name);
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

static void parse_devices(struct reading *r, size_t line, struct published *p, const char *text)
{
	int64_t devices = 0;

	if (units_parse_integer(text, &devices, r->err) != STATUS_OK)
		error_prefix(r->err, "%s:%zu: devices", r->gpu->file->name, line);
	else if (devices < 1 || devices > 100000)
		complain(r, line, "devices = %s: a number from 1", text);
	else
		p->devices = (int)devices;
}

static void on_published(struct reading *r, size_t line, const char *key, const char *value)
{
	struct published *p = &r->gpu->published[r->gpu->published_count - 1];

	if (strcmp(key, "quantity") == 0) {
		p->quantity = quantity_find(value);
		if (!p->quantity)
			complain(r, line, "there is no quantity '%.60s'", value);
	} else if (strcmp(key, "value") == 0) {
		parse_value(r, line, p, value);
	} else if (strcmp(key, "devices") == 0) {
		parse_devices(r, line, p, value);
	} else if (strcmp(key, "workload") == 0) {
		take(&p->workload, value);
	} else if (strcmp(key, "conditions") == 0) {
		take(&p->conditions, value);
	} else if (strcmp(key, "source") == 0) {
		take(&p->source, value);
	} else if (strcmp(key, "above_peak") == 0) {
		take(&p->above_peak, value);
	} else {
		complain(r, line, "[published] has no key '%.60s'", key);
	}
}

static void on_entry(void *context, size_t line, const char *key, const char *value)
{
	struct reading *r = context;

	if (r->section == SECTION_GPU)
		on_gpu(r, line, key, value);
	else if (r->section == SECTION_SHEET)
		on_sheet(r, line, key, value);
	else if (r->section == SECTION_PUBLISHED)
		on_published(r, line, key, value);
}

static void on_problem(void *context, size_t line, const char *message)
{
	complain(context, line, "%s", message);
}

/* "v100-pcie" of "v100-pcie.ini" */
static char *id_of(const char *file)
{
	const char *dot = strrchr(file, '.');

	return dot ? xstrndup(file, (size_t)(dot - file)) : xstrdup(file);
}

enum status gpu_read(struct gpu *gpu, const struct embedded_file *file, struct error *err)
{
	struct reading r = { .gpu = gpu, .err = err };
	const struct ini_sink sink = {
		.context = &r, .section = on_section, .entry = on_entry, .problem = on_problem
	};

	*gpu = (struct gpu){ .id = id_of(file->name),
			     .file = file,
			     .name = xstrdup(""),
			     .label = xstrdup(""),
			     .match = xstrdup(""),
			     .source = xstrdup("") };
	ini_read((const char *)file->data, file->size, &sink);
	check_published(&r);
	if (!*gpu->name || !*gpu->label || !*gpu->match)
		complain(&r, 1, "[gpu] needs name, label and %s", "match");
	if (err->status != STATUS_OK)
		gpu_release(gpu);
	return err->status;
}

void gpu_release(struct gpu *gpu)
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
