#ifndef GPUPROOF_CLI_OUTPUT_PRINT_COMPARISON_H
#define GPUPROOF_CLI_OUTPUT_PRINT_COMPARISON_H

#include "judge/compare/compare.h"

/*
 * Differences of the environment first, then the sentence, then the cases; with `all` also those
 * that are the same.
 */
void print_comparison(const struct comparison *comparison, bool all);

/* Compares two results with the usual margin, and prints it. */
enum status print_compared(const struct result *a, const struct result *b, struct error *err);

#endif
