/* The result that an import builds. */
#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "base/units.h"
#include "import/reading.h"
#include "reference/gpu.h"

enum status import_error(struct import *import, size_t line, const char *format, ...)
{
	char message[512];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(message, sizeof(message), format, arguments);
	va_end(arguments);
	for (char *p = message; *p; p++)
		if (iscntrl((unsigned char)*p))
			*p = '?';
	return error_set(import->err, STATUS_USAGE, "%s:%zu: %s", import->file, line, message);
}

void import_fact(struct import *import, const char *name, const char *value)
{
	struct result *r = import->result;

	if (!*value)
		return;
	r->environment = xrealloc(r->environment, r->environment_count + 1, sizeof(struct fact));
	r->environment[r->environment_count++] =
		(struct fact){ .name = xstrdup(name), .value = xstrdup(value) };
}

static bool in_list(const char *list, const char *word)
{
	size_t length = strlen(word);

	for (const char *p = list; p; p = strstr(p, ", ")) {
		p += p == list ? 0 : strlen(", ");
		if (strncmp(p, word, length) == 0 && (!p[length] || p[length] == ','))
			return true;
	}
	return false;
}

void import_left_out(struct import *import, const char *what)
{
	struct result *r = import->result;

	for (size_t i = 0; i < r->environment_count; i++) {
		struct fact *fact = &r->environment[i];
		char *longer;

		if (strcmp(fact->name, IMPORT_LEFT_OUT) != 0)
			continue;
		if (in_list(fact->value, what))
			return;
		longer = xasprintf("%s, %s", fact->value, what);
		free(fact->value);
		fact->value = longer;
		return;
	}
	import_fact(import, IMPORT_LEFT_OUT, what);
}

void import_tool(struct import *import, const char *tool)
{
	char *value = xasprintf("imported: %s", tool);

	import_fact(import, IMPORT_PROVENANCE, value);
	free(value);
}

const char *import_device(struct import *import, const char *backend, int index, const char *name)
{
	struct result *r = import->result;
	struct device_info info = { .index = index, .ecc = -1, .numa_node = -1 };
	const struct device_info *known;
	const struct gpu *gpu;

	snprintf(info.id, sizeof(info.id), "%s:%d", backend, index);
	known = result_device(r, info.id);
	if (known)
		return known->id;
	if (import->options->device)
		name = import->options->device;
	snprintf(info.backend, sizeof(info.backend), "%s", backend);
	snprintf(info.module, sizeof(info.module), "imported");
	snprintf(info.name, sizeof(info.name), "%s", name);
	gpu = gpus_by_device(name);
	if (gpu)
		sscanf(gpu_words(gpu, "capability"), "%d.%d", &info.capability_major,
		       &info.capability_minor);
	info.capabilities = device_implied_capabilities(&info);
	r->devices = xrealloc(r->devices, r->device_count + 1, sizeof(info));
	r->devices[r->device_count] = info;
	return r->devices[r->device_count++].id;
}

struct case_result *import_case(struct import *import, const char *suite,
				const char *const *devices, size_t count)
{
	struct case_result *c = result_add_case(import->result);

	c->suite = xstrdup(suite);
	c->label = xstrdup("");
	c->reason = xstrdup("");
	c->notes = xstrdup("");
	c->device = xstrdup(devices[0]);
	c->devices = xcalloc(count, sizeof(*c->devices));
	c->device_count = count;
	for (size_t i = 0; i < count; i++)
		c->devices[i] = xstrdup(devices[i]);
	return c;
}

static void parameter(struct case_result *c, const char *name, const char *text, double number,
		      const char *unit)
{
	c->parameters = xrealloc(c->parameters, c->parameter_count + 1, sizeof(*c->parameters));
	c->parameters[c->parameter_count++] = (struct case_parameter){ .name = xstrdup(name),
								       .text = xstrdup(text),
								       .number = number,
								       .unit = xstrdup(unit) };
}

void import_word(struct case_result *c, const char *name, const char *word)
{
	parameter(c, name, word, NAN, "");
}

void import_bytes(struct case_result *c, const char *name, double bytes)
{
	char text[48];

	/* A file may say anything. */
	if (bytes >= 0 && bytes < 0x1p63)
		units_size((uint64_t)bytes, text, sizeof(text));
	else
		snprintf(text, sizeof(text), "%g", bytes);
	parameter(c, name, text, bytes, "B");
}

void import_number(struct case_result *c, const char *name, double number, const char *text)
{
	parameter(c, name, text, number, "1");
}

void import_metric(struct case_result *c, const char *name, const char *unit, enum better better,
		   double value)
{
	if (!isfinite(value))
		return;
	ARRAY_GROW(c->metrics, c->metric_count, c->metric_capacity);
	c->metrics[c->metric_count] = (struct metric_value){ .name = xstrdup(name),
							     .unit = xstrdup(unit),
							     .better = better,
							     .headline = c->metric_count == 0,
							     .value = value,
							     .low = NAN,
							     .high = NAN,
							     .n = 1,
							     .series = xstrdup("") };
	c->metric_count++;
}

/* As gpuproof names its own: "transfer:label/h2d/pinned/64MiB@cuda:0". */
void import_named(struct case_result *c)
{
	char *devices = case_devices(c), *point;

	for (size_t i = 0; i < c->parameter_count; i++)
		case_add_axis(c, c->parameters[i].name, c->parameters[i].text, false);
	point = case_point(c);
	c->id = xasprintf("%s@%s", point, devices);
	free(point);
	free(devices);
}

struct case_result *import_earlier(struct import *import, const struct case_result *c)
{
	const json_t *index = json_object_get(import->ids, c->id);

	if (index)
		return &import->result->cases[json_integer_value(index)];
	json_object_set_new_nocheck(import->ids, c->id,
				    json_integer((json_int_t)import->result->case_count - 1));
	return NULL;
}

struct case_result *import_merged(struct import *import, struct case_result *c)
{
	struct case_result *earlier = import_earlier(import, c);

	if (!earlier)
		return c;
	case_result_release(c);
	import->result->case_count--;
	return earlier;
}

static void end_as(struct case_result *c, enum case_status status, const char *reason)
{
	c->status = status;
	free(c->reason);
	c->reason = xstrdup(reason);
}

void import_failed(struct case_result *c, const char *reason)
{
	end_as(c, CASE_FAILED, reason);
}

void import_broken(struct case_result *c, const char *reason)
{
	end_as(c, CASE_ERROR, reason);
}
