#include <stdio.h>

#include "cli/command.h"

static int version_run(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	printf("gpuproof %s\n", GPUPROOF_VERSION);
	return EXIT_ACCEPTED;
}

const struct command command_version = {
	.name = "version",
	.summary = "print the version",
	.usage = "version",
	.run = version_run,
};
