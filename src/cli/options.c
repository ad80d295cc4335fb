#include "cli/options.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"

#define MOST_ROWS 32

struct options options_begin(const struct command *command, const struct option_row *rows, int argc,
			     char **argv)
{
	return (struct options){ .command = command,
				 .rows = rows,
				 .argc = argc,
				 .at = 1,
				 .argv = argv,
				 .operands = xcalloc((size_t)argc + 1, sizeof(char *)) };
}

void options_end(struct options *options)
{
	free(options->operands);
	options->operands = NULL;
}

static const struct option_row *unknown(struct options *o, const char *argument)
{
	const char *names[MOST_ROWS + 1], *near = NULL;
	char *word = xstrndup(argument + 2, strcspn(argument + 2, "="));
	size_t n = 0;

	for (; o->rows[n].name && n < MOST_ROWS; n++)
		names[n] = o->rows[n].name;
	names[n] = NULL;
	for (size_t i = 0; !near && i < n; i++)
		near = *word && text_starts_with(names[i], word) ? names[i] : NULL;
	if (!near)
		near = text_nearest(word, names);
	o->failed = true;
	if (near)
		command_usage(o->command, "there is no option '--%s'; did you mean '--%s'?", word,
			      near);
	else
		command_usage(o->command, "there is no option '--%s'", word);
	free(word);
	return NULL;
}

/* `attached`: what stood in the same argument, or NULL. */
static const struct option_row *found(struct options *o, const struct option_row *row,
				      const char *attached)
{
	o->value = attached;
	if (row->takes_value == OPTION_TAKES_VALUE && !attached) {
		if (o->at >= o->argc) {
			o->failed = true;
			command_usage(o->command, "--%s needs a value", row->name);
			return NULL;
		}
		o->value = o->argv[o->at++];
	} else if (row->takes_value == OPTION_FLAG && attached) {
		o->failed = true;
		command_usage(o->command, "--%s takes no value", row->name);
		return NULL;
	}
	return row;
}

static const struct option_row *long_option(struct options *o, const char *argument)
{
	const char *name = argument + 2, *equals = strchr(name, '=');
	size_t length = equals ? (size_t)(equals - name) : strlen(name);

	for (const struct option_row *row = o->rows; row->name; row++)
		if (strlen(row->name) == length && strncmp(row->name, name, length) == 0)
			return found(o, row, equals ? equals + 1 : NULL);
	return unknown(o, argument);
}

/* `letters`: that of the option, and what follows it: its value, or behind a flag more options ("-qo DIR"). */
static const struct option_row *short_option(struct options *o, const char *letters)
{
	const char *rest = letters[1] ? letters + 1 : NULL;

	o->letters = NULL;
	for (const struct option_row *row = o->rows; row->name; row++) {
		if (!row->letter || row->letter != letters[0])
			continue;
		if (row->takes_value == OPTION_FLAG) {
			o->letters = rest;
			rest = NULL;
		}
		return found(o, row, rest);
	}
	o->failed = true;
	command_usage(o->command, "there is no option '-%c'", letters[0]);
	return NULL;
}

const struct option_row *options_next(struct options *o)
{
	if (o->letters && !o->failed)
		return short_option(o, o->letters);
	while (o->at < o->argc && !o->failed) {
		const char *argument = o->argv[o->at++];

		if (strcmp(argument, "--") == 0) {
			while (o->at < o->argc)
				o->operands[o->operand_count++] = o->argv[o->at++];
			break;
		}
		if (argument[0] == '-' && argument[1] == '-')
			return long_option(o, argument);
		if (argument[0] == '-' && argument[1])
			return short_option(o, argument + 1);
		o->operands[o->operand_count++] = argument;
	}
	return NULL;
}

int options_take(struct options *o, option_fn *take, void *arguments)
{
	struct error err = ERROR_NONE;
	const struct option_row *row;

	while (err.status == STATUS_OK && (row = options_next(o)))
		take(arguments, row->name, o->value, &err);
	if (o->failed)
		return EXIT_USAGE;
	return err.status == STATUS_OK ? EXIT_ACCEPTED : command_fail(&err);
}
