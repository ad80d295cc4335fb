#include "judge/spec.h"

#include <math.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "plan/ini.h"
#include "plan/spec_keys.h"

static const char *const statuses[] = { "read", "derived", "to-verify", NULL };

struct reading {
	const char *file;
	const char *section; /* one of `statuses`, "gpu", or NULL */
	const char *device;  /* looked for in match; NULL: not at all */
	const char *key;     /* looked for; NULL: every one is checked */
	bool matches, found;
	double value;
	const char *status;
	struct error *err; /* may be NULL */
};

static void on_section(void *context, size_t line, const char *name)
{
	struct reading *r = context;

	(void)line;
	r->section = strcmp(name, "gpu") == 0 ? "gpu" : NULL;
	for (size_t i = 0; statuses[i]; i++)
		if (strcmp(name, statuses[i]) == 0)
			r->section = statuses[i];
}

/* "NVIDIA H200 | H200 SXM*" */
static bool name_matches(const char *patterns, const char *name)
{
	for (const char *p = patterns; *p;) {
		size_t length;
		const char *end;

		p += strspn(p, " \t|");
		end = p + strcspn(p, "|");
		length = (size_t)(end - p);
		while (length && strchr(" \t", p[length - 1]))
			length--;
		if (length && p[length - 1] == '*' && strncmp(name, p, length - 1) == 0)
			return true;
		if (length && strlen(name) == length && strncmp(name, p, length) == 0)
			return true;
		p = end;
	}
	return false;
}

static enum status parse_figure(const struct spec_key *key, const char *text, double *value,
				struct error *err)
{
	uint64_t bytes = 0;
	enum status status;

	if (strcmp(key->unit, "B") != 0)
		return units_parse_quantity(text, key->unit, value, err);
	status = units_parse_size(text, &bytes, err);
	*value = (double)bytes;
	return status;
}

static void on_figure(struct reading *r, size_t line, const char *name, const char *text)
{
	const struct spec_key *key = spec_key_find(name);
	double value = NAN;

	if (!key) {
		error_set(r->err, STATUS_USAGE, "%s:%zu: there is no figure '%.60s'", r->file, line,
			  name);
		return;
	}
	if (parse_figure(key, text, &value, r->err) != STATUS_OK) {
		error_prefix(r->err, "%s:%zu: %s", r->file, line, name);
		return;
	}
	if (r->key && strcmp(name, r->key) == 0) {
		r->found = true;
		r->value = value;
		r->status = r->section;
	}
}

static void on_entry(void *context, size_t line, const char *key, const char *value)
{
	struct reading *r = context;

	if (!r->section)
		return;
	if (strcmp(r->section, "gpu") != 0)
		on_figure(r, line, key, value);
	else if (r->device && strcmp(key, "match") == 0)
		r->matches = name_matches(value, r->device);
}

static void on_problem(void *context, size_t line, const char *message)
{
	struct reading *r = context;

	error_set(r->err, STATUS_USAGE, "%s:%zu: %s", r->file, line, message);
}

static void read_file(const struct embedded_file *file, struct reading *r)
{
	const struct ini_sink sink = {
		.context = r, .section = on_section, .entry = on_entry, .problem = on_problem
	};

	r->file = file->name;
	ini_read((const char *)file->data, file->size, &sink);
}

const struct embedded_file *spec_file(const char *device_name)
{
	for (const struct embedded_file *file = embedded_gpus; file->name; file++) {
		struct reading r = { .device = device_name };

		read_file(file, &r);
		if (r.matches)
			return file;
	}
	return NULL;
}

bool spec_of_name(const char *device_name, const char *key, double *value, const char **status)
{
	const struct embedded_file *file = spec_file(device_name);
	struct reading r = { .key = key };

	if (!file)
		return false;
	read_file(file, &r);
	if (!r.found)
		return false;
	*value = r.value;
	*status = r.status;
	return true;
}

/* GT/s x lanes x line coding / 8, one direction. Generations 1 and 2 send 10 bits per byte, later ones 130 per 128. */
static double link_bandwidth(const struct device_info *device)
{
	static const double transfers[] = { 0, 2.5e9, 5e9, 8e9, 16e9, 32e9, 64e9 };
	int generation = device->pcie_generation_max;

	if (generation < 1 || generation > 6 || device->pcie_width_max < 1)
		return 0;
	return transfers[generation] * device->pcie_width_max *
	       (generation < 3 ? 0.8 : 128.0 / 130) / 8;
}

/* DDR: two transfers a clock. */
static double memory_bandwidth(const struct device_info *device)
{
	return device->memory_clock_hz * 2 * device->memory_bus_bits / 8;
}

static double device_memory(const struct device_info *device)
{
	return (double)device->memory_bytes;
}

static const struct {
	const char *key;
	double (*of)(const struct device_info *device); /* 0: unknown */
} derived[] = {
	{ "pcie_bandwidth", link_bandwidth },
	{ "memory_bandwidth", memory_bandwidth },
	{ "memory", device_memory },
};

bool spec_lookup(const struct device_info *device, const char *key, double *value,
		 const char **status)
{
	if (spec_of_name(device->name, key, value, status))
		return true;
	for (size_t i = 0; i < sizeof(derived) / sizeof(derived[0]); i++) {
		if (strcmp(derived[i].key, key) != 0)
			continue;
		*value = derived[i].of(device);
		*status = "device";
		return *value > 0;
	}
	return false;
}

enum status spec_check(const struct embedded_file *file, struct error *err)
{
	struct reading r = { .err = err };

	read_file(file, &r);
	return err->status;
}
