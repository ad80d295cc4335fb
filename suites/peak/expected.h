/*
 * Expected results of the peak kernels, computed by the CPU operation by operation, equal to the
 * last bit.
 */
#ifndef GPUPROOF_SUITES_PEAK_EXPECTED_H
#define GPUPROOF_SUITES_PEAK_EXPECTED_H

#include "kernels/peak/peak.h"

/* out[lane] of peak_fma for the first PEAK_PERIOD lanes; the others repeat them. */
void peak_expect_fma(enum precision precision, uint64_t steps, uint64_t expected[PEAK_PERIOD]);

/* out[i] of peak_stream, from the stored number. */
double peak_expect_stream(enum precision precision, uint64_t steps, double number);

/* out[group] of peak_tensor, the same for all groups. */
int64_t peak_expect_tensor(const struct peak_tensor_shape *shape, uint64_t steps);

#endif
