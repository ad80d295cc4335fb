#ifndef GPUPROOF_CLI_OUTPUT_PRINT_COMPARISON_H
#define GPUPROOF_CLI_OUTPUT_PRINT_COMPARISON_H

#include "compare/compare.h"

/*
 * Prints the counts, then the changes, then differences of the environment; with `all` also
 * unchanged cases.
 */
void print_comparison(const struct comparison *comparison, bool all);

/* Compares two results with the default margin, and prints the comparison. */
enum status print_compared(const struct result *a, const struct result *b, struct error *err);

#endif
