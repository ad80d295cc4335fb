/* Opens the backends: the built-in ones, then the installed modules. */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "device/host/host_device.h"
#include "device/images.h"
#include "device/modules.h"

static const struct backend *const built_in[] = { &backend_host };

static void registry_add_missing(struct backend_list *list, const char *name, const char *why)
{
	if (list->missing_count == ARRAY_SIZE(list->missing))
		return;
	snprintf(list->missing[list->missing_count++], sizeof(list->missing[0]), "%.40s: %.270s",
		 name, why);
}

/*
 * True if `only` ("auto", NULL, or names separated by commas or spaces) contains `name`: "cuda"
 * includes cuda13.
 */
static bool registry_backend_is_wanted(const char *only, const char *name)
{
	static const char separators[] = ", \t";
	size_t length;

	if (!only || !*only || strcmp(only, "auto") == 0)
		return true;
	for (; *only; only += length) {
		only += strspn(only, separators);
		length = strcspn(only, separators);
		if (length > 0 && strncmp(only, name, length) == 0 &&
		    name[length + strspn(name + length, "0123456789")] == '\0')
			return true;
	}
	return false;
}

static void registry_open_backend(struct backend_list *list, const char *name,
				  const struct backend *backend,
				  const struct backend_options *options)
{
	struct error err = ERROR_NONE;
	bool is_open = false;

	/* Another file of a module that is open already: the first folder takes precedence. */
	for (size_t i = 0; i < list->count; i++)
		is_open = is_open || strcmp(list->backends[i]->module, backend->module) == 0;
	if (is_open)
		registry_add_missing(list, name,
				     "not used: another file of this name was found first");
	else if (list->count == ARRAY_SIZE(list->backends))
		registry_add_missing(list, name, "too many backends");
	else if (backend->open(options, &err) != STATUS_OK)
		registry_add_missing(list, name, err.message);
	else
		list->backends[list->count++] = backend;
}

/*
 * A module stays loaded until the process ends, even if it is not used: its libraries may have left
 * threads and exit handlers.
 */
static void registry_open_module(struct backend_list *list, const char *path,
				 const struct backend_options *options)
{
	const struct backend *backend;
	char name[64], why[128];
	void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL);

	backend_module_name(path, name, sizeof(name));
	if (!module) {
		const char *reason = dlerror();

		registry_add_missing(list, name, reason ? reason : "dlopen failed");
		return;
	}
	backend = dlsym(module, "gpuproof_backend");
	if (!backend) {
		registry_add_missing(list, name,
				     "not a gpuproof backend: no symbol gpuproof_backend");
	} else if (backend->abi != BACKEND_ABI) {
		snprintf(why, sizeof(why), "built for backend interface %u; this gpuproof has %u",
			 backend->abi, BACKEND_ABI);
		registry_add_missing(list, name, why);
	} else {
		registry_open_backend(list, name, backend, options);
	}
}

/* "cuda13: machine code for 9.0" or "not cuda13: ..."; true if it has code for the device. */
static bool registry_backend_drives_device(const struct backend *backend, int index,
					   bool chosen_already, struct device_choice *choice)
{
	struct error err = ERROR_NONE;
	size_t length = strlen(choice->why);
	const char *separator = length ? "; " : "";
	char how[128] = "";
	bool drives;

	if (index >= backend->device_count())
		return false;
	drives = !backend->drives || backend->drives(index, how, sizeof(how), &err) == STATUS_OK;
	if (drives && !chosen_already) {
		choice->backend = backend;
		choice->severity = device_images_compiled(how) ? SEVERITY_NOTE : SEVERITY_OK;
	}
	snprintf(choice->why + length, sizeof(choice->why) - length,
		 drives ? "%s%.20s%s%.100s" : "%snot %.20s%s%.200s", separator, backend->module,
		 how[0] || !drives ? ": " : "", drives ? how : err.message);
	return drives;
}

/*
 * Chooses the first module in the list that has code for the device; else the first of all, which
 * will report why not.
 */
static void registry_choose_for(struct backend_list *list, size_t first, int index)
{
	struct device_choice *choice;
	const char *name = list->backends[first]->name;
	bool chosen = false;

	for (size_t i = 0; i < first; i++)
		if (strcmp(list->backends[i]->name, name) == 0)
			return; /* chosen already */
	ARRAY_GROW(list->choices, list->choice_count, list->choice_capacity);
	choice = &list->choices[list->choice_count];
	*choice = (struct device_choice){ .backend = list->backends[first],
					  .index = index,
					  .severity = SEVERITY_WARNING };
	for (size_t i = first; i < list->count; i++)
		if (strcmp(list->backends[i]->name, name) == 0)
			chosen |= registry_backend_drives_device(list->backends[i], index, chosen,
								 choice);
	list->choice_count++;
}

static void registry_close_unneeded(struct backend_list *list)
{
	size_t kept = 0;

	for (size_t i = 0; i < list->count; i++) {
		const struct backend *backend = list->backends[i];
		bool chosen = false;

		for (size_t k = 0; k < list->choice_count; k++)
			chosen = chosen || list->choices[k].backend == backend;
		if (chosen) {
			list->backends[kept++] = backend;
			continue;
		}
		backend->close();
		registry_add_missing(list, backend->module,
				     "not used: a newer module drives these devices");
	}
	list->count = kept;
}

bool backends_chose(const struct backend_list *list, const struct backend *backend, int index)
{
	for (size_t i = 0; i < list->choice_count; i++)
		if (list->choices[i].index == index && list->choices[i].backend == backend)
			return true;
	return false;
}

void backends_open(struct backend_list *list, const char *only,
		   const struct backend_options *options)
{
	struct backend_modules modules;
	struct text names = TEXT_EMPTY;
	char name[64];

	memset(list, 0, sizeof(*list));
	for (size_t i = 0; i < ARRAY_SIZE(built_in); i++) {
		text_addf(&names, "%s%s", i ? ", " : "", built_in[i]->name);
		if (registry_backend_is_wanted(only, built_in[i]->name))
			registry_open_backend(list, built_in[i]->name, built_in[i], options);
	}
	if (!backend_modules_find(&modules))
		registry_add_missing(list, "$GPUPROOF_BACKENDS", strerror(errno));
	for (size_t i = 0; i < modules.count; i++) {
		backend_module_name(modules.paths[i], name, sizeof(name));
		text_addf(&names, ", %s", name);
		if (registry_backend_is_wanted(only, name))
			registry_open_module(list, modules.paths[i], options);
	}
	backend_modules_release(&modules);
	for (size_t i = 0; i < list->count; i++)
		for (int index = 0; index < list->backends[i]->device_count(); index++)
			registry_choose_for(list, i, index);
	registry_close_unneeded(list);
	if (list->count == 0 && list->missing_count == 0) {
		char *why = xasprintf("unknown backend; found: %s", names.data);

		/* Reports that no backend of that name was found, and the existing ones. */
		registry_add_missing(list, only ? only : "auto", why);
		free(why);
	}
	text_release(&names);
}

void backends_close(struct backend_list *list)
{
	while (list->count > 0)
		list->backends[--list->count]->close();
	free(list->choices);
	list->choices = NULL;
	list->choice_count = list->choice_capacity = 0;
}
