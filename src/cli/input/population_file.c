#include "cli/input/population_file.h"

#include <stdlib.h>
#include <unistd.h>

#include "cli/command.h"

#define HERE "gpuproof-population.ini"

static const char *population_file_named(const char *option)
{
	const char *variable = getenv("GPUPROOF_POPULATION");

	if (option)
		return option;
	return variable && *variable ? variable : NULL;
}

const char *population_file(const char *option)
{
	return population_file_named(option) ? population_file_named(option) : HERE;
}

enum status population_file_open(struct population *p, const char *option)
{
	const char *own = population_file_named(option);
	struct error err = ERROR_NONE;

	if (!own && access(HERE, F_OK) == 0)
		own = HERE;
	if (population_load(p, own, &err) != STATUS_OK)
		cli_command_fail(&err);
	return err.status;
}
