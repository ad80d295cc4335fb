#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/manual.h"
#include "cli/topics.h"

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
	return command_usage(&command_help,
			     "there is no command and no topic '%s'; see gpuproof help", name);
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
