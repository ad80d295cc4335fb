/* Builds the result of an import: facts, devices, cases, samples. */
#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/memory.h"
#include "base/text.h"
#include "base/units.h"
#include "import/reading.h"
#include "reference/gpu.h"
#include "result/statistics.h"

/*
 * Converts a time as tools write it to "2026-11-20T10:00:00Z" (at least 21 bytes): "2026-11-20
 * 12:00:00", "2026-11-20T12:00:00+02:00", "...Z". Without a zone the time is UTC. Returns false if
 * the text is not a time.
 */
static bool building_time(const char *text, char *out, size_t size)
{
	static const char *const forms[] = { "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S",
					     "%Y/%m/%d %H:%M:%S", "%Y-%m-%dT%H:%M",
					     "%Y-%m-%d %H:%M",    "%Y-%m-%d" };

	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		struct tm tm = { 0 };
		const char *end = strptime(text, forms[i], &tm);
		int day = tm.tm_mday;
		struct tm zone = { 0 };
		time_t seconds;

		if (!end)
			continue;
		if (*end == '.' || *end == ',') /* fractions of a second */
			end += 1 + strspn(end + 1, "0123456789");
		end += strspn(end, " \t");
		if (*end && strcmp(end, "UTC") != 0) /* "Z", "+02:00" or "-0800" */
			end = strptime(end, "%z", &zone);
		else
			end += strlen(end);
		seconds = timegm(&tm) - zone.tm_gmtoff;
		/* strptime() accepts 31 February. */
		if (!end || *end || labs(zone.tm_gmtoff) > 14 * 3600 || tm.tm_mday != day ||
		    tm.tm_year < 70)
			continue;
		if (!gmtime_r(&seconds, &tm) || tm.tm_year > 8099)
			return false;
		return strftime(out, size, "%Y-%m-%dT%H:%M:%SZ", &tm) > 0;
	}
	return false;
}

/* Longest value of a fact. A file of many tests appends to it. */
#define FACT_LENGTH 400
/* Most names in the fact that lists what was left out. */
#define MOST_NAMED 100

static char *building_format_text(const char *format, va_list arguments)
{
	char *text = NULL;

	if (vasprintf(&text, format, arguments) < 0)
		abort();
	text_mend(text);
	return text;
}

#define FORMATTED(text, format)                                   \
	do {                                                      \
		va_list arguments;                                \
		va_start(arguments, format);                      \
		(text) = building_format_text(format, arguments); \
		va_end(arguments);                                \
	} while (0)

void building_error_at(struct import *import, size_t line, const char *format, ...)
{
	char *message;

	FORMATTED(message, format);
	for (char *p = message; *p; p++)
		if (iscntrl((unsigned char)*p))
			*p = '?';
	error_set(import->err, STATUS_USAGE, "%s:%zu: %s", import->file,
		  import->lines_before + line, message);
	free(message);
}

void building_error(struct import *import, const char *format, ...)
{
	char *message;

	FORMATTED(message, format);
	building_error_at(import, import->line ? import->line : 1, "%s", message);
	free(message);
}

bool building_stopped(const struct import *import)
{
	return import->err->status != STATUS_OK;
}

void building_fact(struct import *import, const char *name, const char *value)
{
	struct result *r = import->result;
	char *longer;

	if (!value || !*value)
		return;
	for (size_t i = 0; i < r->environment_count; i++) {
		struct fact *fact = &r->environment[i];

		if (strcmp(fact->name, name) != 0)
			continue;
		/* The list ("a, b") may contain the value. */
		for (const char *p = fact->value; p; p = strstr(p, ", ")) {
			p += text_starts_with(p, ", ") ? strlen(", ") : 0;
			if (text_starts_with(p, value) &&
			    (!p[strlen(value)] || p[strlen(value)] == ','))
				return;
		}
		if (strlen(fact->value) > FACT_LENGTH)
			return;
		longer = xasprintf("%s, %s", fact->value, value);
		free(fact->value);
		fact->value = longer;
		return;
	}
	longer = text_harmless(value);
	result_add_fact(r, name, longer);
	free(longer);
}

void building_tool(struct import *import, const char *format, ...)
{
	char *tool, *value;

	FORMATTED(tool, format);
	value = xasprintf("imported from %s", tool);
	if (!result_fact(import->result, IMPORT_PROVENANCE))
		building_fact(import, IMPORT_PROVENANCE, value);
	else if (!strstr(result_fact(import->result, IMPORT_PROVENANCE), tool))
		building_fact(import, IMPORT_PROVENANCE, tool);
	free(value);
	free(tool);
}

void building_left_out(struct import *import, const char *format, ...)
{
	char *what;

	FORMATTED(what, format);
	json_object_set_new(import->left_out, what, json_true());
	free(what);
}

void building_incomplete(struct import *import, const char *format, ...)
{
	char *why;

	FORMATTED(why, format);
	building_fact(import, "incomplete", why);
	import->unfinished++;
	free(why);
}

void building_started(struct import *import, const char *text)
{
	char time[32];

	if (*import->result->started || !building_time(text, time, sizeof(time)))
		return;
	free(import->result->started);
	import->result->started = xstrdup(time);
}

static const char *building_known_text(const char *text)
{
	return text ? text : "";
}

/* The number of the device, or the backend's next free number if another device has it. */
static int building_free_number(struct import *import, const char *backend, int wanted)
{
	char key[64];
	json_t *next;
	int number = wanted;

	snprintf(key, sizeof(key), "%.15s:%d", backend, wanted);
	if (json_object_get(import->device_keys, key)) {
		next = json_object_get(import->device_keys, backend);
		number = (int)json_integer_value(next);
		snprintf(key, sizeof(key), "%.15s:%d", backend, number);
	}
	json_object_set_new(import->device_keys, key, json_true());
	next = json_object_get(import->device_keys, backend);
	if (number >= json_integer_value(next))
		json_object_set_new(import->device_keys, backend, json_integer(number + 1));
	return number;
}

static void building_describe_device(struct import *import, struct device_info *info,
				     const struct import_device *device)
{
	const char *name = import->options->device ? import->options->device : device->name;
	char *harmless = text_harmless(building_known_text(name));
	const struct gpu *gpu;

	snprintf(info->module, sizeof(info->module), "imported");
	snprintf(info->name, sizeof(info->name), "%s", harmless);
	snprintf(info->pci, sizeof(info->pci), "%s", building_known_text(device->pci));
	snprintf(info->uuid, sizeof(info->uuid), "%s", building_known_text(device->uuid));
	snprintf(info->serial, sizeof(info->serial), "%s", building_known_text(device->serial));
	text_mend(info->name);
	text_mend(info->pci);
	text_mend(info->uuid);
	text_mend(info->serial);
	free(harmless);
	gpu = gpus_by_device(info->name);
	if (gpu)
		sscanf(gpu_words(gpu, "capability"), "%d.%d", &info->capability_major,
		       &info->capability_minor);
	info->capabilities = device_implied_capabilities(info);
}

size_t building_device(struct import *import, const struct import_device *device)
{
	struct result *r = import->result;
	struct device_info info = { .ecc = -1, .numa_node = -1 };
	const char *name = building_known_text(device->name);
	const char *backend = device->backend ? device->backend
			      : lines_find_any(name, "AMD", "Radeon", "Instinct", "gfx", "Vega")
				      ? "hip"
				      : "cuda";
	char *key = xasprintf("%s|%s|%d|%s|%s|%s", backend, building_known_text(device->host),
			      device->number, building_known_text(device->pci),
			      building_known_text(device->uuid), name);
	const json_t *known = json_object_get(import->device_keys, key);
	size_t index = r->device_count;

	if (known) {
		free(key);
		return (size_t)json_integer_value(known);
	}
	json_object_set_new_nocheck(import->device_keys, key, json_integer((json_int_t)index));
	free(key);
	info.index = building_free_number(import, backend, device->number);
	snprintf(info.id, sizeof(info.id), "%s:%d", backend, info.index);
	snprintf(info.backend, sizeof(info.backend), "%s", backend);
	building_describe_device(import, &info, device);
	if (r->device_count == import->device_capacity) {
		import->device_capacity = import->device_capacity ? 2 * import->device_capacity : 8;
		r->devices = xrealloc(r->devices, import->device_capacity, sizeof(info));
		import->hosts =
			xrealloc(import->hosts, import->device_capacity, sizeof(*import->hosts));
	}
	r->devices[r->device_count] = info;
	import->hosts[r->device_count++] = xstrdup(building_known_text(device->host));
	return index;
}

size_t building_gpu(struct import *import, size_t number)
{
	number %= IMPORT_GPUS;
	return building_device(import,
			       &(struct import_device){ .number = (int)number,
							.name = import->gpus[number].name,
							.pci = import->gpus[number].pci,
							.uuid = import->gpus[number].uuid });
}

/* The samples of a metric; made of its value if it is the only one so far. */
static struct series *building_samples_of_metric(struct case_result *c, struct metric_value *m)
{
	struct series *s;

	for (size_t i = 0; *m->series && i < c->series_count; i++)
		if (strcmp(c->series[i].name, m->name) == 0)
			return &c->series[i];
	s = case_result_add_times(c, m->name);
	snprintf(s->unit, sizeof(s->unit), "%s", m->unit);
	s->batch = 1;
	s->first = NAN;
	ARRAY_GROW(s->samples, s->count, s->capacity);
	s->samples[s->count++] = m->value;
	free(m->series);
	m->series = xstrdup(m->name);
	return s;
}

void building_metric(struct case_result *c, const char *name, const char *unit, double value)
{
	enum better better = strcmp(unit, "s") == 0       ? BETTER_LOWER
			     : text_ends_with(unit, "/s") ? BETTER_HIGHER
							  : BETTER_NONE;

	if (!isfinite(value))
		return;
	for (size_t i = 0; i < c->metric_count; i++) {
		struct series *s;

		if (strcmp(c->metrics[i].name, name) != 0)
			continue;
		s = building_samples_of_metric(c, &c->metrics[i]);
		ARRAY_GROW(s->samples, s->count, s->capacity);
		s->samples[s->count++] = value;
		return;
	}
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

void building_note(struct case_result *c, const char *format, ...)
{
	char *note;

	FORMATTED(note, format);
	case_result_note(c, note);
	free(note);
}

static void building_add_parameter(struct case_result *c, const struct import_parameter *p)
{
	bool bytes = p->unit && strcmp(p->unit, "B") == 0;
	char number[48], *text;

	if (!p->word && isnan(p->number))
		return;
	/* The number may be negative or too large: it comes from the file. */
	if (bytes && p->number >= 0 && p->number < 0x1p63)
		units_size((uint64_t)p->number, number, sizeof(number));
	else
		snprintf(number, sizeof(number), bytes ? "%g" : "%.10g", p->number);
	text = text_harmless(p->word ? p->word : number);
	case_add_axis(c, p->name, text, false);
	c->parameters = xrealloc(c->parameters, c->parameter_count + 1, sizeof(*c->parameters));
	c->parameters[c->parameter_count++] =
		(struct case_parameter){ .name = xstrdup(p->name),
					 .text = text,
					 .number = p->number,
					 .unit = xstrdup(p->unit ? p->unit : "") };
}

struct case_result *building_case(struct import *import, const char *suite, const size_t *devices,
				  size_t count, const struct import_parameter *parameters)
{
	struct result *r = import->result;
	struct case_result *c;
	char *names, *point;
	const json_t *index;

	if (r->case_count >= IMPORT_MOST_CASES)
		building_error(import,
			       "the file has more than %zu results, the maximum that import reads",
			       IMPORT_MOST_CASES);
	c = result_add_case(r);
	c->suite = xstrdup(suite);
	c->label = xstrdup("");
	c->reason = xstrdup("");
	c->notes = xstrdup("");
	c->device = xstrdup(r->devices[devices[0]].id);
	c->devices = xcalloc(count, sizeof(*c->devices));
	c->device_count = count;
	for (size_t i = 0; i < count; i++)
		c->devices[i] = xstrdup(r->devices[devices[i]].id);
	for (; parameters->name; parameters++)
		building_add_parameter(c, parameters);
	names = case_devices(c);
	point = case_point(c);
	c->id = xasprintf("%s@%s", point, names);
	free(point);
	free(names);
	index = json_object_get(import->ids, c->id);
	if (index) {
		case_result_release(c);
		r->case_count--;
		return &r->cases[json_integer_value(index)];
	}
	json_object_set_new_nocheck(import->ids, c->id,
				    json_integer((json_int_t)r->case_count - 1));
	return c;
}

void building_ended(struct case_result *c, enum case_status status, const char *format, ...)
{
	char *reason;

	FORMATTED(reason, format);
	/* Several repetitions: keep the worst status. */
	if (status >= c->status) {
		c->status = status;
		free(c->reason);
		c->reason = text_harmless(*reason ? reason : "the tool gives no reason");
	}
	free(reason);
}

/* Host and devices: "node-a: cuda:0-7, node-b: cuda:8-15"; on one host only its name. */
static void building_add_hosts(struct import *import)
{
	const struct result *r = import->result;
	struct text out = TEXT_EMPTY;
	size_t hosts = 0;

	for (size_t i = 0, next; i < r->device_count; i = next) {
		for (next = i + 1; next < r->device_count &&
				   strcmp(import->hosts[next], import->hosts[i]) == 0 &&
				   r->devices[next].index == r->devices[next - 1].index + 1;)
			next++;
		if (!*import->hosts[i])
			continue;
		hosts += strcmp(import->hosts[i], import->hosts[0]) != 0;
		text_addf(&out, "%s%s: %s", out.length ? ", " : "", import->hosts[i],
			  r->devices[i].id);
		if (next - i > 1)
			text_addf(&out, "-%d", r->devices[next - 1].index);
	}
	if (out.length && hosts)
		building_fact(import, "hosts", out.data);
	else if (out.length)
		building_fact(import, "hostname", import->hosts[0]);
	text_release(&out);
}

void building_finish(struct import *import)
{
	struct result *r = import->result;
	struct text names = TEXT_EMPTY;
	size_t named = 0;
	const char *name;
	json_t *value;

	for (size_t i = 0; i < r->case_count; i++)
		for (size_t k = 0; k < r->cases[i].metric_count; k++) {
			struct metric_value *m = &r->cases[i].metrics[k];
			struct series *s =
				*m->series ? building_samples_of_metric(&r->cases[i], m) : NULL;

			if (!s)
				continue;
			statistics_compute(s->samples, s->count, 1, 0, NULL, &s->statistics);
			m->value = s->statistics.median;
			m->low = s->statistics.low;
			m->high = s->statistics.high;
			m->n = s->count;
		}
	if (import->failure && !import->format->reads_failures)
		building_incomplete(import, "a program failed (%s)", import->failure);
	json_object_foreach(import->left_out, name, value) if (named++ < MOST_NAMED)
		text_addf(&names, "%s%s", names.length ? ", " : "", name);
	if (named > MOST_NAMED)
		text_addf(&names, " and %zu more", named - MOST_NAMED);
	if (names.length)
		building_fact(import, IMPORT_LEFT_OUT, names.data);
	text_release(&names);
	building_add_hosts(import);
	building_fact(import, "not reported by the tool", import->format->silent);
	r->planned = r->case_count + import->unfinished;
	if (import->unfinished) {
		free(r->state);
		r->state = xstrdup("incomplete");
	}
}

void building_end(struct import *import)
{
	json_decref(import->ids);
	json_decref(import->device_keys);
	json_decref(import->left_out);
	for (size_t i = 0; import->hosts && i < import->device_capacity; i++)
		if (i < import->result->device_count)
			free(import->hosts[i]);
	free(import->hosts);
	free(import->failure);
	free(import->heading);
}
