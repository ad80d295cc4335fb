#include "plan/suites/library.h"

#include <ctype.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "base/units.h"
#include "plan/schema.h"
#include "plan/suites/plugin.h"
#include "plan/value.h"

/* With a slash, because dlopen() searches the system's folders for other names. */
static void *open_library(const char *path, struct error *err)
{
	char *file = strchr(path, '/') ? xstrdup(path) : xasprintf("./%s", path);
	void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
	const char *reason = library ? NULL : dlerror();

	free(file);
	if (!library)
		error_set(err, STATUS_USAGE, "cannot load it: %s",
			  reason ? reason : "dlopen failed");
	return library;
}

/* "suite.name" in lowercase letters, digits and '_'. */
static bool library_is_metric_name(const char *name, const char *suite)
{
	size_t length = strlen(suite);

	if (!name || strncmp(name, suite, length) != 0 || name[length] != '.' ||
	    !islower((unsigned char)name[length + 1]))
		return false;
	for (name += length + 1; *name; name++)
		if (!islower((unsigned char)*name) && !isdigit((unsigned char)*name) &&
		    *name != '_')
			return false;
	return true;
}

static enum status library_check_metrics(const struct suite *suite, struct error *err)
{
	char units[256];

	if (!suite->metrics || !suite->metrics->name)
		return error_set(err, STATUS_USAGE, "its suite %s has no metric", suite->name);
	for (const struct metric *m = suite->metrics; m->name; m++) {
		if (!library_is_metric_name(m->name, suite->name))
			return error_set(err, STATUS_USAGE,
					 "its metric '%.60s' must be named %s.NAME in small "
					 "letters, digits and '_'",
					 m->name, suite->name);
		if (!m->unit || !units_known(m->unit))
			return error_set(err, STATUS_USAGE,
					 "its metric %s has the unit '%.20s'; allowed: %s", m->name,
					 m->unit ? m->unit : "", units_all(units, sizeof(units)));
		if (!m->help)
			return error_set(err, STATUS_USAGE, "its metric %s has no help", m->name);
	}
	return STATUS_OK;
}

static enum status library_check_key(const struct suite *suite, const struct key *key,
				     struct error *err)
{
	struct values values = { 0 };
	enum status status = STATUS_OK;

	if (!key->help || (key->type == KEY_CHOICE && !key->choices))
		return error_set(err, STATUS_USAGE, "its key %s has no %s", key->name,
				 key->help ? "choices" : "help");
	if (key->fallback)
		status = values_parse(&values, key, key->fallback, schema_is_axis(suite, key), err);
	values_release(&values);
	return status == STATUS_OK ? status
				   : error_prefix(err, "the default of its key %s", key->name);
}

static const struct key *library_key_of(const struct suite *suite, const char *name)
{
	for (const struct key *key = suite->keys; key && key->name; key++)
		if (strcmp(key->name, name) == 0)
			return key;
	return NULL;
}

static enum status library_check_suite(const struct suite *suite, const char *name,
				       struct error *err)
{
	if (!suite || !suite->name || strcmp(suite->name, name) != 0)
		return error_set(err, STATUS_USAGE, "it contains the suite '%.60s', not '%.60s'",
				 suite && suite->name ? suite->name : "", name);
	if (!suite->summary || (!suite->run && !suite->run_group))
		return error_set(err, STATUS_USAGE, "its suite %s has no %s", name,
				 suite->summary ? "run()" : "summary");
	if (library_check_metrics(suite, err) != STATUS_OK)
		return err->status;
	for (const struct key *key = suite->keys; key && key->name; key++)
		if (library_check_key(suite, key, err) != STATUS_OK)
			return err->status;
	for (const char *const *axis = suite->axes; axis && *axis; axis++) {
		const struct key *key = library_key_of(suite, *axis);

		if (!key || !key->list)
			return error_set(err, STATUS_USAGE,
					 "its axis %s is not one of its list keys", *axis);
	}
	return STATUS_OK;
}

enum status library_suite(const char *path, const char *name, const struct suite **out,
			  struct error *err)
{
	const struct suite_plugin *plugin;
	void *library = open_library(path, err);

	if (!library)
		return err->status;
	plugin = dlsym(library, SUITE_PLUGIN_SYMBOL);
	if (!plugin)
		return error_set(err, STATUS_USAGE,
				 "not a gpuproof suite: no symbol " SUITE_PLUGIN_SYMBOL
				 " (the line SUITE(%.60s))",
				 name);
	if (plugin->abi != SUITE_ABI)
		return error_set(err, STATUS_USAGE,
				 "built for interface %08x, but this gpuproof has %08x; rebuild it "
				 "with the installed headers",
				 plugin->abi, SUITE_ABI);
	if (library_check_suite(plugin->suite, name, err) != STATUS_OK)
		return err->status;
	*out = plugin->suite;
	return STATUS_OK;
}
