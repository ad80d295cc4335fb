/* The load `units`, which also locates the multiprocessor that corrupts results of other loads. */
#ifndef GPUPROOF_BURN_UNITS_H
#define GPUPROOF_BURN_UNITS_H

#include "suites/burn/burn.h"

uint64_t burn_units_bytes(const struct device_info *info);
/* Its wrong words are signatures of quarters of multiprocessors. */
enum status burn_units(struct burn *b, struct error *err);
/* Appends the multiprocessor that is also wrong in other work to the first wrong word's text. */
enum status burn_units_blame(struct burn *b, struct error *err);

#endif
