/*
 * Commands of the program.
 *
 * Adding a command: add a file src/cli/commands/cmd_<name>.c that ends with `const struct command
 * command_<name>`, and a line COMMAND(<name>) to src/cli/commands.def. Its options are a table:
 * cli/options.h.
 *
 * run() gets argv with argv[0] the command's name and returns the exit code: 0 done and accepted, 1
 * a gate failed, 2 usage or configuration, 3 environment error, 4 inconclusive or incomplete, 5
 * wrong result, 70 a bug, 130/143 interrupted.
 */
#ifndef GPUPROOF_CLI_COMMAND_H
#define GPUPROOF_CLI_COMMAND_H

#define HELP_WIDTH 79 /* for a terminal of 80 columns */

#include "base/error.h"

enum exit_code {
	EXIT_ACCEPTED = 0,
	EXIT_GATE_FAILED = 1,
	EXIT_USAGE = 2,
	EXIT_ENVIRONMENT = 3,
	EXIT_INCOMPLETE = 4,
	EXIT_WRONG_RESULT = 5,
	EXIT_BUG = 70,
	EXIT_INTERRUPTED = 130,
	EXIT_TERMINATED = 143
};

struct action;
struct option_row;
struct text;

/*
 * `help` prints forms, about, options and notes, in this order; all except the forms may be NULL.
 */
struct command {
	const char *name;
	const char *summary; /* one line for `help` */
	/*
	 * "run CONFIG [OPTIONS]", at most 11, each printed after "gpuproof"; none: the forms of the
	 * actions
	 */
	const char *forms[12];
	const char *about; /* paragraphs */
	/* a table (cli/actions.h); NULL: the command has no actions */
	const struct action *actions;
	const struct option_row *options; /* a table (cli/options.h) */
	const char *notes;                /* as `about` */
	/*
	 * Lists words that may follow the name, for completion (cli/words.h), if it has no actions;
	 * NULL: a file, or nothing.
	 */
	void (*words)(struct text *out);
	int (*run)(int argc, char **argv);
};

extern const struct command *const commands[]; /* NULL-terminated */

/* Prints "gpuproof: <message>" to stderr; returns the exit code for err->status. */
int command_fail(const struct error *err);
/* Prints the message and the forms of the command's usage to stderr; returns EXIT_USAGE. */
int command_usage(const struct command *command, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
