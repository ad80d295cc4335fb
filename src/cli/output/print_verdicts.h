#ifndef GPUPROOF_CLI_OUTPUT_PRINT_VERDICTS_H
#define GPUPROOF_CLI_OUTPUT_PRINT_VERDICTS_H

#include "result/verdict.h"

/*
 * Prints every check that did not pass, worst last (with `all` preceded by those that passed), the
 * counts, what each device fails, the judged aspects of each, the remedy for each cause, and in the
 * last line the sentence. The least important part scrolls away.
 */
void print_verdicts(const struct verdicts *verdicts, bool all);

#endif
