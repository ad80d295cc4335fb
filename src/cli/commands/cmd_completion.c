/*
 * gpuproof completion: prints a shell's completion script, which asks `gpuproof completion words --
 * WORD...` for the words that can replace the last WORD. The answer is "files" if a file name is
 * allowed there, else "words", then a line "word<tab>explanation" for each word.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/embedded.h"
#include "base/memory.h"
#include "cli/command.h"
#include "cli/usage.h"
#include "cli/words.h"

/* src/cli/completion: gpuproof.bash, ... */
extern const struct embedded_file embedded_completion[];

/* Prints each of the words, which are divided by blanks. */
static void completion_print_words(const char *words)
{
	for (words += strspn(words, " "); *words; words += strspn(words, " ")) {
		int length = (int)strcspn(words, " ");

		printf("%.*s\n", length, words);
		words += length;
	}
}

static int completion_answer(bool files, void (*list)(struct text *out))
{
	struct text words = TEXT_EMPTY;

	puts(files ? "files" : "words");
	if (list)
		list(&words);
	completion_print_words(words.data ? words.data : "");
	text_release(&words);
	return EXIT_ACCEPTED;
}

/* The options of the command, of `action` unless that is NULL. */
static int completion_answer_options(const struct command *command, const struct action *action)
{
	puts("words");
	for (const struct option_row *row = command->options; row && row->name; row++) {
		char *explanation = usage_explanation(command, row);

		if (!action || cli_command_action_takes(action, row)) {
			printf("--%s\t%s\n", row->name, explanation);
			if (row->letter)
				printf("-%c\t%s\n", row->letter, explanation);
		}
		free(explanation);
	}
	return EXIT_ACCEPTED;
}

static int completion_answer_values(const struct option_row *row)
{
	static const char *const files[] = { "FILE", "DIR", "RESULT", "PROGRAM", "COMMAND" };
	bool file = row->or_file;

	if (row->words)
		return completion_answer(file, row->words);
	/* Other values are numbers, dates or texts. */
	for (size_t i = 0; row->value && i < ARRAY_SIZE(files); i++)
		file = file || strcmp(row->value, files[i]) == 0;
	puts(file ? "files" : "words");
	for (const char *const *choice = row->choices; choice && *choice; choice++)
		puts(*choice);
	return EXIT_ACCEPTED;
}

/*
 * The option whose value the last of `count` words is, or NULL. bash divides "--name=value" into
 * three words; an option with a fallback takes its value only in this form.
 */
static const struct option_row *completion_option(const struct command *command,
						  const char *const *words, int count)
{
	const char *last = words[count - 1], *name = words[count - 2];
	bool equals = strcmp(last, "=") == 0;

	if (!equals && strcmp(name, "=") == 0 && count > 2) {
		equals = true;
		name = words[count - 3];
	} else if (!equals && text_starts_with(last, "--") && strchr(last, '=')) {
		equals = true;
		name = last;
	}
	for (const struct option_row *row = command->options; row && row->name; row++) {
		bool is = name[0] == '-' && name[1] == '-'
				  ? strlen(row->name) == strcspn(name + 2, "=") &&
					    text_starts_with(name + 2, row->name)
				  : name[0] == '-' && row->letter == name[1] && !name[2];

		if (is && row->type != OPTION_FLAG && (equals || !row->fallback))
			return row;
	}
	return NULL;
}

static int completion_complete(const char *const *words, int count)
{
	const struct command *command = cli_command_named(words[0]);
	const struct action *action = command ? command->actions : NULL;
	const struct option_row *row;
	struct text names = TEXT_EMPTY;

	if (count == 1) {
		puts("words");
		for (const struct command *const *c = commands; *c; c++) {
			char *summary = usage_summary(*c);

			printf("%s\t%s\n", (*c)->name, summary);
			free(summary);
		}
		return EXIT_ACCEPTED;
	}
	if (!command)
		return completion_answer(true, NULL);
	row = completion_option(command, words, count);
	if (row)
		return completion_answer_values(row);
	while (action && action->name && (count == 2 || strcmp(action->name, words[1]) != 0))
		action++;
	if (words[count - 1][0] == '-')
		return completion_answer_options(command, action && action->name ? action : NULL);
	if (!command->actions)
		return completion_answer(true, command->words);
	if (count > 2)
		return completion_answer(true, action->name ? action->words : NULL);
	puts("words");
	cli_command_names(command->actions, " ", " ", &names);
	completion_print_words(names.data);
	text_release(&names);
	return EXIT_ACCEPTED;
}

static void complete_shell_names(struct text *out)
{
	for (const struct embedded_file *f = embedded_completion; f->name; f++)
		text_addf(out, "%s ", strchr(f->name, '.') + 1);
}

static int completion_run(struct call *call)
{
	char *name = xasprintf("gpuproof.%s", call->operands[0]);
	const struct embedded_file *script = embedded_find(embedded_completion, name);

	free(name);
	if (call->separator == 1 && call->count > 1 && strcmp(call->operands[0], "words") == 0)
		return completion_complete(call->operands + 1, call->count - 1);
	if (call->count != 1)
		return cli_command_usage(call->command, "no shell given");
	if (!script)
		return cli_command_usage(call->command, "no completion script for '%s'",
					 call->operands[0]);
	fwrite(script->data, 1, script->size, stdout);
	return EXIT_ACCEPTED;
}

const struct command command_completion = {
	.name = "completion",
	.words = complete_shell_names,
	.least = 1,
	.most = ANY_NUMBER,
	.wrong_count = "no shell given",
	.run = completion_run,
};
