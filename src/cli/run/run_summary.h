#ifndef GPUPROOF_CLI_RUN_RUN_SUMMARY_H
#define GPUPROOF_CLI_RUN_RUN_SUMMARY_H

#include "cli/command.h"
#include "result/result.h"

/*
 * Prints the main figures (at a terminal), how many cases came out how, and those that failed with
 * their reasons.
 */
void run_print_summary(const struct result *result);

#endif
