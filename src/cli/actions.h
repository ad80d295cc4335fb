/*
 * Actions: commands with several subcommands, such as "history add" and "history show". One row
 * describes an action completely: it drives the call, its checks, usage, `help`, the manual page
 * and completion. An option's row lists the actions that take it (cli/options.h).
 *
 *	static const struct action actions[] = {
 *		{ .name = "add", .form = "RESULT...", .least = 1, .most = ANY_NUMBER,
 *		  .run = add },
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
	const char *const *operands; /* operands after the action's name */
	int count;
};

struct action {
	const char *name; /* the first operand; a NULL name ends the table */
	/*
	 * operands and options in usage, then an explanation after three blanks; NULL: only the
	 * name
	 */
	const char *form;
	int least, most;                            /* number of operands after the name */
	int (*run)(const struct action_call *call); /* returns the exit code */
	/* lists possible operands for completion (cli/words.h); NULL: files */
	void (*words)(struct text *out);
};

/*
 * Parses the options into `arguments` and runs the action named by the first operand. An unknown
 * action, a wrong number of operands and an option of another action are usage errors.
 */
int command_act(const struct command *command, int argc, char **argv, void *arguments);

/* True if the action takes the option. */
bool action_takes(const struct action *action, const struct option_row *option);
/*
 * Lists the names of the actions, with `between` before each but the first, and `last` before the
 * last one.
 */
void actions_names(const struct action *actions, const char *between, const char *last,
		   struct text *out);

#endif
