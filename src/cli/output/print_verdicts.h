#ifndef GPUPROOF_CLI_OUTPUT_PRINT_VERDICTS_H
#define GPUPROOF_CLI_OUTPUT_PRINT_VERDICTS_H

#include "result/verdict.h"

/*
 * Every check that did not pass, the worst last (with `all` before them those that passed), the
 * counts, what each device fails, the aspects judged of each, what to do about each cause, and as
 * the last line the sentence: what scrolls away is what matters least.
 */
void print_verdicts(const struct verdicts *verdicts, bool all);

#endif
