#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "cli/command.h"
#include "cli/manual.h"
#include "cli/topics.h"
#include "plan/hint.h"

extern const struct command command_help;

static void overview(void)
{
	printf("gpuproof measures GPUs from an INI file, judges the numbers and publishes them as "
	       "HTML.\n\n"
	       "usage: gpuproof COMMAND [ARGUMENTS]\n\n");
	for (const struct command *const *c = commands; *c; c++)
		printf("  %-12s %s\n", (*c)->name, (*c)->summary);
	printf("\nTopics, for gpuproof help TOPIC:\n\n");
	for (const struct embedded_file *topic = embedded_topics; topic->name; topic++) {
		char *name = topic_name(topic), *summary = topic_summary(topic);

		printf("  %-12s %s\n", name, summary);
		free(name);
		free(summary);
	}
	printf("\nFirst steps: gpuproof doctor; gpuproof run quick; gpuproof help run\n");
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

static int explain(const char *name)
{
	const struct embedded_file *topic = topic_find(name);

	for (const struct command *const *c = commands; *c; c++) {
		if (strcmp((*c)->name, name) == 0) {
			printf("%s\n\nusage: gpuproof %s\n", (*c)->summary, (*c)->usage);
			return EXIT_ACCEPTED;
		}
	}
	if (topic) {
		fwrite(topic->data, 1, topic->size, stdout);
		return EXIT_ACCEPTED;
	}
	return unknown(name);
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
