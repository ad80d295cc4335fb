#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "cli/command.h"
#include "cli/fold.h"
#include "cli/manual.h"
#include "cli/options.h"
#include "cli/topics.h"
#include "cli/usage.h"
#include "cli/words.h"
#include "plan/ini/hint.h"

extern const struct command command_help;

static void print_folded(const char *text)
{
	struct text folded = TEXT_EMPTY;

	fold(&folded, text, HELP_WIDTH);
	fputs(folded.data, stdout);
	text_release(&folded);
}

static void overview(void)
{
	struct text t = TEXT_EMPTY;

	text_add(&t, "gpuproof measures GPUs from an INI file, judges the numbers and publishes "
		     "them as HTML.\n\n"
		     "usage: gpuproof COMMAND [ARGUMENTS]\n\n");
	for (const struct command *const *c = commands; *c; c++)
		text_addf(&t, "  %-12s  %s\n", (*c)->name, (*c)->summary);
	text_add(&t, "\nTopics, for gpuproof help TOPIC:\n\n");
	for (const struct embedded_file *topic = embedded_topics; topic->name; topic++) {
		char *name = topic_name(topic), *summary = topic_summary(topic);

		text_addf(&t, "  %-12s  %s\n", name, summary);
		free(name);
		free(summary);
	}
	text_add(&t, "\nFirst steps: gpuproof doctor; gpuproof run quick; gpuproof help run\n");
	print_folded(t.data);
	text_release(&t);
}

static int print_manual(void)
{
	struct text page = TEXT_EMPTY;

	manual_page(&page);
	fputs(page.data, stdout);
	text_release(&page);
	return EXIT_ACCEPTED;
}

static int unknown(const char *name)
{
	const char *names[64];
	char *owned[64];
	struct error err = ERROR_NONE;
	size_t n = 0, topics = 0;
	struct hint hint;

	for (; commands[n] && n < 32; n++)
		names[n] = commands[n]->name;
	for (; embedded_topics[topics].name && n + 1 < ARRAY_SIZE(names); topics++)
		names[n++] = owned[topics] = topic_name(&embedded_topics[topics]);
	names[n] = NULL;
	hint = hint_for(name, names);
	for (size_t i = 0; i < topics; i++)
		free(owned[i]);
	error_set(&err, STATUS_USAGE, "there is no command and no topic '%s'%s; see gpuproof help",
		  name, hint.text);
	return command_fail(&err);
}

static void explain_command(const struct command *command)
{
	struct text usage = TEXT_EMPTY;

	usage_forms(command, "usage: ", &usage);
	usage_details(command, &usage);
	printf("%s\n\n", command->summary);
	print_folded(usage.data);
	text_release(&usage);
}

/* Every command and topic once, after a line with its name: to be searched. */
static void explain_all(void)
{
	overview();
	for (const struct command *const *c = commands; *c; c++) {
		printf("\n---- %s: ", (*c)->name);
		explain_command(*c);
	}
	for (const struct embedded_file *topic = embedded_topics; topic->name; topic++) {
		char *name = topic_name(topic);

		printf("\n---- topic %s\n\n", name);
		print_folded((const char *)topic->data);
		free(name);
	}
}

/* A name may be both: then the topic says more about the command. */
static int explain(const char *name)
{
	const struct embedded_file *topic = topic_find(name);
	bool found = false;

	if (strcmp(name, "all") == 0) {
		explain_all();
		return EXIT_ACCEPTED;
	}
	for (const struct command *const *c = commands; *c; c++)
		if (strcmp((*c)->name, name) == 0) {
			explain_command(*c);
			found = true;
		}
	if (!topic)
		return found ? EXIT_ACCEPTED : unknown(name);
	if (found)
		putchar('\n');
	print_folded((const char *)topic->data);
	return EXIT_ACCEPTED;
}

struct help_arguments {
	bool manual;
};

static const struct option_row rows[] = {
	{ .name = "man", FLAG_AT(help_arguments, manual), .help = "the manual page, as roff" },
	{ 0 },
};

static int help_run(int argc, char **argv)
{
	struct help_arguments a = { 0 };
	struct options o;
	int code = options_parse(&o, &command_help, argc, argv, &a);

	if (code == EXIT_ACCEPTED && a.manual)
		code = print_manual();
	else if (code == EXIT_ACCEPTED && o.operand_count)
		code = explain(o.operands[0]);
	else if (code == EXIT_ACCEPTED)
		overview();
	options_end(&o);
	return code;
}

const struct command command_help = {
	.name = "help",
	.summary = "explain a command or a topic",
	.forms = { "help [COMMAND]", "help [TOPIC]", "help all", "help --man" },
	.options = rows,
	.words = words_subjects,
	.run = help_run,
};
