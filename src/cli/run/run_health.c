#include "cli/run/run_health.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "result/host/host_findings.h"

struct findings {
	struct finding *items;
	size_t count, capacity;
};

static void add(void *context, const struct finding *finding)
{
	struct findings *list = context;

	/*
	 * A backend that is not there on a machine that does not have it is no finding about this
	 * run.
	 */
	if (strncmp(finding->subject, "backend ", 8) == 0)
		return;
	ARRAY_GROW(list->items, list->count, list->capacity);
	list->items[list->count++] = *finding;
}

static void collect(struct findings *list, const struct probe *probe, const char *directory)
{
	for (size_t i = 0; i < probe->device_count; i++)
		device_findings(&probe->devices[i], add, list);
	for (size_t i = 0; i < probe->finding_count; i++)
		add(list, &probe->findings[i]);
	host_findings("", directory, add, list);
}

void health_collect(const struct probe *probe, struct finding **out, size_t *count)
{
	struct findings list = { 0 };

	collect(&list, probe, ".");
	*out = list.items;
	*count = list.count;
}

static void add_error(struct findings *list, const char *subject, const char *id, const char *text)
{
	struct finding f = { .severity = SEVERITY_ERROR };

	snprintf(f.subject, sizeof(f.subject), "%s%s%s", subject, *id ? " " : "", id);
	snprintf(f.text, sizeof(f.text), "%.300s", text);
	add(list, &f);
}

static bool is_there(const struct probe *probe, const struct device_info *device)
{
	for (size_t i = 0; i < probe->device_count; i++)
		if (strcmp(probe->devices[i].id, device->id) == 0 &&
		    strcmp(probe->devices[i].uuid, device->uuid) == 0)
			return true;
	return false;
}

/* A device of the run that is no longer there, and a probe that fails, are findings, too. */
static void probe_again(const struct config *config, struct result *result)
{
	struct findings list = { 0 };
	struct error err = ERROR_NONE;
	struct probe probe;

	if (probe_devices(&probe, config, &err) != STATUS_OK) {
		add_error(&list, "devices", "", err.message);
	} else {
		collect(&list, &probe, ".");
		for (size_t i = 0; i < result->device_count; i++)
			if (!is_there(&probe, &result->devices[i]))
				add_error(&list, "device", result->devices[i].id,
					  "it is gone: it was there when the run began");
		probe_release(&probe);
	}
	result->postflight = list.items;
	result->postflight_count = list.count;
}

enum status health_add(struct result *result, struct finding *before, size_t count,
		       const struct config *config, const char *directory, struct error *err)
{
	char *path = xasprintf("%s/result.json", directory);
	enum status status;

	/* After the devices that were lost, which every run says. */
	result->preflight =
		xrealloc(result->preflight, result->preflight_count + count, sizeof(*before));
	if (count)
		memcpy(result->preflight + result->preflight_count, before,
		       count * sizeof(*before));
	result->preflight_count += count;
	free(before);
	probe_again(config, result);
	status = result_write(result, path, err);
	free(path);
	return status;
}
