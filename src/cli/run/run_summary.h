#ifndef GPUPROOF_CLI_RUN_RUN_SUMMARY_H
#define GPUPROOF_CLI_RUN_RUN_SUMMARY_H

#include "cli/command.h"
#include "result/result.h"

/*
 * Prints the headline metrics (on a terminal), the number of cases by status, and failed cases with
 * their reasons.
 */
void run_print_summary(const struct result *result);

/*
 * Prints the verdict of the result as a sentence, or that there is none: a run without --check
 * accepts nothing. A finished run may contain the judgement of an earlier call.
 */
void run_summary_print_judgement(const struct result *result, const char *directory);

/* Prints to stderr how to resume a run that was stopped. */
void run_summary_print_resume(const char *directory);

#endif
