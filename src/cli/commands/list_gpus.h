/* `gpuproof list gpus`: the models whose data sheets and published figures are shipped. */
#ifndef GPUPROOF_CLI_COMMANDS_LIST_GPUS_H
#define GPUPROOF_CLI_COMMANDS_LIST_GPUS_H

#include <stdbool.h>

int list_gpus(bool json); /* the process's exit code */

#endif
