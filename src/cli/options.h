/*
 * Command-line options from a table. Long names must be written out (getopt_long() takes any unique prefix, so that a new option can
 * break a script); --name VALUE, --name=VALUE, -o VALUE, -oVALUE and -qoVALUE; "--" ends the options.
 *
 *	static const struct option_row rows[] = { { 'o', "output", true }, { 0, "quiet", false }, { 0 } };
 *	struct options o = options_begin(&command_run, rows, argc, argv);
 *	if ((code = options_take(&o, take_option, &arguments)) == EXIT_ACCEPTED)
 *		... o.operands[0 .. o.operand_count - 1] ...
 *	options_end(&o);
 */
#ifndef GPUPROOF_CLI_OPTIONS_H
#define GPUPROOF_CLI_OPTIONS_H

#include <stdbool.h>

#include "cli/command.h"

/* Tables may say false and true. What may have a value gets it by --name=VALUE alone, and NULL without. */
enum option_value { OPTION_FLAG = false, OPTION_TAKES_VALUE = true, OPTION_MAY_HAVE_VALUE };

struct option_row {
	char letter;      /* 'o' for -o; 0: none */
	const char *name; /* "output" for --output; the table ends with NULL */
	enum option_value takes_value;
};

struct options {
	const struct command *command; /* for messages */
	const struct option_row *rows;
	int argc, at;
	char **argv;
	const char *letters;   /* more short options of the same argument; NULL: none */
	const char *value;     /* of the option just returned */
	const char **operands; /* arguments that are no options */
	int operand_count;
	bool failed; /* a message with the usage was printed */
};

struct options options_begin(const struct command *command, const struct option_row *rows, int argc,
			     char **argv);
/* The next option; NULL at the end and on an error. */
const struct option_row *options_next(struct options *options);
void options_end(struct options *options);

/* One option with its name in the table; `value` is NULL where it has none. */
typedef enum status option_fn(void *arguments, const char *name, const char *value,
			      struct error *err);
/* Gives all options to `take`, up to one that is wrong: EXIT_ACCEPTED, or what fits that one, with its message printed. */
int options_take(struct options *options, option_fn *take, void *arguments);

#endif
