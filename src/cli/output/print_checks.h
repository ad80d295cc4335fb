/* Checks as a table: a row each, worst first, and the limits that they missed. */
#ifndef GPUPROOF_CLI_OUTPUT_PRINT_CHECKS_H
#define GPUPROOF_CLI_OUTPUT_PRINT_CHECKS_H

#include "result/verdict.h"

/* `all`: also those that passed, and without an end. */
void print_checks(const struct verdicts *verdicts, bool all);

#endif
