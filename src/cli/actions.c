#include "cli/actions.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

#define MOST_ACTIONS 16

bool action_takes(const struct action *action, const struct option_row *option)
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

void actions_names(const struct action *actions, const char *between, const char *last,
		   struct text *out)
{
	for (const struct action *a = actions; a->name; a++)
		text_addf(out, "%s%s", a == actions ? "" : a[1].name ? between : last, a->name);
}

static int no_action(const struct command *command, const char *name)
{
	const char *names[MOST_ACTIONS + 1] = { NULL };
	struct text all = TEXT_EMPTY;
	char *instead;

	for (size_t i = 0; i < MOST_ACTIONS && command->actions[i].name; i++)
		names[i] = command->actions[i].name;
	actions_names(command->actions, ", ", " or ", &all);
	instead = name ? text_instead(name, names) : NULL;
	if (name)
		command_usage(command, "'%.60s' is not %s%s", name, all.data,
			      text_starts_with(instead, "; did") ? instead : "");
	else
		command_usage(command, "no action given; use %s", all.data);
	free(instead);
	text_release(&all);
	return EXIT_USAGE;
}

static int action_dispatch(const struct options *o, const struct action *action, void *arguments)
{
	const struct action_call call = { arguments, o->operands + 1, o->operand_count - 1 };

	if (action->most != ANY_NUMBER && call.count > action->most)
		return command_usage(o->command, "unexpected argument '%.60s'; %s takes %s",
				     call.operands[action->most], action->name,
				     action->most == 0   ? "only options"
				     : action->most == 1 ? "one argument"
							 : "fewer arguments");
	if (call.count < action->least) {
		const char *gap = strstr(action->form, "  ");

		/* The form of the action in usage, without its explanation. */
		return command_usage(o->command, "%s needs %.*s", action->name,
				     gap ? (int)(gap - action->form) : (int)strlen(action->form),
				     action->form);
	}
	for (size_t i = 0; o->command->options && o->command->options[i].name; i++)
		if (o->given & 1ULL << i && !action_takes(action, &o->command->options[i]))
			return command_usage(o->command, "--%s applies to %s, not to %s",
					     o->command->options[i].name,
					     o->command->options[i].actions, action->name);
	return action->run(&call);
}

int command_act(const struct command *command, int argc, char **argv, void *arguments)
{
	const struct action *action = command->actions;
	struct options o;
	int code = options_parse(&o, command, argc, argv, arguments);

	while (o.operand_count && action->name && strcmp(action->name, o.operands[0]) != 0)
		action++;
	if (code == EXIT_ACCEPTED)
		code = o.operand_count && action->name
			       ? action_dispatch(&o, action, arguments)
			       : no_action(command, o.operand_count ? o.operands[0] : NULL);
	options_end(&o);
	return code;
}
