/* Path of a site's own population: GPUPROOF_POPULATION, else gpuproof-population.ini here. */
#ifndef GPUPROOF_CLI_INPUT_POPULATION_FILE_H
#define GPUPROOF_CLI_INPUT_POPULATION_FILE_H

#include "reference/population.h"

const char *population_file(const char *option); /* NULL: the option was not given */
/*
 * The shipped population and the site's own. A file that is named must be there; the one here may
 * be missing. Errors are printed to stderr.
 */
enum status population_open(struct population *p, const char *option);

#endif
