/*
 * Commands of the program, and actions: commands with several subcommands, such as "history add"
 * and "history show".
 *
 * Adding a command: add a file src/cli/commands/cmd_<name>.c that ends with `const struct command
 * command_<name>`, a line COMMAND(<name>) to src/cli/commands.def, and its help:
 * docs/commands/<name>.txt (cli/usage.h). Its options are a table: cli/options.h.
 *
 * run() returns the exit code: 0 done and accepted, 1 a gate failed, 2 usage or configuration, 3
 * environment error, 4 inconclusive or incomplete, 5 wrong result, 70 a bug, 130/143 interrupted.
 */
#ifndef GPUPROOF_CLI_COMMAND_H
#define GPUPROOF_CLI_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/text.h"
#include "cli/input/result_list.h"
#include "history/store.h"

#define HELP_WIDTH 79 /* for a terminal of 80 columns */
#define ANY_NUMBER (-1)

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

struct command;
struct option_row;

/* One call of a command, whose owner is cli_command_execute(). */
struct call {
	const struct command *command;
	void *arguments;             /* the struct of the command's options */
	const char *const *operands; /* of an action: those after its name */
	int count;
	int separator; /* number of operands before "--"; -1: there is none */
	int argc;      /* the arguments as given, argv[0] the name of the command */
	char **argv;
	/* If run() sets it, its message is printed, and its status determines the exit code. */
	struct error err;
	struct result_list results; /* cli_command_read_results() */
	struct store *history;      /* cli_command_open_history() */
};

/* One row describes an action: it drives the call, its checks and completion. */
struct action {
	const char *name;              /* the first operand; a NULL name ends the table */
	int least, most;               /* number of operands after the name */
	int (*run)(struct call *call); /* returns the exit code */
	void (*words)(
		struct text *out); /* lists operands for completion (cli/words.h); NULL: files */
};

struct command {
	const char *name;
	const struct option_row *options; /* a table (cli/options.h) */
	size_t arguments;             /* size of the struct of its options, which begins zeroed */
	const struct action *actions; /* NULL: the command has none */
	/* Without actions, as in struct action. */
	int least, most;
	int (*run)(struct call *call);
	void (*words)(struct text *out);
	/* Message for another number of operands; NULL: names the first one that is too many. */
	const char *wrong_count;
	/*
	 * Releases the arguments, also after a usage error; returns the exit code, usually `code`.
	 * NULL: nothing to release.
	 */
	int (*end)(struct call *call, int code);
};

#define COMMAND_GROUP(title)
#define COMMAND(name) extern const struct command command_##name;
#include "cli/commands.def"
#undef COMMAND
#undef COMMAND_GROUP

extern const struct command *const commands[]; /* NULL-terminated */

const struct command *cli_command_named(const char *name); /* NULL: none */
/*
 * Parses the options, checks the number of operands and runs the command, or the action named by
 * the first operand. Returns the exit code.
 */
int cli_command_execute(const struct command *command, int argc, char **argv);

/* Prints "gpuproof: <message>" to stderr; returns the exit code for err->status. */
int cli_command_fail(const struct error *err);
/* Prints the message and the forms of the command's usage to stderr; returns EXIT_USAGE. */
int cli_command_usage(const struct command *command, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Prints lines of errors and releases them. */
void cli_command_print_errors(struct text *errors);

/* Adds the operands from `first` on to call->results, as launches; sets call->err. */
enum status cli_command_read_results(struct call *call, int first);
/*
 * `option`, the value of --db; if NULL, GPUPROOF_DB, else gpuproof-history.db in the working
 * directory.
 */
const char *cli_command_history_file(const char *option);
/* Opens the history of --db, or NULL if it was not given, as call->history; sets call->err. */
enum status cli_command_open_history(struct call *call, const char *db, enum store_mode mode);

/* True if the action takes the option. */
bool cli_command_action_takes(const struct action *action, const struct option_row *option);
/*
 * Lists the names of the actions, with `between` before each but the first, and `last` before the
 * last one.
 */
void cli_command_names(const struct action *actions, const char *between, const char *last,
		       struct text *out);

#endif
