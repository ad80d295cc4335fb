/*
 * Kernels that only move through memory, in every variant, against loops over a copy of the data.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "kernel_checks.h"
#include "kernels/memory/stream.h"
#include "kernels/timing.h"

static const struct stream_variant variants[] = {
	{ 1, 32, 0, 0 },  { 1, 1024, 0, 1 }, { 2, 128, 0, 0 }, { 2, 64, 1, 1 },
	{ 4, 256, 0, 0 }, { 4, 64, 2, 1 },   { 8, 96, 0, 0 },  { 8, 1024, 1, 1 },
};

/* Packs of 16 bytes: less than a warp, and ones that no stretch divides. */
static const size_t packs[] = { 1, 31, 1000, 33333 };

static double reference(enum stream_operation operation, double x, double y)
{
	switch (operation) {
	case STREAM_COPY:
		return x;
	case STREAM_MUL:
		return x / 2;
	case STREAM_ADD:
		return x + y;
	default:
		return x + y / 2;
	}
}

/* Every element is the reference's rounded once, and memory beyond the end is untouched. */
static void check_array(struct bench *b, enum stream_operation operation, enum precision precision,
			size_t bytes, const struct stream_variant *variant)
{
	size_t count = bytes / precision_bytes(precision);
	struct tensor out, x, y;
	void *expected = xcalloc(1, 8);

	tensor_make(b, &out, precision, count, 1, 1);
	tensor_make(b, &x, precision, count, 2, 3);
	tensor_make(b, &y, precision, count, 3, 0.7);
	bench_launch(b, "stream",
		     &(struct stream_arguments){ .operation = operation,
						 .precision = precision,
						 .out = out.device,
						 .x = x.device,
						 .y = y.device,
						 .bytes = bytes,
						 .variant = *variant });
	tensor_fetch(b, &out, "stream");
	for (size_t i = 0; i < count && bench_ok(b); i++) {
		element_set(expected, precision, 0,
			    reference(operation, tensor_was(&x, i), tensor_was(&y, i)));
		compare(b->err, "stream", precision, i, tensor_now(&out, i),
			element_get(expected, precision, 0), 0);
	}
	free(expected);
	tensor_free(&out);
	tensor_free(&x);
	tensor_free(&y);
}

enum status check_stream_arrays(struct device *device, struct error *err)
{
	static const enum precision precisions[] = { PRECISION_FP64, PRECISION_FP32 };

	for (int operation = STREAM_COPY; operation <= STREAM_TRIAD; operation++) {
		for (size_t i = 0; i < ARRAY_SIZE(variants) * ARRAY_SIZE(packs) * 2; i++) {
			const struct stream_variant *variant =
				&variants[i / 2 % ARRAY_SIZE(variants)];
			size_t bytes = 16 * packs[i / 2 / ARRAY_SIZE(variants)];
			struct bench b;

			bench_open(&b, device, err);
			check_array(&b, (enum stream_operation)operation, precisions[i % 2], bytes,
				    variant);
			if (err->status != STATUS_OK)
				error_prefix(err, "operation %d, %zu bytes, variant %zu", operation,
					     bytes, i / 2 % ARRAY_SIZE(variants));
			if (bench_close(&b) != STATUS_OK)
				return err->status;
		}
	}
	return STATUS_OK;
}

struct sums {
	struct bench *b;
	struct stream_sum *sum; /* on the device */
	double *x, *y;          /* contents of the device's arrays; bytes as words, too */
	float *x32, *y32;
	void *device_x, *device_y, *device_x32, *device_y32;
	size_t bytes;
};

static void sums_make(struct sums *s, struct bench *b, size_t bytes)
{
	struct stream_sum *zero = xcalloc(1, sizeof(*zero));

	*s = (struct sums){ .b = b, .bytes = bytes };
	s->x = random_tensor(PRECISION_FP64, bytes / 8, 11, 1);
	s->y = random_tensor(PRECISION_FP64, bytes / 8, 12, 1);
	s->x32 = random_tensor(PRECISION_FP32, bytes / 4, 13, 1);
	s->y32 = random_tensor(PRECISION_FP32, bytes / 4, 14, 1);
	s->device_x = bench_upload(b, s->x, bytes);
	s->device_y = bench_upload(b, s->y, bytes);
	s->device_x32 = bench_upload(b, s->x32, bytes);
	s->device_y32 = bench_upload(b, s->y32, bytes);
	s->sum = bench_upload(b, zero, sizeof(*zero));
	free(zero);
}

static void sums_free(struct sums *s)
{
	free(s->x);
	free(s->y);
	free(s->x32);
	free(s->y32);
}

/* Launches twice: the second finds what the first left in `sum`. */
static void take(struct sums *s, const struct stream_arguments *a, struct stream_sum *found)
{
	bench_launch(s->b, "stream", a);
	bench_launch(s->b, "stream", a);
	bench_download(s->b, found, s->sum, offsetof(struct stream_sum, parts));
}

static void check_dots(struct sums *s, const struct stream_variant *variant)
{
	long double exact = 0, exact32 = 0;
	struct stream_arguments a = { .operation = STREAM_DOT,
				      .precision = PRECISION_FP64,
				      .x = s->device_x,
				      .y = s->device_y,
				      .bytes = s->bytes,
				      .sum = s->sum,
				      .variant = *variant };
	struct stream_sum found;

	for (size_t i = 0; i < s->bytes / 8; i++)
		exact += (long double)s->x[i] * s->y[i];
	for (size_t i = 0; i < s->bytes / 4; i++)
		exact32 += (long double)s->x32[i] * s->y32[i];
	take(s, &a, &found);
	if (bench_ok(s->b))
		compare(s->b->err, "dot fp64", PRECISION_FP64, 0, found.sum.number, (double)exact,
			1e-11);
	a.precision = PRECISION_FP32;
	a.x = s->device_x32;
	a.y = s->device_y32;
	take(s, &a, &found);
	if (bench_ok(s->b)) /* summed in double: far better than FP32 */
		compare(s->b->err, "dot fp32", PRECISION_FP64, 0, found.sum.number, (double)exact32,
			1e-11);
}

static void expect_words(struct sums *s, const struct stream_arguments *a, const char *what,
			 uint64_t expected)
{
	struct stream_sum found;

	take(s, a, &found);
	if (bench_ok(s->b) && found.sum.words != expected)
		error_set(s->b->err, STATUS_MISMATCH, "%s: %#llx, not %#llx", what,
			  (unsigned long long)found.sum.words, (unsigned long long)expected);
}

static void check_words(struct sums *s, const struct stream_variant *variant)
{
	const uint64_t *words = (const uint64_t *)s->x;
	struct stream_arguments a = { .operation = STREAM_READ,
				      .x = s->device_x,
				      .bytes = s->bytes,
				      .seed = 99,
				      .accesses = 777,
				      .stride = 16,
				      .sum = s->sum,
				      .variant = *variant };
	uint64_t all = 0, random = 0;

	for (size_t i = 0; i < s->bytes / 8; i++)
		all += words[i];
	for (uint64_t i = 0; i < a.accesses; i++)
		random += words[memory_stream_random(a.seed, i, s->bytes / 8)];
	expect_words(s, &a, "read", all);
	a.operation = STREAM_STRIDED;
	expect_words(s, &a, "strided, 16 bytes", all);
	a.stride = s->bytes;
	expect_words(s, &a, "strided, one row", all);
	a.operation = STREAM_RANDOM;
	expect_words(s, &a, "random", random);
}

enum status check_stream_sums(struct device *device, struct error *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(variants) * ARRAY_SIZE(packs); i++) {
		struct bench b;
		struct sums s;

		bench_open(&b, device, err);
		sums_make(&s, &b, 16 * packs[i / ARRAY_SIZE(variants)]);
		check_dots(&s, &variants[i % ARRAY_SIZE(variants)]);
		check_words(&s, &variants[i % ARRAY_SIZE(variants)]);
		sums_free(&s);
		if (err->status != STATUS_OK)
			error_prefix(err, "%zu bytes, variant %zu", s.bytes,
				     i % ARRAY_SIZE(variants));
		if (bench_close(&b) != STATUS_OK)
			return err->status;
	}
	return STATUS_OK;
}

enum status check_stream_write(struct device *device, struct error *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(variants) * ARRAY_SIZE(packs); i++) {
		size_t words = 2 * packs[i / ARRAY_SIZE(variants)];
		uint64_t *now = xcalloc(words + 2, 8);
		struct bench b;
		void *out;

		bench_open(&b, device, err);
		out = bench_upload(&b, NULL, 8 * (words + 2));
		bench_launch(&b, "stream",
			     &(struct stream_arguments){
				     .operation = STREAM_WRITE,
				     .out = out,
				     .bytes = 8 * words,
				     .seed = 5,
				     .variant = variants[i % ARRAY_SIZE(variants)] });
		bench_download(&b, now, out, 8 * (words + 2));
		for (size_t k = 0; k < words + 2 && bench_ok(&b); k++) {
			uint64_t expected =
				k < words ? 5 + k * STREAM_STEP : UINT64_C(0xeeeeeeeeeeeeeeee);

			if (now[k] != expected)
				error_set(err, STATUS_MISMATCH,
					  "write, variant %zu: word %zu of %zu is %#llx",
					  i % ARRAY_SIZE(variants), k, words,
					  (unsigned long long)now[k]);
		}
		free(now);
		if (bench_close(&b) != STATUS_OK)
			return err->status;
	}
	return STATUS_OK;
}

static void look(struct bench *b, const struct check_stream_arguments *a,
		 struct fill_mismatch *found)
{
	*found = (struct fill_mismatch){ 0, UINT64_MAX, 0, 0 };
	if (bench_ok(b))
		backend_copy(b->stream, a->found, found, sizeof(*found), b->err);
	bench_launch(b, "check_stream", a);
	bench_download(b, found, a->found, sizeof(*found));
}

/* Turns the lowest bit of the elements at `at`, the lowest of which must be found. */
static void plant(struct bench *b, const struct check_stream_arguments *a, const size_t *at,
		  size_t count)
{
	size_t size = a->precision == PRECISION_FP32 && a->operation != STREAM_WRITE ? 4 : 8;
	uint64_t right = 0, wrong;
	struct fill_mismatch found;

	for (size_t i = count; i-- > 0;) {
		bench_download(b, &right, (const char *)a->out + at[i] * size, size);
		wrong = right ^ 1;
		if (bench_ok(b) && backend_copy(b->stream, (char *)(uintptr_t)a->out + at[i] * size,
						&wrong, size, b->err) == STATUS_OK)
			backend_stream_synchronize(b->stream, b->err);
	}
	look(b, a, &found);
	if (bench_ok(b) && (found.count != count || found.index != at[0] * size ||
			    found.expected != right || found.got != (right ^ 1)))
		error_set(b->err, STATUS_MISMATCH,
			  "check_stream: %llu wrong, first at %llu, %#llx for %#llx",
			  (unsigned long long)found.count, (unsigned long long)found.index,
			  (unsigned long long)found.got, (unsigned long long)found.expected);
}

/*
 * Finds nothing in what the kernel made of generated data, and each element of which one bit is
 * turned.
 */
enum status check_check_stream(struct device *device, struct error *err)
{
	static const enum stream_operation operations[] = { STREAM_COPY, STREAM_MUL, STREAM_ADD,
							    STREAM_TRIAD, STREAM_WRITE };
	static const size_t at[] = { 17, 18, 60000 };
	const size_t bytes = 16 * 33333;

	for (size_t i = 0; i < 2 * ARRAY_SIZE(operations); i++) {
		enum precision precision = i % 2 ? PRECISION_FP32 : PRECISION_FP64;
		enum fill_kind kind = i % 2 ? FILL_FP32 : FILL_FP64;
		size_t count = bytes / precision_bytes(precision);
		struct fill_mismatch found;
		struct bench b;
		void *out, *x, *y;

		bench_open(&b, device, err);
		out = bench_upload(&b, NULL, bytes);
		x = bench_upload(&b, NULL, bytes);
		y = bench_upload(&b, NULL, bytes);
		struct check_stream_arguments a = { operations[i / 2],
						    precision,
						    out,
						    bytes,
						    { 21, 22 },
						    bench_upload(&b, NULL, sizeof(found)) };
		bench_launch(&b, "fill", &(struct fill_arguments){ x, kind, count, 0, 21, 1 });
		bench_launch(&b, "fill", &(struct fill_arguments){ y, kind, count, 0, 22, 1 });
		bench_launch(&b, "stream",
			     &(struct stream_arguments){ .operation = operations[i / 2],
							 .precision = precision,
							 .out = out,
							 .x = x,
							 .y = y,
							 .bytes = bytes,
							 .seed = 21,
							 .variant = variants[4] });
		look(&b, &a, &found);
		if (bench_ok(&b) && found.count)
			error_set(err, STATUS_MISMATCH, "check_stream: %llu wrong where none is",
				  (unsigned long long)found.count);
		plant(&b, &a, at, ARRAY_SIZE(at));
		if (err->status != STATUS_OK)
			error_prefix(err, "operation %d in %s", (int)operations[i / 2],
				     precision_name(precision));
		if (bench_close(&b) != STATUS_OK)
			return err->status;
	}
	return STATUS_OK;
}

/* "empty" counts its launches, or does nothing at all. */
enum status check_empty(struct device *device, struct error *err)
{
	uint64_t counter = 40;
	struct bench b;
	void *memory;

	bench_open(&b, device, err);
	memory = bench_upload(&b, &counter, sizeof(counter));
	bench_launch(&b, "empty", &(struct empty_arguments){ memory });
	bench_launch(&b, "empty", &(struct empty_arguments){ NULL });
	bench_launch(&b, "empty", &(struct empty_arguments){ memory });
	bench_download(&b, &counter, memory, sizeof(counter));
	if (bench_ok(&b) && counter != 42)
		error_set(err, STATUS_MISMATCH, "empty: counted to %llu, not 42",
			  (unsigned long long)counter);
	return bench_close(&b);
}
