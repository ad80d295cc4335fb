#ifndef GPUPROOF_CLI_RUN_RUN_SUMMARY_H
#define GPUPROOF_CLI_RUN_RUN_SUMMARY_H

#include "cli/command.h"
#include "result/result.h"

/*
 * Prints the main figures (at a terminal), how many cases came out how, and those that failed with
 * their reasons.
 */
void run_print_summary(const struct result *result);

/*
 * The verdict of the result in a sentence, or that there is none: a run without --check accepts
 * nothing; one that is finished may hold the judgement of an earlier call.
 */
void run_print_judgement(const struct result *result, const char *directory);

/* How to continue a run that was stopped, to standard error. */
void run_print_resume(const char *directory);

#endif
