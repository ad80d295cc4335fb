#include "cli/command.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "cli/fold.h"
#include "cli/options.h"
#include "cli/usage.h"

const struct command *const commands[] = {
#define COMMAND_GROUP(title)
#define COMMAND(name) &command_##name,
#include "cli/commands.def"
#undef COMMAND
#undef COMMAND_GROUP
	NULL,
};

const struct command *cli_command_named(const char *name)
{
	for (const struct command *const *c = commands; *c; c++)
		if (strcmp((*c)->name, name) == 0)
			return *c;
	return NULL;
}

int cli_command_fail(const struct error *err)
{
	fprintf(stderr, "gpuproof: %s\n", err->message);
	switch (err->status) {
	case STATUS_USAGE:
		return EXIT_USAGE;
	case STATUS_INTERNAL:
		return EXIT_BUG;
	case STATUS_INTERRUPTED:
		return EXIT_INTERRUPTED;
	case STATUS_MISMATCH:
		return EXIT_WRONG_RESULT;
	default:
		return EXIT_ENVIRONMENT;
	}
}

int cli_command_usage(const struct command *command, const char *format, ...)
{
	struct text forms = TEXT_EMPTY, folded = TEXT_EMPTY;
	struct error err = ERROR_NONE;
	va_list ap;

	va_start(ap, format);
	error_va(&err, STATUS_USAGE, format, ap);
	va_end(ap);
	fprintf(stderr, "gpuproof %s: %s", command->name, err.message);
	/* Only the usage forms: explanations would push the message off the screen. */
	usage_forms(command, "usage: ", &forms);
	fold_text(&folded, forms.data, HELP_WIDTH);
	fprintf(stderr, "\n%sMore: gpuproof help %s\n", folded.data, command->name);
	text_release(&forms);
	text_release(&folded);
	return EXIT_USAGE;
}

void cli_command_print_errors(struct text *errors)
{
	if (errors->data)
		fputs(errors->data, stderr);
	text_release(errors);
}

enum status cli_command_read_results(struct call *call, int first)
{
	return result_list_add_launches(&call->results, (const char **)call->operands + first,
					(size_t)(call->count - first), &call->err);
}

const char *cli_command_history_file(const char *option)
{
	const char *variable = getenv("GPUPROOF_DB");

	if (option)
		return option;
	return variable && *variable ? variable : "gpuproof-history.db";
}

enum status cli_command_open_history(struct call *call, const char *db, enum store_mode mode)
{
	return sqlite_store_open(&call->history, cli_command_history_file(db), mode, &call->err);
}

bool cli_command_action_takes(const struct action *action, const struct option_row *option)
{
	const char *at = option->actions;

	if (!at)
		return true;
	for (; *at; at += strspn(at, ", ")) {
		size_t length = strcspn(at, ", ");

		if (strlen(action->name) == length && strncmp(at, action->name, length) == 0)
			return true;
		at += length;
	}
	return false;
}

void cli_command_names(const struct action *actions, const char *between, const char *last,
		       struct text *out)
{
	for (const struct action *a = actions; a->name; a++)
		text_addf(out, "%s%s", a == actions ? "" : a[1].name ? between : last, a->name);
}

static int cli_command_no_action(const struct command *command, const char *name)
{
	const char *names[17] = { NULL };
	struct text all = TEXT_EMPTY;
	char *instead;

	for (size_t i = 0; i < ARRAY_SIZE(names) - 1 && command->actions[i].name; i++)
		names[i] = command->actions[i].name;
	cli_command_names(command->actions, ", ", " or ", &all);
	instead = name ? text_instead(name, names) : NULL;
	if (name)
		cli_command_usage(command, "'%.60s' is not %s%s", name, all.data,
				  text_starts_with(instead, "; did") ? instead : "");
	else
		cli_command_usage(command, "no action given. Actions: %s", all.data);
	free(instead);
	text_release(&all);
	return EXIT_USAGE;
}

/* Finds the action that the first operand names, and checks its options and operands. */
static int cli_command_find_action(struct call *call, const struct options *o, struct action *found)
{
	const struct command *command = call->command;
	const struct action *a = command->actions;
	char *form;
	int code;

	while (call->count && a->name && strcmp(a->name, *call->operands) != 0)
		a++;
	if (!call->count || !a->name)
		return cli_command_no_action(command, call->count ? *call->operands : NULL);
	*found = *a;
	call->operands++;
	call->count--;
	if (a->most != ANY_NUMBER && call->count > a->most)
		return cli_command_usage(command, "unexpected argument '%.60s'; %s takes %s",
					 call->operands[a->most], a->name,
					 a->most == 0   ? "only options"
					 : a->most == 1 ? "one argument"
							: "fewer arguments (see usage)");
	if (call->count < a->least) {
		form = usage_operands(command, a->name);
		code = cli_command_usage(command, "%s needs %s", a->name, form);
		free(form);
		return code;
	}
	for (size_t i = 0; command->options && command->options[i].name; i++)
		if (o->given & 1ULL << i && !cli_command_action_takes(a, &command->options[i]))
			return cli_command_usage(command, "--%s applies to %s, not to %s",
						 command->options[i].name,
						 command->options[i].actions, a->name);
	return EXIT_ACCEPTED;
}

int cli_command_execute(const struct command *command, int argc, char **argv)
{
	struct action action = { .run = command->run };
	struct call call = { .command = command,
			     .arguments = xcalloc(1, command->arguments),
			     .argc = argc,
			     .argv = argv };
	struct options o;
	int code = options_parse(&o, command, argc, argv, call.arguments);
	bool many;

	call.operands = o.operands;
	call.count = o.operand_count;
	call.separator = o.separator;
	many = !command->actions && command->most != ANY_NUMBER && call.count > command->most;
	if (code == EXIT_ACCEPTED && command->actions)
		code = cli_command_find_action(&call, &o, &action);
	else if (code == EXIT_ACCEPTED && command->wrong_count &&
		 (many || call.count < command->least))
		code = cli_command_usage(command, "%s", command->wrong_count);
	else if (code == EXIT_ACCEPTED && many)
		code = cli_command_usage(command, "unexpected argument '%s'",
					 call.operands[command->most]);
	if (code == EXIT_ACCEPTED)
		code = action.run(&call);
	if (call.err.status != STATUS_OK)
		code = cli_command_fail(&call.err);
	sqlite_store_close(call.history);
	if (command->end)
		code = command->end(&call, code);
	result_list_release(&call.results);
	free(call.arguments);
	options_end(&o);
	return code;
}
