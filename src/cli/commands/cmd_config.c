/* gpuproof config: validates, shows, explains and copies configs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/embedded.h"
#include "base/file.h"
#include "base/memory.h"
#include "cli/actions.h"
#include "cli/command.h"
#include "cli/words.h"
#include "judge/limits.h"
#include "plan/config.h"
#include "plan/schema.h"
#include "plan/value.h"

extern const struct command command_config;

/* Arguments shared by the subcommands. */
struct config_arguments {
	struct override *overrides;
	size_t override_count;
	const char *output;
	bool origin, force;
};

static enum status config_take_override(void *arguments, const char *name, const char *value,
					struct error *err)
{
	struct config_arguments *a = arguments;

	(void)name;
	a->overrides[a->override_count++].text = value;
	return err->status;
}

/* clang-format off: rows */
static const struct option_row rows[] = {
	{ .name = "set",
	  .type = OPTION_CALL,
	  .take = config_take_override,
	  .value = "SECTION.KEY=VALUE",
	  .words = words_settings,
	  .actions = "validate, show",
	  .help = "override a key; repeatable" },
	{ .name = "origin",
	  FLAG_AT(config_arguments, origin),
	  .actions = "show",
	  .help = "also print the origin of each key" },
	{ .name = "output",
	  .letter = 'o',
	  TEXT_AT(config_arguments, output),
	  .actions = "write",
	  .value = "FILE",
	  .file = OPTION_FILE_WRITTEN,
	  .help = "file to write" },
	{ .name = "force",
	  FLAG_AT(config_arguments, force),
	  .actions = "write",
	  .help = "overwrite an existing file" },
	{ 0 },
};
/* clang-format on */

/* A limits file, or the name of shipped limits, is not a config: it has nothing to run. */
static bool validate_limits(const char *name)
{
	struct text errors = TEXT_EMPTY;
	struct limits limits;
	bool valid = limits_load(&limits, name, &errors) == STATUS_OK && limits.count > 0;

	if (valid)
		printf("%s: valid, %zu limit%s, nothing to run\n", name, limits.count,
		       limits.count == 1 ? "" : "s");
	if (valid && errors.data)
		fputs(errors.data, stderr);
	limits_release(&limits);
	text_release(&errors);
	return valid;
}

static int validate_one(const struct config_arguments *a, const char *name)
{
	struct text errors = TEXT_EMPTY;
	struct config config;
	size_t suites_found = 0;
	enum status status;

	status = config_load(&config, name, a->overrides, a->override_count, &errors);
	for (size_t i = 0; i < config.count; i++)
		suites_found += config.sections[i].suite != NULL;
	if (status == STATUS_OK)
		printf("%s: valid, %zu suite%s\n", config.name, suites_found,
		       suites_found == 1 ? "" : "s");
	/* A limits file is never a config; overrides need a config. */
	else if (!a->override_count && validate_limits(name))
		status = STATUS_OK;
	if (errors.data && (status != STATUS_OK || config.count))
		fputs(errors.data, stderr);
	config_release(&config);
	text_release(&errors);
	return status == STATUS_OK ? EXIT_ACCEPTED : EXIT_USAGE;
}

static int config_validate_action(const struct action_call *call)
{
	int code = EXIT_ACCEPTED;

	for (int i = 0; i < call->count; i++)
		if (validate_one(call->arguments, call->operands[i]) != EXIT_ACCEPTED)
			code = EXIT_USAGE;
	return code;
}

static int config_show(const struct action_call *call)
{
	const struct config_arguments *a = call->arguments;
	struct text errors = TEXT_EMPTY, out = TEXT_EMPTY;
	struct config config;
	enum status status;

	status = config_load(&config, call->operands[0], a->overrides, a->override_count, &errors);
	if (status == STATUS_OK) {
		config_write(&config, a->origin, &out);
		fputs(out.data, stdout);
	}
	if (errors.data)
		fputs(errors.data, stderr);
	config_release(&config);
	text_release(&errors);
	text_release(&out);
	return status == STATUS_OK ? EXIT_ACCEPTED : EXIT_USAGE;
}

static void config_print_keys(const char *title, const struct key *key)
{
	struct text what = TEXT_EMPTY;

	printf("%s\n", title);
	for (; key && key->name; key++) {
		text_reset(&what);
		key_describe(key, &what);
		printf("  %s = %s\n      %s; %s\n", key->name,
		       key->fallback ? key->fallback : "(required)", key->help, what.data);
	}
	printf("\n");
	text_release(&what);
}

static void config_print_suite(const struct suite *suite)
{
	char *title = xasprintf("[suite %s]: %s", suite->name, suite->summary);

	config_print_keys(title, suite->keys);
	free(title);
}

/* Sections that are not suites. */
static const struct {
	const char *name, *title;
	const struct key *keys;
} others[] = {
	{ "run", "[run]: devices, launches and label", run_keys },
	{ "limit", "[limit NAME]: a bound for a metric", limit_keys },
	{ "fleet", "[fleet]: runs on several nodes", fleet_keys },
	{ "report", "[report]: contents of the page", report_keys },
};

static int config_unknown_section(const char *name)
{
	const char *names[64];
	struct error err = ERROR_NONE;
	size_t count = 0;
	char *instead;

	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		names[count++] = others[i].name;
	for (const struct suite *const *s = suites; *s && count + 1 < ARRAY_SIZE(names); s++)
		names[count++] = (*s)->name;
	names[count] = NULL;
	instead = text_instead(name, names);
	error_set(&err, STATUS_USAGE, "unknown section '%s'%s", name, instead);
	free(instead);
	return command_fail(&err);
}

static bool config_print_other(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		if (strcmp(others[i].name, name) == 0) {
			config_print_keys(others[i].title, others[i].keys);
			return true;
		}
	return false;
}

static bool config_is_section(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		if (strcmp(others[i].name, name) == 0)
			return true;
	return suite_find(name) != NULL;
}

static int config_keys_action(const struct action_call *call)
{
	bool suite = !call->count;

	for (int i = 0; i < call->count; i++)
		if (!config_is_section(call->operands[i]))
			return config_unknown_section(call->operands[i]);
	for (size_t i = 0; !call->count && i < ARRAY_SIZE(others); i++)
		config_print_other(others[i].name);
	for (const struct suite *const *s = suites; !call->count && *s; s++)
		config_print_suite(*s);
	for (int i = 0; i < call->count; i++)
		if (!config_print_other(call->operands[i])) {
			config_print_suite(suite_find(call->operands[i]));
			suite = true;
		}
	if (suite) {
		/* Keys of every suite, printed once. */
		config_print_keys("every [suite]", suite_keys);
		config_print_keys("every [suite]; [defaults] sets them for all suites",
				  schema_program.sampling);
	}
	return EXIT_ACCEPTED;
}

static int config_write_file(const char *path, const struct embedded_file *file, bool force)
{
	struct error err = ERROR_NONE;

	if (!force && access(path, F_OK) == 0)
		error_set(&err, STATUS_USAGE, "%s exists; add --force to overwrite it", path);
	if (err.status != STATUS_OK ||
	    file_publish(path, (const char *)file->data, file->size, &err) != STATUS_OK)
		return command_fail(&err);
	printf("%s\n", path);
	return EXIT_ACCEPTED;
}

#define STEMS_MOST 64

/* Names without ".ini"; the caller frees them. */
static size_t config_add_names(const struct embedded_file *files, char **names, size_t count)
{
	for (const struct embedded_file *f = files; f->name && count + 1 < STEMS_MOST; f++)
		names[count++] = xstrndup(f->name, strlen(f->name) - 4);
	return count;
}

static int config_unknown_embedded(const char *name)
{
	char *names[STEMS_MOST] = { NULL };
	size_t count = config_add_names(embedded_configs, names, 0);
	struct error err = ERROR_NONE;
	char *instead;

	count = config_add_names(embedded_claims, names,
				 config_add_names(embedded_limits, names, count));
	instead = text_instead(name, (const char *const *)names);
	error_set(&err, STATUS_USAGE, "no shipped config, limits or claims named '%s'%s", name,
		  instead);
	free(instead);
	while (count-- > 0)
		free(names[count]);
	return command_fail(&err);
}

static int config_write_embedded(const struct action_call *call)
{
	const struct config_arguments *a = call->arguments;
	const char *operand = call->operands[0];
	const struct embedded_file *file;
	char *name;
	int code;

	name = xasprintf("%s%s", operand, text_ends_with(operand, ".ini") ? "" : ".ini");
	file = embedded_find(embedded_configs, name);
	if (!file)
		file = embedded_find(embedded_limits, name);
	if (!file)
		file = embedded_find(embedded_claims, name);
	code = file ? config_write_file(a->output ? a->output : name, file, a->force)
		    : config_unknown_embedded(operand);
	free(name);
	return code;
}

static const struct action actions[] = {
	{ .name = "validate",
	  .form = "CONFIG... [--set SECTION.KEY=VALUE]...",
	  .least = 1,
	  .most = ANY_NUMBER,
	  .run = config_validate_action,
	  .words = words_configs },
	{ .name = "show",
	  .form = "CONFIG [--origin] [--set SECTION.KEY=VALUE]...",
	  .least = 1,
	  .most = 1,
	  .run = config_show,
	  .words = words_configs },
	{ .name = "keys",
	  .form = "[SECTION]...",
	  .most = ANY_NUMBER,
	  .run = config_keys_action,
	  .words = words_sections },
	{ .name = "write",
	  .form = "NAME [-o FILE] [--force]",
	  .least = 1,
	  .most = 1,
	  .run = config_write_embedded,
	  .words = words_embedded },
	{ 0 },
};

static int config_run(int argc, char **argv)
{
	struct config_arguments a = { .overrides = xcalloc((size_t)argc, sizeof(*a.overrides)) };
	int code = command_act(&command_config, argc, argv, &a);

	free(a.overrides);
	return code;
}

const struct command command_config = {
	.name = "config",
	.summary = "validate, show, explain or copy a config",
	.about = "CONFIG is a file, - (standard input) or the name of a shipped config. keys "
		 "prints the keys of a suite, of run, limit, fleet or report, or all keys. show "
		 "prints the effective config. write copies a shipped config, the limits of a GPU "
		 "model (h200, generic) or the claims of a guide (c-memory) to a file for editing.",
	.actions = actions,
	.options = rows,
	.run = config_run,
};
