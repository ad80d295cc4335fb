/*
 * Options of commands. One row in a command's table describes an option completely: it drives
 * parsing, `help`, the manual page and completion.
 *
 *	struct check_arguments { const char *limits; bool strict; };
 *	static const struct option_row rows[] = {
 *		{ .name = "limits", .letter = 'l', TEXT_AT(check_arguments, limits),
 *		  .value = "FILE", .help = "an INI file with [limit NAME] sections" },
 *		{ .name = "strict", FLAG_AT(check_arguments, strict),
 *		  .help = "warnings are not accepted" },
 *		{ 0 },
 *	};
 *	code = options_parse(&o, &command_check, argc, argv, &arguments);
 *	if (code == EXIT_ACCEPTED)
 *		... o.operands[0 .. o.operand_count - 1] ...
 *	options_end(&o);
 *
 * Long names must be complete (getopt_long() accepts any unique prefix, so that a new option can
 * break a script). Forms: --name VALUE, --name=VALUE, -o VALUE, -oVALUE and -qoVALUE; "--" ends the
 * options.
 */
#ifndef GPUPROOF_CLI_OPTIONS_H
#define GPUPROOF_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "cli/command.h"

enum option_type {
	OPTION_FLAG,    /* bool: true if given; takes no value */
	OPTION_TEXT,    /* const char * */
	OPTION_COUNT,   /* int64_t, above 0 */
	OPTION_PERCENT, /* double: "0.5%" -> 0.005; below 100 % */
	OPTION_CHOICE,  /* int: index of the choice, from 1 */
	OPTION_CALL     /* handled by `take` */
};

/* How a command uses the file that an option names. */
enum option_file {
	OPTION_FILE_NONE,
	OPTION_FILE_READ,
	OPTION_FILE_WRITTEN, /* created: must differ from input files and other outputs */
	OPTION_FILE_KEPT     /* read and extended, such as a history */
};

/* `variable`: the variable of the row; `value` is never NULL. */
typedef enum status option_take_fn(void *variable, const char *name, const char *value,
				   struct error *err);

struct option_row {
	const char *name; /* "output" for --output; a NULL name ends the table */
	char letter;      /* 'o' for -o; 0: none */
	enum option_type type;
	/* the variable, by its offset in the command's arguments: ..._AT() */
	size_t at;
	const char *value; /* name of the value in help; NULL: a flag, or the choices */
	enum option_file file;
	const char *help; /* one line, folded when printed */
	/* "show, trend": actions of the command that take it (cli/actions.h); NULL: all */
	const char *actions;
	/* OPTION_TEXT: value of --name without "=VALUE"; NULL: a value is required */
	const char *fallback;
	const char *const *choices; /* OPTION_CHOICE: NULL-terminated */
	option_take_fn *take;       /* OPTION_CALL */
	/* lists possible values for completion (cli/words.h); NULL: any */
	void (*words)(struct text *out);
	bool or_file; /* files are possible in addition to `words` */
};

#define OPTION_AT(ARGUMENTS, MEMBER) .at = offsetof(struct ARGUMENTS, MEMBER)
/* Type and variable of a row; a variable of another type does not compile. */
#define OPTION_AS(TYPE, C_TYPE, ARGUMENTS, MEMBER)                 \
	.type = (TYPE), .at = offsetof(struct ARGUMENTS, MEMBER) + \
			      0 * sizeof(_Generic(((struct ARGUMENTS *)0)->MEMBER, C_TYPE : 1))
#define FLAG_AT(ARGUMENTS, MEMBER) OPTION_AS(OPTION_FLAG, bool, ARGUMENTS, MEMBER)
#define TEXT_AT(ARGUMENTS, MEMBER) OPTION_AS(OPTION_TEXT, const char *, ARGUMENTS, MEMBER)
#define COUNT_AT(ARGUMENTS, MEMBER) OPTION_AS(OPTION_COUNT, int64_t, ARGUMENTS, MEMBER)
#define PERCENT_AT(ARGUMENTS, MEMBER) OPTION_AS(OPTION_PERCENT, double, ARGUMENTS, MEMBER)
#define CHOICE_AT(ARGUMENTS, MEMBER) OPTION_AS(OPTION_CHOICE, int, ARGUMENTS, MEMBER)

struct options {
	const struct command *command; /* for messages */
	int argc, at;
	char **argv;
	const char *letters;   /* more short options in the same argument; NULL: none */
	const char *value;     /* value of the option just found */
	const char **operands; /* arguments that are not options */
	int operand_count;
	uint64_t given; /* bit i: row i was given */
	bool failed;    /* a message with the usage was printed */
};

/*
 * Stores the options of `command` in `arguments`, the struct that its rows refer to (NULL: it has
 * no rows). Returns EXIT_ACCEPTED, or, after printing a message, the exit code for the first
 * invalid option. Call options_end() in any case. Rejects an output file that another option reads
 * or also writes.
 */
int options_parse(struct options *options, const struct command *command, int argc, char **argv,
		  void *arguments);
void options_end(struct options *options);

/* True if `arguments` consists only of options of the command and their values. */
bool options_fit(const struct command *command, int count, char **arguments);

#endif
