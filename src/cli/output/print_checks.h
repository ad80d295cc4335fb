/* Prints checks as a table: one row each, worst first, and the violated limits. */
#ifndef GPUPROOF_CLI_OUTPUT_PRINT_CHECKS_H
#define GPUPROOF_CLI_OUTPUT_PRINT_CHECKS_H

#include "result/verdict.h"

/* `all`: also passed checks, without a limit on rows. */
void print_checks(const struct verdicts *verdicts, bool all);

#endif
