#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/options.h"

extern const struct command command_version;

static const struct option_row rows[] = { { 0, "json", false }, { 0 } };

/* argv[0] is what the program was asked by: "version", "--version" or "-V". */
static int version_run(int argc, char **argv)
{
	struct options o = options_begin(&command_version, rows, argc, argv);
	const struct option_row *row;
	int code = EXIT_ACCEPTED;
	bool json = false;

	while ((row = options_next(&o)))
		json = true;
	if (o.failed)
		code = EXIT_USAGE;
	else if (o.operand_count)
		code = command_usage(&command_version, "'%s' is too much", o.operands[0]);
	else
		printf(json ? "{\"gpuproof\": \"%s\"}\n" : "gpuproof %s\n", GPUPROOF_VERSION);
	options_end(&o);
	return code;
}

const struct command command_version = {
	.name = "version",
	.summary = "print the version",
	.usage = "version [--json]",
	.run = version_run,
};
