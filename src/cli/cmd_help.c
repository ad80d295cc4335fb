#include <stdio.h>
#include <string.h>

#include "cli/command.h"

static void overview(void)
{
	printf("gpuproof measures GPUs from an INI file, judges the numbers and publishes them as HTML.\n\n"
	       "usage: gpuproof COMMAND [ARGUMENTS]\n\n");
	for (const struct command *const *c = commands; *c; c++)
		printf("  %-10s %s\n", (*c)->name, (*c)->summary);
	printf("\nFirst steps: gpuproof doctor; gpuproof run quick; gpuproof help run\n");
}

static int help_run(int argc, char **argv)
{
	if (argc < 2 || argv[1][0] == '-') {
		overview();
		return EXIT_ACCEPTED;
	}
	for (const struct command *const *c = commands; *c; c++) {
		if (strcmp((*c)->name, argv[1]) == 0) {
			printf("%s\n\nusage: gpuproof %s\n", (*c)->summary, (*c)->usage);
			return EXIT_ACCEPTED;
		}
	}
	fprintf(stderr, "gpuproof help: there is no command '%s'\n", argv[1]);
	return EXIT_USAGE;
}

const struct command command_help = {
	.name = "help",
	.summary = "explain a command",
	.usage = "help [COMMAND]",
	.run = help_run,
};
