#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fold.h"
#include "base/memory.h"
#include "cli/command.h"
#include "cli/manual.h"
#include "cli/topics.h"
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
	fprintf(stderr, "gpuproof: there is no command and no topic '%s'%s; see gpuproof help\n",
		name, hint.text);
	return EXIT_USAGE;
}

static void explain_command(const struct command *command)
{
	char *usage = xasprintf("usage: gpuproof %s\n", command->usage);

	printf("%s\n\n", command->summary);
	print_folded(usage);
	free(usage);
}

/* A name may be both: then the topic says more about the command. */
static int explain(const char *name)
{
	const struct embedded_file *topic = topic_find(name);
	bool found = false;

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

static int help_run(int argc, char **argv)
{
	if (argc < 2 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
		overview();
	else if (strcmp(argv[1], "--man") == 0)
		return print_manual();
	else
		return explain(argv[1]);
	return EXIT_ACCEPTED;
}

const struct command command_help = {
	.name = "help",
	.summary = "explain a command or a topic",
	.usage = "help [COMMAND]\n"
		 "       gpuproof help [TOPIC]\n"
		 "       gpuproof help --man         the manual page, as roff",
	.run = help_run,
};
