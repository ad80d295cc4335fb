/*
 * Conversion of stored numbers to doubles on the host, independent of the conversions of the
 * backends.
 */
#ifndef GPUPROOF_SUITES_TRAINING_MODELS_REFERENCE_VALUES_H
#define GPUPROOF_SUITES_TRAINING_MODELS_REFERENCE_VALUES_H

#include "device/backend.h"

/*
 * `value` rounded to the nearest number that `precision` can store, ties to even; overflow gives
 * infinity.
 */
double value_round(double value, enum precision precision);

/* to[i] = the i-th number of `from`, which is stored in `precision`. */
void values_decode(double *to, const void *from, enum precision precision, uint64_t count);

#endif
