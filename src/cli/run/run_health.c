#include "cli/run/run_health.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "result/host/xid_findings.h"

struct preflight_findings {
	struct finding *items;
	size_t count, capacity;
};

static void preflight_add_finding(void *context, const struct finding *finding)
{
	struct preflight_findings *list = context;

	/* A missing backend is not a finding on a machine that never had it. */
	if (strcmp(finding->topic, FINDING_BACKEND) == 0)
		return;
	ARRAY_GROW(list->items, list->count, list->capacity);
	list->items[list->count++] = *finding;
}

static void preflight_collect_findings(struct preflight_findings *list, const struct probe *probe,
				       const char *directory)
{
	for (size_t i = 0; i < probe->device_count; i++)
		device_findings(&probe->devices[i], preflight_add_finding, list);
	for (size_t i = 0; i < probe->finding_count; i++)
		preflight_add_finding(list, &probe->findings[i]);
	xid_findings("", probe->devices, probe->device_count, preflight_add_finding, list);
	host_findings("", directory, preflight_add_finding, list);
}

void health_collect(const struct probe *probe, struct finding **out, size_t *count)
{
	struct preflight_findings list = { 0 };

	preflight_collect_findings(&list, probe, ".");
	*out = list.items;
	*count = list.count;
}

static void run_health_add_error(struct preflight_findings *list, const char *topic, const char *id,
				 const char *text)
{
	struct finding f = { .severity = SEVERITY_ERROR };

	if (*id)
		finding_set_device(&f, topic, id);
	else
		finding_set_subject(&f, topic, "");
	snprintf(f.text, sizeof(f.text), "%.300s", text);
	preflight_add_finding(list, &f);
}

static bool is_there(const struct probe *probe, const struct device_info *device)
{
	for (size_t i = 0; i < probe->device_count; i++)
		if (strcmp(probe->devices[i].id, device->id) == 0 &&
		    strcmp(probe->devices[i].uuid, device->uuid) == 0)
			return true;
	return false;
}

/* A device that disappeared during the run, and a failed probe, are findings as well. */
static void probe_again(const struct config *config, struct result *result)
{
	struct preflight_findings list = { 0 };
	struct error err = ERROR_NONE;
	struct probe probe;

	if (probe_devices(&probe, config, &err) != STATUS_OK) {
		run_health_add_error(&list, FINDING_LOST, "", err.message);
	} else {
		preflight_collect_findings(&list, &probe, ".");
		for (size_t i = 0; i < result->device_count; i++)
			if (!is_there(&probe, &result->devices[i]))
				run_health_add_error(&list, FINDING_DEVICE, result->devices[i].id,
						     "lost during the run");
		probe_release(&probe);
	}
	result->postflight = list.items;
	result->postflight_count = list.count;
}

enum status health_add(struct result *result, struct finding *before, size_t count,
		       const struct config *config, const char *directory, struct error *err)
{
	/* After the lost devices, which every run reports. */
	result->preflight =
		xrealloc(result->preflight, result->preflight_count + count, sizeof(*before));
	if (count)
		memcpy(result->preflight + result->preflight_count, before,
		       count * sizeof(*before));
	result->preflight_count += count;
	free(before);
	probe_again(config, result);
	return result_write_to(result, directory, err);
}
