/* Shipped models and sources, read once. An invalid file is a bug: tests read every one. */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/units.h"
#include "plan/ini/ini.h"
#include "reference/gpu.h"

#define SOURCES "sources.ini"

static struct {
	struct gpu *gpus;
	size_t count, capacity;
	struct gpu_source *sources;
	size_t source_count, source_capacity;
} all;

static double gpu_capability(const struct gpu *gpu)
{
	return strtod(gpu_words(gpu, "capability"), NULL);
}

static int gpu_order(const void *a, const void *b)
{
	const struct gpu *p = a, *q = b;
	double x = gpu_capability(p), y = gpu_capability(q);

	return x != y ? (x > y) - (x < y) : strcmp(p->id, q->id);
}

static void gpus_on_source(void *context, size_t line, const char *name)
{
	(void)context;
	(void)line;
	ARRAY_GROW(all.sources, all.source_count, all.source_capacity);
	if (strncmp(name, "source ", strlen("source ")) == 0)
		name += strlen("source ");
	all.sources[all.source_count++] = (struct gpu_source){
		.id = xstrdup(name), .title = xstrdup(""), .where = xstrdup(""), .kind = xstrdup("")
	};
}

static void gpus_on_source_entry(void *context, size_t line, const char *key, const char *value)
{
	struct gpu_source *s = all.source_count ? &all.sources[all.source_count - 1] : NULL;
	char **member = !s                          ? NULL
			: strcmp(key, "title") == 0 ? &s->title
			: strcmp(key, "where") == 0 ? &s->where
			: strcmp(key, "kind") == 0  ? &s->kind
						    : NULL;

	(void)context;
	(void)line;
	if (!member)
		return;
	free(*member);
	*member = xstrdup(value);
}

static void gpus_on_source_problem(void *context, size_t line, const char *message)
{
	(void)context;
	(void)line;
	(void)message;
}

static void gpus_read_all(void)
{
	const struct ini_sink sink = { .section = gpus_on_source,
				       .entry = gpus_on_source_entry,
				       .problem = gpus_on_source_problem };

	for (const struct embedded_file *file = embedded_gpus; file->name; file++) {
		struct error err = ERROR_NONE;

		if (gpus_is_sources(file)) {
			ini_read((const char *)file->data, file->size, &sink);
			continue;
		}
		ARRAY_GROW(all.gpus, all.count, all.capacity);
		if (gpu_read(&all.gpus[all.count], file, &err) == STATUS_OK)
			all.count++;
	}
	if (all.count)
		qsort(all.gpus, all.count, sizeof(*all.gpus), gpu_order);
}

static void gpus_read_once(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, gpus_read_all);
}

bool gpus_is_sources(const struct embedded_file *file)
{
	return strcmp(file->name, SOURCES) == 0;
}

const struct gpu *gpus_all(size_t *count)
{
	gpus_read_once();
	*count = all.count;
	return all.gpus;
}

const struct gpu_source *gpus_sources(size_t *count)
{
	gpus_read_once();
	*count = all.source_count;
	return all.sources;
}

const struct gpu *gpus_by_id(const char *id)
{
	gpus_read_once();
	for (size_t i = 0; i < all.count; i++)
		if (strcmp(all.gpus[i].id, id) == 0)
			return &all.gpus[i];
	return NULL;
}

/* Matches one of "NVIDIA H200 | H200 SXM*". */
static bool gpus_name_matches(const char *patterns, const char *name)
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

const struct gpu *gpus_by_device(const char *device_name)
{
	gpus_read_once();
	for (size_t i = 0; i < all.count; i++)
		if (gpus_name_matches(all.gpus[i].match, device_name))
			return &all.gpus[i];
	return NULL;
}

const struct sheet_entry *gpu_entry(const struct gpu *gpu, const char *key)
{
	for (size_t i = 0; i < gpu->entry_count; i++)
		if (strcmp(gpu->entries[i].key, key) == 0)
			return &gpu->entries[i];
	return NULL;
}

double gpu_figure(const struct gpu *gpu, const char *key)
{
	const struct sheet_entry *entry = gpu_entry(gpu, key);

	return entry && entry->unit ? entry->value : NAN;
}

const char *gpu_words(const struct gpu *gpu, const char *key)
{
	const struct sheet_entry *entry = gpu_entry(gpu, key);

	return entry ? entry->text : "";
}

double gpu_peak(const struct gpu *gpu, const struct quantity *quantity,
		const struct sheet_entry **entry)
{
	for (size_t i = 0; i < ARRAY_SIZE(quantity->peak) && quantity->peak[i]; i++) {
		*entry = gpu_entry(gpu, quantity->peak[i]);
		if (*entry && (*entry)->unit && (*entry)->value > 0)
			return (*entry)->value * quantity->peak_factor;
	}
	*entry = NULL;
	return NAN;
}
