/* gpuproof list gpus: models with shipped data sheets and published values. */
#ifndef GPUPROOF_CLI_OUTPUT_LIST_GPUS_H
#define GPUPROOF_CLI_OUTPUT_LIST_GPUS_H

#include "cli/command.h"

struct list_arguments {
	bool json;
};

int list_gpus(struct call *call); /* an action of `list` */

#endif
