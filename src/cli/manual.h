/* Manual page gpuproof(1) as roff (man macros), from the commands' usage and the topics. */
#ifndef GPUPROOF_CLI_MANUAL_H
#define GPUPROOF_CLI_MANUAL_H

#include "base/text.h"

void manual_page(struct text *out);

#endif
