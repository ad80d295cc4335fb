/* The check of sums over ranks: sound sums pass, planted errors are found at their place. */
#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "kernel_checks.h"
#include "kernels/generator.h"
#include "kernels/memory/fill.h"
#include "kernels/reduction.h"

#define COUNT 100003
#define FIRST 77
#define RANKS 3
#define SEED 900

static const struct {
	enum precision precision;
	double rounding; /* unit of rounding of the stored number */
} rows[] = {
	{ PRECISION_FP64, 0x1p-53 },
	{ PRECISION_FP32, 0x1p-24 },
	{ PRECISION_FP16, 0x1p-11 },
	{ PRECISION_BF16, 0x1p-8 },
};

/* Sums in another order than the kernel's, each step rounded as a chain of ranks rounds it. */
static void *sums_of(enum precision precision)
{
	void *sums = random_tensor(precision, COUNT, 1, 1), *x = random_tensor(precision, 1, 1, 1);

	for (size_t i = 0; i < COUNT; i++) {
		element_set(sums, precision, i, 0);
		for (uint64_t rank = RANKS; rank-- > 0;) {
			element_set(x, precision, 0,
				    (double)generator_uniform(SEED + rank, FIRST + i));
			element_set(sums, precision, i,
				    element_get(sums, precision, i) + element_get(x, precision, 0));
		}
	}
	free(x);
	return sums;
}

static struct reduction_mismatch look(struct bench *b, const void *sums, enum precision precision,
				      double tolerance)
{
	struct reduction_mismatch found = { 0, UINT64_MAX, 0, 0, 0 };
	void *out = bench_upload(b, &found, sizeof(found));

	bench_launch(b, "check_reduction",
		     &(struct check_reduction_arguments){
			     .memory = bench_upload(b, sums, COUNT * precision_bytes(precision)),
			     .precision = precision,
			     .count = COUNT,
			     .first = FIRST,
			     .seed = SEED,
			     .ranks = RANKS,
			     .scale = 1,
			     .tolerance = tolerance,
			     .out = out });
	bench_download(b, &found, out, sizeof(found));
	return found;
}

static void look_for_planted(struct bench *b, void *sums, enum precision precision,
			     double tolerance)
{
	double was = element_get(sums, precision, 54321);
	struct reduction_mismatch found;

	element_set(sums, precision, 54321, was + 0.5);
	element_set(sums, precision, COUNT - 1, NAN);
	found = look(b, sums, precision, tolerance);
	if (bench_ok(b) &&
	    (found.count != 2 || found.index != 54321 || fabs(found.got - was - 0.5) > 0.01 ||
	     fabs(found.expected - was) > 0.05))
		error_set(b->err, STATUS_MISMATCH,
			  "%s: planted at 54321 and %d, found %llu, the first at %llu: %g, not %g",
			  precision_name(precision), COUNT - 1, (unsigned long long)found.count,
			  (unsigned long long)found.index, found.got, found.expected);
	if (bench_ok(b) && !isinf(found.error))
		error_set(b->err, STATUS_MISMATCH, "%s: NaN is an error of %g only",
			  precision_name(precision), found.error);
}

enum status check_check_reduction(struct device *device, struct error *err)
{
	struct bench b;

	bench_open(&b, device, err);
	for (size_t r = 0; r < ARRAY_SIZE(rows) && bench_ok(&b); r++) {
		double tolerance = (RANKS - 1) * 1.01 * rows[r].rounding;
		void *sums = sums_of(rows[r].precision);
		struct reduction_mismatch found = look(&b, sums, rows[r].precision, tolerance);

		if (bench_ok(&b) && (found.count || found.error > tolerance))
			error_set(err, STATUS_MISMATCH, "%s: %llu sound sums are wrong, error %g",
				  precision_name(rows[r].precision),
				  (unsigned long long)found.count, found.error);
		look_for_planted(&b, sums, rows[r].precision, tolerance);
		free(sums);
	}
	return bench_close(&b);
}
