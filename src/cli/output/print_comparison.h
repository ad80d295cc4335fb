#ifndef GPUPROOF_CLI_OUTPUT_PRINT_COMPARISON_H
#define GPUPROOF_CLI_OUTPUT_PRINT_COMPARISON_H

#include "compare/compare.h"

/*
 * The counts first, then what changed, then differences of the environment; with `all` also cases
 * that are unchanged.
 */
void print_comparison(const struct comparison *comparison, bool all);

/* Compares two results with the usual margin, and prints it. */
enum status print_compared(const struct result *a, const struct result *b, struct error *err);

#endif
