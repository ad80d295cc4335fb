/* Device selection: applies [run] backend and devices to the devices found. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "plan/plan.h"

struct selection {
	const struct device_info *devices;
	size_t count;
	const char *backend; /* backend of bare indices and of "all" */
	bool any_backend;    /* backend = auto: ids may also name other backends */
	bool *chosen;
};

static char *plan_select_list_existing_devices(const struct selection *s)
{
	struct text list = TEXT_EMPTY;

	for (size_t i = 0; i < s->count; i++)
		text_addf(&list, "%s%s", i ? ", " : "", s->devices[i].id);
	if (!s->count)
		text_add(&list, "none");
	return text_detach(&list);
}

static enum status select_device(struct selection *s, const char *wanted, struct error *err)
{
	char *list;

	for (size_t i = 0; i < s->count; i++) {
		const struct device_info *d = &s->devices[i];
		bool of_backend = device_is_of(d, s->backend);

		if (strchr(wanted, ':')
			    ? strcmp(d->id, wanted) == 0 && (of_backend || s->any_backend)
			    : of_backend && d->index == atoi(wanted)) {
			s->chosen[i] = true;
			return STATUS_OK;
		}
	}
	list = plan_select_list_existing_devices(s);
	error_set(err, STATUS_USAGE, "[run] devices: this machine has no device %s%s%s; it has: %s",
		  wanted, s->any_backend ? "" : " of backend ", s->any_backend ? "" : s->backend,
		  list);
	free(list);
	return STATUS_USAGE;
}

static enum status select_choose_all(struct selection *s, struct error *err)
{
	size_t found = 0;
	char *list;

	for (size_t i = 0; i < s->count; i++) {
		s->chosen[i] = device_is_of(&s->devices[i], s->backend);
		found += s->chosen[i];
	}
	if (found)
		return STATUS_OK;
	list = plan_select_list_existing_devices(s);
	error_set(err, STATUS_UNSUPPORTED,
		  "[run] backend = %s: this machine has no device of this backend; it has: %s",
		  s->backend, list);
	free(list);
	return STATUS_UNSUPPORTED;
}

enum status plan_select_devices(const struct config *config, const struct device_info *devices,
				size_t device_count, struct device_info **selected,
				size_t *selected_count, struct error *err)
{
	const struct section *run = config_section(config, "run", "");
	const struct setting *wanted = section_setting(run, "devices");
	const char *backend = section_text(run, "backend");
	struct selection s = { .devices = devices, .count = device_count, .backend = backend };
	enum status status = STATUS_OK;

	*selected = NULL;
	*selected_count = 0;
	s.any_backend = strcmp(backend, "auto") == 0;
	/* The first backend with a device, except the host. */
	if (s.any_backend)
		s.backend = "host";
	for (size_t i = device_count; i-- > 0 && s.any_backend;)
		if (!device_is_host(&devices[i]))
			s.backend = devices[i].backend;
	s.chosen = xcalloc(device_count, sizeof(*s.chosen));
	if (strcmp(wanted->values[0].text, "all") == 0)
		status = select_choose_all(&s, err);
	else
		for (size_t i = 0; i < wanted->count && status == STATUS_OK; i++)
			status = select_device(&s, wanted->values[i].text, err);
	if (status == STATUS_OK) {
		*selected = xcalloc(device_count, sizeof(**selected));
		for (size_t i = 0; i < device_count; i++)
			if (s.chosen[i])
				(*selected)[(*selected_count)++] = devices[i];
	}
	free(s.chosen);
	return status;
}
