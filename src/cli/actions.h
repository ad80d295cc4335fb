/*
 * Commands that do several things: "history add", "history show". A row is everything there is to
 * know about an action: it drives the call, its check, usage, `help`, the manual page and the
 * completions. Which actions take an option is in the option's row (cli/options.h).
 *
 *	static const struct action actions[] = {
 *		{ .name = "add", .form = "RESULT...", .least = 1, .most = ANY_NUMBER, .run = add },
 *		{ 0 },
 *	};
 *	const struct command command_history = { .actions = actions, ... };
 */
#ifndef GPUPROOF_CLI_ACTIONS_H
#define GPUPROOF_CLI_ACTIONS_H

#include "cli/options.h"

#define ANY_NUMBER (-1)

struct action_call {
	void *arguments;             /* the struct of the command's options */
	const char *const *operands; /* after the action's name */
	int count;
};

struct action {
	const char *name; /* the first operand; the table ends with NULL */
	/*
	 * in usage, after the name: operands and options, and after three blanks an explanation;
	 * NULL: the name alone
	 */
	const char *form;
	int least, most;                            /* operands after the name */
	int (*run)(const struct action_call *call); /* returns the process's exit code */
	void (*words)(struct text *out); /* that operands may be (cli/words.h); NULL: files */
};

/*
 * Parses the options into `arguments`, and carries out the action that the first operand names.
 * No such action, too few or too many operands and an option of another action are usage errors.
 */
int command_act(const struct command *command, int argc, char **argv, void *arguments);

/* True if the action takes the option. */
bool action_takes(const struct action *action, const struct option_row *option);
/* The actions' names, each with `between` before it but the first, `last` before the last one. */
void actions_names(const struct action *actions, const char *between, const char *last,
		   struct text *out);

#endif
