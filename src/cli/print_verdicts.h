#ifndef GPUPROOF_CLI_PRINT_VERDICTS_H
#define GPUPROOF_CLI_PRINT_VERDICTS_H

#include "judge/verdict.h"

/*
 * The sentence, the counts, and every check that did not pass, the gravest first; with `all` those that passed too.
 * `source`: the limits' name.
 */
void print_verdicts(const struct verdicts *verdicts, const char *source, bool all);

#endif
