/* Kernels that calculate at their fastest, against the same operations one by one. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "kernel_checks.h"
#include "kernels/peak/peak.h"

#define LANES 512
#define STEPS 37

/* The bits that one lane ends with. */
static uint64_t lane_bits(enum precision precision, uint64_t lane)
{
	bool pairs = precision == PRECISION_FP16_ACC16;
	enum precision stored = pairs ? PRECISION_FP16 : precision;
	uint64_t chains = PEAK_CHAINS * (pairs ? 2 : 1), bits = 0;

	for (uint64_t c = 0; c < chains; c++) {
		uint64_t word = 0;

		element_set(&word, stored, 0, (double)kernel_peak_start(lane, c, chains));
		for (int step = 0; step < STEPS; step++) {
			double x = element_get(&word, stored, 0);

			if (precision == PRECISION_FP64)
				x = fma(x, x, (double)PEAK_SHIFT);
			else if (precision == PRECISION_FP32)
				x = (double)fmaf((float)x, (float)x, PEAK_SHIFT);
			else
				x = x * x +
				    (double)PEAK_SHIFT; /* exact, rounded by element_set() */
			element_set(&word, stored, 0, x);
		}
		bits ^= pairs && c % 2 ? word << 16 : word;
	}
	return bits;
}

enum status check_peak_fma(struct device *device, struct error *err)
{
	static const enum precision precisions[] = { PRECISION_FP64, PRECISION_FP32,
						     PRECISION_FP16_ACC16 };
	uint64_t got[LANES];
	struct bench b;

	bench_open(&b, device, err);
	for (size_t p = 0; p < ARRAY_SIZE(precisions) && bench_ok(&b); p++) {
		void *out = bench_upload(&b, NULL, sizeof(got));
		struct peak_fma_arguments a = { precisions[p], LANES, STEPS, out };

		bench_launch(&b, "peak_fma", &a);
		if (err->status == STATUS_UNSUPPORTED) { /* FP16, which is the last */
			error_clear(err);
			break;
		}
		bench_download(&b, got, out, sizeof(got));
		for (uint64_t lane = 0; lane < LANES && bench_ok(&b); lane++)
			if (got[lane] != lane_bits(precisions[p], lane))
				error_set(err, STATUS_MISMATCH, "peak_fma %s: lane %d",
					  precision_name(precisions[p]), (int)lane);
	}
	return bench_close(&b);
}

enum status check_peak_stream(struct device *device, struct error *err)
{
	static const enum precision precisions[] = { PRECISION_FP64, PRECISION_FP32 };
	const size_t count = 128 * 37;
	struct bench b;

	bench_open(&b, device, err);
	for (size_t p = 0; p < ARRAY_SIZE(precisions) && bench_ok(&b); p++) {
		struct tensor in, out;
		struct peak_stream_arguments a = { .precision = precisions[p],
						   .count = count,
						   .steps = 5 };

		tensor_make(&b, &in, precisions[p], count, 1, 1);
		tensor_make(&b, &out, precisions[p], count, 2, 1);
		a.in = in.device;
		a.out = out.device;
		bench_launch(&b, "peak_stream", &a);
		tensor_fetch(&b, &out, "peak_stream");
		for (size_t i = 0; i < count && bench_ok(&b); i++) {
			double x = tensor_was(&in, i);

			for (int step = 0; step < 5; step++)
				x = precisions[p] == PRECISION_FP64
					    ? fma(x, x, (double)PEAK_SHIFT)
					    : (double)fmaf((float)x, (float)x, PEAK_SHIFT);
			compare(err, "peak_stream", precisions[p], i, tensor_now(&out, i), x, 0);
		}
		tensor_free(&in);
		tensor_free(&out);
	}
	return bench_close(&b);
}

/* The sum of all elements of all products. */
static int64_t product_sum(const struct peak_tensor_shape *s)
{
	int64_t sum = 0;

	for (int m = 0; m < s->m * s->lefts; m++)
		for (int n = 0; n < s->n * s->rights; n++)
			for (int k = 0; k < s->k; k++)
				sum += kernel_peak_element(0, m, k) * kernel_peak_element(1, n, k);
	return sum;
}

enum status check_peak_tensor(struct device *device, struct error *err)
{
	static const enum precision precisions[] = {
		PRECISION_TF32, PRECISION_FP16, PRECISION_BF16,
		PRECISION_INT8, PRECISION_FP8,  PRECISION_E5M2
	};
	int64_t got[64];
	struct bench b;
	int done = 0;

	if (strcmp(device->backend->name, "cuda") != 0)
		return error_set(err, STATUS_UNSUPPORTED, "a CPU has no tensor cores");
	bench_open(&b, device, err);
	for (size_t p = 0; p < ARRAY_SIZE(precisions) && bench_ok(&b); p++) {
		struct peak_tensor_shape s = kernel_peak_tensor_shape(&device->info, precisions[p]);
		int64_t expected = product_sum(&s) * (s.adds_up ? STEPS : 1);
		void *out = bench_upload(&b, NULL, sizeof(got));
		struct peak_tensor_arguments a = { precisions[p], ARRAY_SIZE(got), STEPS, out };

		if (s.m == 0)
			continue;
		bench_launch(&b, "peak_tensor", &a);
		bench_download(&b, got, out, sizeof(got));
		for (size_t i = 0; i < ARRAY_SIZE(got) && bench_ok(&b); i++)
			if (got[i] != expected)
				error_set(err, STATUS_MISMATCH,
					  "peak_tensor %s: group %d is %lld, expected %lld",
					  precisions[p] == PRECISION_E5M2
						  ? "e5m2"
						  : precision_name(precisions[p]),
					  (int)i, (long long)got[i], (long long)expected);
		done++;
	}
	if (bench_ok(&b) && done == 0)
		error_set(err, STATUS_UNSUPPORTED, "%s has no tensor cores", device->info.id);
	return bench_close(&b);
}
