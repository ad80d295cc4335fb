/*
 * Options of commands. One row in a command's table is everything there is to know about an option:
 * it drives parsing, `help`, the manual page and the completions.
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
 * Long names must be written out (getopt_long() takes any unique prefix, so that a new option can
 * break a script); --name VALUE, --name=VALUE, -o VALUE, -oVALUE and -qoVALUE; "--" ends the
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
	OPTION_FLAG,    /* bool: true when given; takes no value */
	OPTION_TEXT,    /* const char * */
	OPTION_COUNT,   /* int64_t, above 0 */
	OPTION_PERCENT, /* double: "0.5%" -> 0.005; below 100 % */
	OPTION_CHOICE,  /* int: which of `choices`, counted from 1 */
	OPTION_CALL     /* whatever `take` makes of it */
};

/* How a command uses the file that an option names. */
enum option_file {
	OPTION_FILE_NONE,
	OPTION_FILE_READ,
	OPTION_FILE_WRITTEN, /* anew: never a file that the command reads, nor another output */
	OPTION_FILE_KEPT     /* read and added to, as a history is */
};

/* `variable` is what the row names; `value` is never NULL. */
typedef enum status option_take_fn(void *variable, const char *name, const char *value,
				   struct error *err);

struct option_row {
	const char *name; /* "output" for --output; the table ends with NULL */
	char letter;      /* 'o' for -o; 0: none */
	enum option_type type;
	/* the variable, by its place in the command's arguments: ..._AT() */
	size_t at;
	const char *value; /* what help calls the value; NULL: a flag, or the choices */
	enum option_file file;
	const char *help; /* one line, folded where it is printed */
	/* "show, trend": the command's actions that take it (cli/actions.h); NULL: all */
	const char *actions;
	/* OPTION_TEXT: the value of --name; --name=VALUE has another. NULL: it needs one */
	const char *fallback;
	const char *const *choices; /* OPTION_CHOICE: NULL-terminated */
	option_take_fn *take;       /* OPTION_CALL */
	/* words that the value may be (cli/words.h), for completions; NULL: any */
	void (*words)(struct text *out);
	bool or_file; /* in addition to `words` */
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
	const char *letters;   /* more short options of the same argument; NULL: none */
	const char *value;     /* of the option just found */
	const char **operands; /* arguments that are no options */
	int operand_count;
	uint64_t given; /* bit i: the row i was given */
	bool failed;    /* a message with the usage was printed */
};

/*
 * Stores the options of `command` in `arguments`, the struct that its rows name (NULL: it has no
 * rows), up to one that is
 * wrong: EXIT_ACCEPTED, or what fits that one, with its message printed. Call options_end() in any
 * case.
 * Refuses an output that is a file which another option reads, or that two options name.
 */
int options_parse(struct options *options, const struct command *command, int argc, char **argv,
		  void *arguments);
void options_end(struct options *options);

/* True if `arguments` are options of the command with their values, and nothing else. */
bool options_fit(const struct command *command, int count, char **arguments);

#endif
