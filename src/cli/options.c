#include "cli/options.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/input.h"
#include "base/memory.h"
#include "base/units.h"

#define MOST_ROWS 32

void options_end(struct options *options)
{
	free(options->operands);
	options->operands = NULL;
}

/* Prints the message unless the options are only tried. */
static const struct option_row *option_fail(struct options *o, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static const struct option_row *option_fail(struct options *o, const char *format, ...)
{
	struct error err = ERROR_NONE;
	va_list ap;

	va_start(ap, format);
	error_va(&err, STATUS_USAGE, format, ap);
	va_end(ap);
	if (!o->tried)
		cli_command_usage(o->command, "%s", err.message);
	o->failed = true;
	return NULL;
}

static const struct option_row *option_unknown(struct options *o, const char *argument)
{
	const char *names[MOST_ROWS + 1], *near = NULL;
	char *word = xstrndup(argument + 2, strcspn(argument + 2, "="));
	const struct option_row *rows = o->command->options;
	size_t n = 0;

	for (; rows && rows[n].name && n < MOST_ROWS; n++)
		names[n] = rows[n].name;
	names[n] = NULL;
	for (size_t i = 0; !near && i < n; i++)
		near = *word && text_starts_with(names[i], word) ? names[i] : NULL;
	if (!near)
		near = text_nearest(word, names);
	option_fail(o, "unknown option '--%s'%s%s%s", word, near ? "; did you mean '--" : "",
		    near ? near : "", near ? "'?" : "");
	free(word);
	return NULL;
}

/* `attached`: value in the same argument, or NULL. */
static const struct option_row *option_take_value(struct options *o, const struct option_row *row,
						  const char *attached)
{
	o->value = attached;
	if (row->type != OPTION_FLAG && !attached && row->fallback) {
		o->value = row->fallback;
	} else if (row->type != OPTION_FLAG && !attached) {
		if (o->at >= o->argc)
			return option_fail(o, "--%s needs a value", row->name);
		o->value = o->argv[o->at++];
	} else if (row->type == OPTION_FLAG && attached) {
		return option_fail(o, "--%s takes no value", row->name);
	}
	return row;
}

/*
 * `letters`: the option's letter, followed by its value or, after a flag, by more options ("-qo
 * DIR").
 */
static const struct option_row *short_option(struct options *o, const char *letters)
{
	const char *rest = letters[1] ? letters + 1 : NULL;

	o->letters = NULL;
	for (const struct option_row *row = o->command->options; row && row->name; row++) {
		if (!row->letter || row->letter != letters[0])
			continue;
		if (row->type == OPTION_FLAG) {
			o->letters = rest;
			rest = NULL;
		}
		return option_take_value(o, row, rest);
	}
	return option_fail(o, "unknown option '-%c'", letters[0]);
}

/* The next option; NULL at the end and on an error. */
static const struct option_row *next_option(struct options *o)
{
	if (o->letters && !o->failed)
		return short_option(o, o->letters);
	while (o->at < o->argc && !o->failed) {
		const char *argument = o->argv[o->at++];

		if (strcmp(argument, "--") == 0) {
			o->separator = o->operand_count;
			while (o->at < o->argc)
				o->operands[o->operand_count++] = o->argv[o->at++];
			break;
		}
		if (argument[0] == '-' && argument[1] == '-') {
			const char *equals = strchr(argument, '=');
			size_t length = strcspn(argument + 2, "=");

			for (const struct option_row *row = o->command->options; row && row->name;
			     row++)
				if (strlen(row->name) == length &&
				    strncmp(row->name, argument + 2, length) == 0)
					return option_take_value(o, row,
								 equals ? equals + 1 : NULL);
			return option_unknown(o, argument);
		}
		if (argument[0] == '-' && argument[1])
			return short_option(o, argument + 1);
		o->operands[o->operand_count++] = argument;
	}
	return NULL;
}

static enum status options_store_choice(int *choice, const struct option_row *row,
					const char *value, struct error *err)
{
	struct text allowed = TEXT_EMPTY;

	for (int i = 0; row->choices[i]; i++) {
		if (strcmp(row->choices[i], value) == 0) {
			*choice = i + 1;
			text_release(&allowed);
			return STATUS_OK;
		}
		text_addf(&allowed, "%s%s",
			  i == 0                ? ""
			  : row->choices[i + 1] ? ", "
						: " or ",
			  row->choices[i]);
	}
	error_set(err, STATUS_USAGE, "--%s takes %s, not '%.60s'", row->name, allowed.data, value);
	text_release(&allowed);
	return err->status;
}

static enum status option_store(const struct option_row *row, void *variable, const char *value,
				struct error *err)
{
	switch (row->type) {
	case OPTION_FLAG:
		*(bool *)variable = true;
		break;
	case OPTION_TEXT:
		*(const char **)variable = value;
		break;
	case OPTION_COUNT:
		if (units_parse_integer(value, variable, err) == STATUS_OK &&
		    *(int64_t *)variable < 1)
			error_set(err, STATUS_USAGE, "'%.40s' is not a positive number", value);
		return error_prefix(err, "--%s", row->name);
	case OPTION_PERCENT:
		if (units_parse_percent(value, variable, err) == STATUS_OK &&
		    *(double *)variable >= 1)
			error_set(err, STATUS_USAGE, "'%.60s': expected a percentage below 100 %%",
				  value);
		return error_prefix(err, "--%s", row->name);
	case OPTION_CHOICE:
		return options_store_choice(variable, row, value, err);
	case OPTION_CALL:
		return row->take(variable, row->name, value, err);
	}
	return STATUS_OK;
}

bool options_fit(const struct command *command, int count, char **arguments)
{
	struct options o = { .command = command, .argc = count, .argv = arguments, .tried = true };
	bool fit;

	o.operands = xcalloc((size_t)count + 1, sizeof(char *));
	while (next_option(&o))
		;
	fit = !o.failed && !o.operand_count;
	options_end(&o);
	return fit;
}

/* Files that do not exist yet are compared by folder and name. */
static bool options_is_same_file(const char *a, const char *b)
{
	const char *slash_a = strrchr(a, '/'), *slash_b = strrchr(b, '/');
	char *folder_a, *folder_b;
	struct stat first, second;
	bool same;

	if (stat(a, &first) == 0 && stat(b, &second) == 0)
		return S_ISREG(first.st_mode) && first.st_dev == second.st_dev &&
		       first.st_ino == second.st_ino;
	if (strcmp(slash_a ? slash_a + 1 : a, slash_b ? slash_b + 1 : b) != 0)
		return false;
	folder_a = slash_a ? xstrndup(a, (size_t)(slash_a - a) + 1) : xstrdup(".");
	folder_b = slash_b ? xstrndup(b, (size_t)(slash_b - b) + 1) : xstrdup(".");
	same = stat(folder_a, &first) == 0 && stat(folder_b, &second) == 0 &&
	       first.st_dev == second.st_dev && first.st_ino == second.st_ino;
	free(folder_a);
	free(folder_b);
	return same;
}

/* Rejects an output that is an input, or that another option writes as well. */
static enum status options_refuse_outputs(const struct options *o, const char *arguments,
					  struct error *err)
{
	const struct option_row *rows = o->command->options;
	const char *written[MOST_ROWS] = { NULL };

	for (size_t i = 0; rows && rows[i].name && err->status == STATUS_OK; i++) {
		if (rows[i].file != OPTION_FILE_WRITTEN || !(o->given & 1ULL << i))
			continue;
		written[i] = *(const char *const *)(arguments + rows[i].at);
		input_refuse_output(written[i], err);
		for (size_t j = 0; j < i; j++)
			if (written[j] && options_is_same_file(written[i], written[j]))
				error_set(err, STATUS_USAGE,
					  "--%s and --%s both write '%.300s'; name two files",
					  rows[j].name, rows[i].name, written[i]);
	}
	return err->status;
}

int options_parse(struct options *o, const struct command *command, int argc, char **argv,
		  void *arguments)
{
	struct error err = ERROR_NONE;
	const struct option_row *row;

	*o = (struct options){ .command = command,
			       .argc = argc,
			       .at = 1,
			       .argv = argv,
			       .separator = -1,
			       .operands = xcalloc((size_t)argc + 1, sizeof(char *)) };
	while (err.status == STATUS_OK && (row = next_option(o))) {
		o->given |= 1ULL << (row - command->options);
		if (option_store(row, (char *)arguments + row->at, o->value, &err) == STATUS_OK &&
		    row->file == OPTION_FILE_READ)
			input_note(o->value);
	}
	if (o->failed)
		return EXIT_USAGE;
	return options_refuse_outputs(o, arguments, &err) == STATUS_OK ? EXIT_ACCEPTED
								       : cli_command_fail(&err);
}
