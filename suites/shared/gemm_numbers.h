/*
 * Storage formats of GEMM operands and results, decoded to double precision on the CPU. Operands
 * and results of a precision may have different formats: FP8 gives FP16, INT8 gives INT32.
 */
#ifndef GPUPROOF_SUITES_SHARED_GEMM_NUMBERS_H
#define GPUPROOF_SUITES_SHARED_GEMM_NUMBERS_H

#include <stddef.h>

#include "device/backend.h"

/* Value stored in an operand of `precision`, or PRECISION_E5M2, for `value` (through FP32). */
double gemm_numbers_stored(enum precision precision, double value);
/* As gemm_numbers_stored(), for many FP32 numbers in place. */
void gemm_numbers_round(enum precision precision, double *values, size_t count);
/* Rounds to FP32 (to odd) before a narrower format, so that rounding twice equals rounding once. */
void gemm_numbers_round_to_odd(double *values, size_t count);
/* True if an operand loses digits of FP32. */
bool gemm_numbers_is_narrow(enum precision precision);
/* Results `first` to `first + count` of the matrix at `c`. */
void gemm_numbers_decode(enum precision precision, const void *c, size_t first, size_t count,
			 double *out);
/*
 * Smallest normal number of an operand, also of PRECISION_E5M2; 0: its format has no subnormal
 * ones.
 */
double gemm_numbers_smallest_normal(enum precision precision);

#endif
