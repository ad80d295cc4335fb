/*
 * Path of a site's own reference GPUs: GPUPROOF_POPULATION, else gpuproof-population.ini in the
 * working directory.
 */
#ifndef GPUPROOF_CLI_INPUT_POPULATION_FILE_H
#define GPUPROOF_CLI_INPUT_POPULATION_FILE_H

#include "reference/population.h"

const char *population_file(const char *option); /* NULL: option not given */
/*
 * Loads the shipped reference GPUs and the site's own. A file named by the user must exist; the
 * default one may be missing. Prints errors to stderr.
 */
enum status population_file_open(struct population *p, const char *option);

#endif
