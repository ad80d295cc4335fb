#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/options.h"

extern const struct command command_version;

struct version_arguments {
	bool json;
};

static const struct option_row rows[] = {
	{ .name = "json", FLAG_AT(version_arguments, json),
	  .help = "the version as JSON on standard output" },
	{ 0 },
};

/* argv[0] is what the program was asked by: "version", "--version" or "-V". */
static int version_run(int argc, char **argv)
{
	struct version_arguments a = { 0 };
	struct options o;
	int code = options_parse(&o, &command_version, argc, argv, &a);

	if (code == EXIT_ACCEPTED && o.operand_count)
		code = command_usage(&command_version, "'%s' is too much", o.operands[0]);
	else if (code == EXIT_ACCEPTED)
		printf(a.json ? "{\"gpuproof\": \"%s\"}\n" : "gpuproof %s\n", GPUPROOF_VERSION);
	options_end(&o);
	return code;
}

const struct command command_version = {
	.name = "version",
	.summary = "print the version",
	.forms = { "version [--json]" },
	.options = rows,
	.run = version_run,
};
