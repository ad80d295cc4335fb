/* The load `units`, and naming the multiprocessor that spoils results of another load. */
#ifndef GPUPROOF_BURN_UNITS_H
#define GPUPROOF_BURN_UNITS_H

#include "suites/burn/burn.h"

uint64_t burn_units_bytes(const struct device_info *info);
/* Counts as wrong: signatures, of the quarters of multiprocessors. */
enum status burn_units(struct burn *b, struct error *err);
/* Adds to the first wrong word's text which multiprocessor is wrong in other work too. */
enum status burn_units_blame(struct burn *b, struct error *err);

#endif
