#include "suites/peak/expected.h"

#include <math.h>
#include <string.h>

#include "base/parallel.h"
#include "kernels/half.h"

#define CHAINS (PEAK_PERIOD * PEAK_CHAINS)

/*
 * A fused multiply-add rounds once: for FP16, double is exact before that rounding; the others use
 * the C library's.
 */
VECTORISED
static void peak_expected_run_fp64(double *x, size_t count, uint64_t steps)
{
	for (uint64_t step = 0; step < steps; step++)
		for (size_t i = 0; i < count; i++)
			x[i] = __builtin_fma(x[i], x[i], (double)PEAK_SHIFT);
}

VECTORISED
static void expected_run_fp32(float *x, size_t count, uint64_t steps)
{
	for (uint64_t step = 0; step < steps; step++)
		for (size_t i = 0; i < count; i++)
			x[i] = __builtin_fmaf(x[i], x[i], PEAK_SHIFT);
}

static void expect_fp16(uint64_t steps, uint64_t *expected)
{
	double x[2 * CHAINS];

	for (size_t i = 0; i < 2 * CHAINS; i++)
		x[i] = half_to_float(
			half_from_float(kernel_peak_start(i / (2 * PEAK_CHAINS),
							  i % (2 * PEAK_CHAINS), 2 * PEAK_CHAINS)));
	for (uint64_t step = 0; step < steps; step++)
		for (size_t i = 0; i < 2 * CHAINS; i++)
			x[i] = half_to_float(half_from_double(x[i] * x[i] + (double)PEAK_SHIFT));
	for (size_t i = 0; i < 2 * CHAINS; i++)
		expected[i / (2 * PEAK_CHAINS)] ^= (uint64_t)half_from_double(x[i]) << (i % 2 * 16);
}

void peak_expect_fma(enum precision precision, uint64_t steps, uint64_t expected[PEAK_PERIOD])
{
	memset(expected, 0, PEAK_PERIOD * sizeof(*expected));
	if (precision == PRECISION_FP64) {
		double x[CHAINS];

		for (size_t i = 0; i < CHAINS; i++)
			x[i] = kernel_peak_start(i / PEAK_CHAINS, i % PEAK_CHAINS, PEAK_CHAINS);
		peak_expected_run_fp64(x, CHAINS, steps);
		for (size_t i = 0; i < CHAINS; i++) {
			uint64_t bits;

			memcpy(&bits, &x[i], sizeof(bits));
			expected[i / PEAK_CHAINS] ^= bits;
		}
	} else if (precision == PRECISION_FP32) {
		float x[CHAINS];

		for (size_t i = 0; i < CHAINS; i++)
			x[i] = kernel_peak_start(i / PEAK_CHAINS, i % PEAK_CHAINS, PEAK_CHAINS);
		expected_run_fp32(x, CHAINS, steps);
		for (size_t i = 0; i < CHAINS; i++) {
			uint32_t bits;

			memcpy(&bits, &x[i], sizeof(bits));
			expected[i / PEAK_CHAINS] ^= bits;
		}
	} else
		expect_fp16(steps, expected);
}

double peak_expect_stream(enum precision precision, uint64_t steps, double number)
{
	float narrow = (float)number;

	if (precision == PRECISION_FP64) {
		peak_expected_run_fp64(&number, 1, steps);
		return number;
	}
	expected_run_fp32(&narrow, 1, steps);
	return narrow;
}

/*
 * The sum over all elements of left * right is, for each k, left's column sum times right's row
 * sum.
 */
int64_t peak_expect_tensor(const struct peak_tensor_shape *shape, uint64_t steps)
{
	int64_t sum = 0;

	for (int k = 0; k < shape->k; k++) {
		int64_t left = 0, right = 0;

		for (int line = 0; line < shape->m * shape->lefts; line++)
			left += kernel_peak_element(0, line, k);
		for (int line = 0; line < shape->n * shape->rights; line++)
			right += kernel_peak_element(1, line, k);
		sum += left * right;
	}
	return shape->adds_up ? sum * (int64_t)steps : sum;
}
