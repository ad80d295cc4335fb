/*
 * Options of commands. One row in a command's table describes an option: it drives parsing, `help`,
 * the manual page and completion.
 *
 *	struct check_arguments { const char *limits; bool strict; };
 *	static const struct option_row rows[] = {
 *		TEXT_ROW('l', "limits", "FILE", check_arguments, limits),
 *		FLAG_ROW(0, "strict", check_arguments, strict),
 *		{ 0 },
 *	};
 *
 * Its explanation is a line "--limits: ..." of docs/commands/check.txt, or of shared.txt there.
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
	/* the variable, by its offset in the command's arguments */
	size_t at;
	const char *value; /* name of the value in help; NULL: a flag, or the choices */
	enum option_file file;
	/* "show, trend": actions of the command that take it; NULL: all */
	const char *actions;
	/* OPTION_TEXT: value of --name without "=VALUE"; NULL: a value is required */
	const char *fallback;
	const char *const *choices; /* OPTION_CHOICE: NULL-terminated */
	option_take_fn *take;       /* OPTION_CALL */
	/* lists possible values for completion (cli/words.h); NULL: any */
	void (*words)(struct text *out);
	bool or_file; /* files are possible in addition to `words` */
};

/* Type and variable of a row; a variable of another type does not compile. */
#define OPTION_AS(TYPE, C_TYPE, ARGUMENTS, MEMBER)                 \
	.type = (TYPE), .at = offsetof(struct ARGUMENTS, MEMBER) + \
			      0 * sizeof(_Generic(((struct ARGUMENTS *)0)->MEMBER, C_TYPE : 1))

/*
 * Rows by type. LETTER: 'o' for -o, or 0; VALUE: name of the value in help; MEMBER: of struct
 * ARGUMENTS. Other members of the row may follow.
 */
#define FLAG_ROW(LETTER, NAME, ARGUMENTS, MEMBER, ...)                       \
	{                                                                    \
		.name = (NAME), .letter = (LETTER),                          \
		OPTION_AS(OPTION_FLAG, bool, ARGUMENTS, MEMBER), __VA_ARGS__ \
	}
#define TEXT_ROW(LETTER, NAME, VALUE, ARGUMENTS, MEMBER, ...)                        \
	{                                                                            \
		.name = (NAME), .letter = (LETTER), .value = (VALUE),                \
		OPTION_AS(OPTION_TEXT, const char *, ARGUMENTS, MEMBER), __VA_ARGS__ \
	}
#define COUNT_ROW(NAME, VALUE, ARGUMENTS, MEMBER, ...)                           \
	{                                                                        \
		.name = (NAME), .value = (VALUE),                                \
		OPTION_AS(OPTION_COUNT, int64_t, ARGUMENTS, MEMBER), __VA_ARGS__ \
	}
#define PERCENT_ROW(NAME, VALUE, ARGUMENTS, MEMBER, ...)                          \
	{                                                                         \
		.name = (NAME), .value = (VALUE),                                 \
		OPTION_AS(OPTION_PERCENT, double, ARGUMENTS, MEMBER), __VA_ARGS__ \
	}
#define CHOICE_ROW(NAME, CHOICES, ARGUMENTS, MEMBER, ...)                     \
	{                                                                     \
		.name = (NAME), .choices = (CHOICES),                         \
		OPTION_AS(OPTION_CHOICE, int, ARGUMENTS, MEMBER), __VA_ARGS__ \
	}
/* TAKE handles the value. */
#define CALL_ROW(NAME, VALUE, TAKE, ARGUMENTS, MEMBER, ...)                            \
	{                                                                              \
		.name = (NAME), .value = (VALUE), .type = OPTION_CALL, .take = (TAKE), \
		.at = offsetof(struct ARGUMENTS, MEMBER), __VA_ARGS__                  \
	}

struct options {
	const struct command *command; /* for messages */
	int argc, at;
	char **argv;
	const char *letters;   /* more short options in the same argument; NULL: none */
	const char *value;     /* value of the option just found */
	const char **operands; /* arguments that are not options */
	int operand_count;
	int separator;  /* number of operands before "--"; -1: there is none */
	uint64_t given; /* bit i: row i was given */
	bool failed;    /* a message with the usage was printed, unless `tried` */
	bool tried;     /* no messages */
};

/*
 * Stores the options of `command` in `arguments`, the struct that its rows refer to. Returns
 * EXIT_ACCEPTED, or, after printing a message, the exit code for the first invalid option. Call
 * options_end() in any case. Rejects an output file that another option reads or also writes.
 */
int options_parse(struct options *options, const struct command *command, int argc, char **argv,
		  void *arguments);
void options_end(struct options *options);

/* True if `arguments` consists only of options of the command and their values. */
bool options_fit(const struct command *command, int count, char **arguments);

#endif
