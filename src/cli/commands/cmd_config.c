/* gpuproof config: validates, shows, explains and copies configs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/embedded.h"
#include "base/file.h"
#include "base/memory.h"
#include "cli/command.h"
#include "cli/input/overrides.h"
#include "cli/options.h"
#include "cli/words.h"
#include "judge/limits.h"
#include "plan/config.h"
#include "plan/schema.h"
#include "plan/value.h"

/* Arguments shared by the subcommands. */
struct config_arguments {
	struct overrides overrides;
	const char *output;
	bool origin, force;
};

static const struct option_row rows[] = {
	CALL_ROW("set", "SECTION.KEY=VALUE", overrides_take, config_arguments, overrides,
		 .words = cli_words_settings, .actions = "validate, show"),
	FLAG_ROW(0, "origin", config_arguments, origin, .actions = "show"),
	TEXT_ROW('o', "output", "FILE", config_arguments, output, .actions = "write",
		 .file = OPTION_FILE_WRITTEN),
	FLAG_ROW(0, "force", config_arguments, force, .actions = "write"),
	{ 0 },
};

/* A limits file, or the name of shipped limits, is not a config: it has nothing to run. */
static bool cmd_config_validate_limits(const char *name)
{
	struct text errors = TEXT_EMPTY;
	struct limits limits;
	bool valid = judge_limits_load(&limits, name, &errors) == STATUS_OK && limits.count > 0;

	if (valid)
		printf("%s: valid, %zu limit%s, no suite to run\n", name, limits.count,
		       limits.count == 1 ? "" : "s");
	if (valid && errors.data)
		fputs(errors.data, stderr);
	judge_limits_release(&limits);
	text_release(&errors);
	return valid;
}

static int cmd_config_validate_action(struct call *call)
{
	const struct config_arguments *a = call->arguments;
	int code = EXIT_ACCEPTED;

	for (int i = 0; i < call->count; i++) {
		const char *name = call->operands[i];
		struct text errors = TEXT_EMPTY;
		struct config config;
		size_t found = 0;
		bool valid = config_load(&config, name, a->overrides.items, a->overrides.count,
					 &errors) == STATUS_OK;

		for (size_t k = 0; k < config.count; k++)
			found += config.sections[k].suite != NULL;
		if (valid)
			printf("%s: valid, %zu suite%s\n", config.name, found, text_plural(found));
		/* A limits file is never a config; overrides need a config. */
		else
			valid = !a->overrides.count && cmd_config_validate_limits(name);
		if (valid && !config.count)
			text_release(&errors);
		cli_command_print_errors(&errors);
		config_release(&config);
		code = valid ? code : EXIT_USAGE;
	}
	return code;
}

static int cmd_config_show(struct call *call)
{
	const struct config_arguments *a = call->arguments;
	struct text errors = TEXT_EMPTY, out = TEXT_EMPTY;
	struct config config;
	enum status status = config_load(&config, call->operands[0], a->overrides.items,
					 a->overrides.count, &errors);

	if (status == STATUS_OK) {
		config_write(&config, a->origin, &out);
		fputs(out.data, stdout);
	}
	cli_command_print_errors(&errors);
	config_release(&config);
	text_release(&out);
	return status == STATUS_OK ? EXIT_ACCEPTED : EXIT_USAGE;
}

static void cmd_config_print_keys(const char *title, const struct key *key)
{
	struct text what = TEXT_EMPTY;

	printf("%s\n", title);
	for (; key && key->name; key++) {
		text_reset(&what);
		plan_value_key_describe(key, &what);
		printf("  %s = %s\n      %s; %s\n", key->name,
		       key->fallback ? key->fallback : "(required)", key->help, what.data);
	}
	printf("\n");
	text_release(&what);
}

static void cmd_config_print_suite(const struct suite *suite)
{
	char *title = xasprintf("[suite %s]: %s", suite->name, suite->summary);

	cmd_config_print_keys(title, suite->keys);
	free(title);
}

/* Sections that are not suites. */
static const struct {
	const char *name, *title;
	const struct key *keys;
} others[] = {
	{ "run", "[run]: devices, launches and label", run_keys },
	{ "limit", "[limit NAME]: bound for a metric", limit_keys },
	{ "fleet", "[fleet]: runs on several nodes", fleet_keys },
	{ "report", "[report]: contents of the page", report_keys },
};

/* The keys of a section that is not a suite, or NULL if there is none of that name. */
static const struct key *cmd_config_other_keys(const char *name, const char **title)
{
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		if (strcmp(others[i].name, name) == 0) {
			*title = others[i].title;
			return others[i].keys;
		}
	return NULL;
}

static int cmd_config_keys_action(struct call *call)
{
	bool suite = !call->count;
	const char *title;
	char *instead;

	for (int i = 0; i < call->count && call->err.status == STATUS_OK; i++)
		if (!cmd_config_other_keys(call->operands[i], &title) &&
		    !suite_find(call->operands[i])) {
			instead = cli_words_instead(call->operands[i], cli_words_sections);
			error_set(&call->err, STATUS_USAGE, "unknown section '%s'%s",
				  call->operands[i], instead);
			free(instead);
		}
	if (call->err.status != STATUS_OK)
		return EXIT_USAGE;
	for (size_t i = 0; !call->count && i < ARRAY_SIZE(others); i++)
		cmd_config_print_keys(others[i].title, others[i].keys);
	for (const struct suite *const *s = suites; !call->count && *s; s++)
		cmd_config_print_suite(*s);
	for (int i = 0; i < call->count; i++) {
		const struct key *keys = cmd_config_other_keys(call->operands[i], &title);

		if (keys)
			cmd_config_print_keys(title, keys);
		else
			cmd_config_print_suite(suite_find(call->operands[i]));
		suite = suite || !keys;
	}
	if (suite) {
		/* Keys of every suite, printed once. */
		cmd_config_print_keys("every [suite]", suite_keys);
		cmd_config_print_keys("every [suite], and [defaults] for all suites",
				      schema_program.sampling);
	}
	return EXIT_ACCEPTED;
}

static int cmd_config_write_embedded(struct call *call)
{
	const struct config_arguments *a = call->arguments;
	const char *operand = call->operands[0], *path;
	const struct embedded_file *file;
	char *name = xasprintf("%s%s", operand, text_ends_with(operand, ".ini") ? "" : ".ini");
	char *instead;

	path = a->output ? a->output : name;
	file = embedded_find(embedded_configs, name);
	if (!file)
		file = embedded_find(embedded_limits, name);
	if (!file)
		file = embedded_find(embedded_claims, name);
	if (!file) {
		instead = cli_words_instead(operand, cli_words_embedded);
		error_set(&call->err, STATUS_USAGE,
			  "no shipped config, limits or claims named '%s'%s", operand, instead);
		free(instead);
	} else if (!a->force && access(path, F_OK) == 0)
		error_set(&call->err, STATUS_USAGE, "%s exists; add --force to overwrite it", path);
	else if (file_publish(path, (const char *)file->data, file->size, &call->err) == STATUS_OK)
		printf("%s\n", path);
	free(name);
	return EXIT_ACCEPTED;
}

static const struct action actions[] = {
	{ .name = "validate",
	  .least = 1,
	  .most = ANY_NUMBER,
	  .run = cmd_config_validate_action,
	  .words = cli_words_configs },
	{ .name = "show",
	  .least = 1,
	  .most = 1,
	  .run = cmd_config_show,
	  .words = cli_words_configs },
	{ .name = "keys",
	  .most = ANY_NUMBER,
	  .run = cmd_config_keys_action,
	  .words = cli_words_sections },
	{ .name = "write",
	  .least = 1,
	  .most = 1,
	  .run = cmd_config_write_embedded,
	  .words = cli_words_embedded },
	{ 0 },
};

static int cmd_config_end(struct call *call, int code)
{
	overrides_release(&((struct config_arguments *)call->arguments)->overrides);
	return code;
}

const struct command command_config = {
	.name = "config",
	.actions = actions,
	.options = rows,
	.arguments = sizeof(struct config_arguments),
	.end = cmd_config_end,
};
