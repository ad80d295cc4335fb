#include "cli/input/history_file.h"

#include <stdlib.h>

const char *history_file(const char *option)
{
	const char *variable = getenv("GPUPROOF_DB");

	if (option)
		return option;
	return variable && *variable ? variable : "gpuproof-history.db";
}
