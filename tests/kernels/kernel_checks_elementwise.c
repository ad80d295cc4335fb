/* Conversions, bit for bit, and the elementwise kernels of a training step. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "kernel_checks.h"
#include "kernels/training/training.h"

static const size_t counts[] = { 1, 7, 1025, 40001 };

/* Values where rounding is hard: ties, the ends of ranges, subnormals, and any exponent. */
static double hard_value(size_t index, uint64_t *state)
{
	static const double values[] = { 0,
					 -0.0,
					 1,
					 65504,
					 65519.99,
					 65520,
					 -65520,
					 65536,
					 1e5,
					 6e-8,
					 2.98e-8,
					 2.9802322387695312e-8,
					 0x1p-14,
					 0x1.ffcp-15,
					 0x1.ffep-15,
					 1 + 0x1p-11,
					 1 + 0x1p-11 + 0x1p-40,
					 1 + 3 * 0x1p-11,
					 1 + 0x1p-8,
					 1 + 0x1p-8 + 0x1p-45,
					 1 + 3 * 0x1p-8,
					 3.3895313892515355e38,
					 3.3961775292304601e38,
					 1e39,
					 1e300,
					 -1e300,
					 1e-40,
					 1e-45,
					 1e-300,
					 1 + 0x1p-24,
					 1 + 0x1p-24 + 0x1p-50,
					 INFINITY,
					 -INFINITY,
					 NAN };

	if (index < ARRAY_SIZE(values))
		return values[index];
	return random_uniform(state) * ldexp(1, (int)(60 * random_uniform(state)) - 10);
}

static bool same(double a, double b)
{
	return isnan(a) ? isnan(b) : a == b && signbit(a) == signbit(b);
}

static void check_pair(struct bench *b, enum precision from, enum precision to, size_t count)
{
	struct tensor source, target;
	void *expected = xcalloc(1, sizeof(double));
	uint64_t state = 99;

	tensor_make(b, &source, from, count, 1, 1);
	tensor_make(b, &target, to, count, 2, 1);
	for (size_t i = 0; i < count; i++)
		element_set(source.was, from, i, hard_value(i, &state));
	if (bench_ok(b))
		backend_copy(b->stream, source.device, source.was, count * precision_bytes(from),
			     b->err);
	bench_launch(b, "convert",
		     &(struct convert_arguments){ .to = target.device,
						  .from = source.device,
						  .to_precision = to,
						  .from_precision = from,
						  .count = count });
	tensor_fetch(b, &target, "convert");
	for (size_t i = 0; i < count && bench_ok(b); i++) {
		element_set(expected, to, 0, tensor_was(&source, i));
		if (!same(tensor_now(&target, i), element_get(expected, to, 0)))
			error_set(b->err, STATUS_MISMATCH,
				  "convert %s to %s: %.17g became %.17g, not %.17g",
				  precision_name(from), precision_name(to), tensor_was(&source, i),
				  tensor_now(&target, i), element_get(expected, to, 0));
	}
	tensor_free(&source);
	tensor_free(&target);
	free(expected);
}

enum status check_convert_pairs(struct device *device, struct error *err)
{
	for (int from = 0; from < PRECISION_COUNT; from++) {
		for (int to = 0; to < PRECISION_COUNT; to++) {
			struct bench b;

			bench_open(&b, device, err);
			for (size_t i = 0; i < ARRAY_SIZE(counts) && bench_ok(&b); i++)
				check_pair(&b, (enum precision)from, (enum precision)to, counts[i]);
			if (bench_close(&b) != STATUS_OK)
				return err->status;
		}
	}
	return STATUS_OK;
}

/* All 65,536 FP16 and BF16 numbers to FP32 and back: the same number, bit for bit but for NaN. */
enum status check_convert_every_half(struct device *device, struct error *err)
{
	static const enum precision precisions[] = { PRECISION_FP16, PRECISION_BF16 };
	struct bench b;

	bench_open(&b, device, err);
	for (size_t p = 0; p < ARRAY_SIZE(precisions); p++) {
		enum precision precision = precisions[p];
		uint16_t *bits = xcalloc(65536, sizeof(*bits)),
			 *back = xcalloc(65536, sizeof(*back));
		float *wide = xcalloc(65536, sizeof(*wide));
		void *device_bits, *device_wide;

		for (size_t i = 0; i < 65536; i++)
			bits[i] = (uint16_t)i;
		device_bits = bench_upload(&b, bits, 65536 * sizeof(*bits));
		device_wide = bench_upload(&b, NULL, 65536 * sizeof(*wide));
		bench_launch(&b, "convert",
			     &(struct convert_arguments){ device_wide, device_bits, PRECISION_FP32,
							  precision, 65536 });
		bench_download(&b, wide, device_wide, 65536 * sizeof(*wide));
		bench_launch(&b, "convert",
			     &(struct convert_arguments){ device_bits, device_wide, precision,
							  PRECISION_FP32, 65536 });
		bench_download(&b, back, device_bits, 65536 * sizeof(*back));
		for (size_t i = 0; i < 65536 && bench_ok(&b); i++) {
			double value = element_get(bits, precision, i);

			if (!same(value, (double)wide[i]) || (!isnan(value) && back[i] != bits[i]))
				error_set(err, STATUS_MISMATCH, "%s %#zx became %.9g, then %#x",
					  precision_name(precision), i, (double)wide[i], back[i]);
		}
		free(bits);
		free(back);
		free(wide);
	}
	return bench_close(&b);
}
