/* Checks of checksums and differences against the formulas, number by number. */
#include "kernel_checks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "kernels/comparison.h"

#define BYTES 100003
#define TRIALS 64

static uint64_t checksum_of(const unsigned char *bytes, uint64_t count)
{
	uint64_t sum = 0;

	for (uint64_t i = 0; 8 * i < count; i++) {
		uint64_t word = 0;

		for (uint64_t k = 0; k < 8 && 8 * i + k < count; k++)
			word |= (uint64_t)bytes[8 * i + k] << 8 * k;
		sum += comparison_checksum_word(word, i);
	}
	return sum;
}

static uint64_t launch_checksum(struct bench *b, const void *memory, uint64_t bytes, uint64_t *out)
{
	uint64_t sum = 0;
	struct checksum_arguments a = { memory, bytes, out };

	if (bench_ok(b) && backend_copy(b->stream, out, &sum, sizeof(sum), b->err) == STATUS_OK)
		backend_stream_synchronize(b->stream, b->err);
	bench_launch(b, "checksum", &a);
	bench_download(b, &sum, out, sizeof(sum));
	return sum;
}

/* Any part of memory, also one that begins and ends within a word. */
static void check_ranges(struct bench *b, const unsigned char *data, const unsigned char *memory,
			 uint64_t *out)
{
	static const struct {
		uint64_t first, bytes;
	} ranges[] = { { 0, BYTES }, { 0, 0 },     { 0, 1 },   { 0, 8 },    { 8, 4096 },
		       { 2, 777 },   { 7, 65536 }, { 16, 15 }, { 4, 40000 } };

	for (size_t i = 0; i < ARRAY_SIZE(ranges) && bench_ok(b); i++) {
		uint64_t got = launch_checksum(b, memory + ranges[i].first, ranges[i].bytes, out);
		uint64_t expected = checksum_of(data + ranges[i].first, ranges[i].bytes);

		if (bench_ok(b) && got != expected)
			error_set(b->err, STATUS_MISMATCH,
				  "checksum of %llu bytes from %llu on: %#llx, expected %#llx",
				  (unsigned long long)ranges[i].bytes,
				  (unsigned long long)ranges[i].first, (unsigned long long)got,
				  (unsigned long long)expected);
	}
}

/* Every bit counts, wherever it is, and where a word is counts as well. */
static void check_changes(struct bench *b, unsigned char *data, unsigned char *memory,
			  uint64_t *out)
{
	uint64_t before = launch_checksum(b, memory, BYTES, out), state = 9;

	for (int t = 0; t < TRIALS && bench_ok(b); t++) {
		uint64_t at = (uint64_t)(random_uniform(&state) * BYTES) % BYTES;
		unsigned char changed = data[at] ^ (unsigned char)(1u << t % 8);

		at = t == 0 ? BYTES - 1 : at;
		changed = data[at] ^ (unsigned char)(1u << t % 8);
		if (backend_copy(b->stream, memory + at, &changed, 1, b->err) == STATUS_OK)
			backend_stream_synchronize(b->stream, b->err);
		if (bench_ok(b) && launch_checksum(b, memory, BYTES, out) == before && bench_ok(b))
			error_set(b->err, STATUS_MISMATCH,
				  "checksum: a changed bit of byte %llu changes nothing",
				  (unsigned long long)at);
		if (bench_ok(b) &&
		    backend_copy(b->stream, memory + at, data + at, 1, b->err) == STATUS_OK)
			backend_stream_synchronize(b->stream, b->err);
	}
	/* Two neighbours in each other's place. */
	if (bench_ok(b) && backend_copy(b->stream, memory, data + 8, 8, b->err) == STATUS_OK &&
	    backend_copy(b->stream, memory + 8, data, 8, b->err) == STATUS_OK)
		backend_stream_synchronize(b->stream, b->err);
	if (bench_ok(b) && launch_checksum(b, memory, BYTES, out) == before && bench_ok(b))
		error_set(b->err, STATUS_MISMATCH,
			  "checksum: two words that changed places change nothing");
}

enum status check_checksum(struct device *device, struct error *err)
{
	unsigned char *data = xmalloc(BYTES), *memory;
	uint64_t zero = 0, *out;
	struct bench b;

	for (uint64_t i = 0; i < BYTES; i++)
		data[i] = (unsigned char)generator_bits(4, i);
	bench_open(&b, device, err);
	memory = bench_upload(&b, data, BYTES);
	out = bench_upload(&b, &zero, sizeof(zero));
	check_ranges(&b, data, memory, out);
	check_changes(&b, data, memory, out);
	free(data);
	return bench_close(&b);
}

static struct difference_part sum_of(const struct difference_part *parts)
{
	struct difference_part sum = { 0, 0 };

	for (int i = 0; i < DIFFERENCE_PARTS; i++) {
		sum.difference += parts[i].difference;
		sum.expected += parts[i].expected;
	}
	return sum;
}

static void check_difference_of(struct bench *b, enum precision precision, size_t count)
{
	static const double x_scale = 1024, y_scale = 3;
	struct difference_part *parts = xcalloc(DIFFERENCE_PARTS, sizeof(*parts)), got,
			       right = { 0, 0 };
	struct tensor x, y;
	struct difference_arguments a = {
		.precision = precision, .count = count, .x_scale = x_scale, .y_scale = y_scale
	};

	tensor_make(b, &x, precision, count + 1, 5, 8);
	tensor_make(b, &y, precision, count + 1, 6, 8);
	/* From the second element on: alignment is the elements' own. */
	a.x = (const char *)x.device + precision_bytes(precision);
	a.y = (const char *)y.device + precision_bytes(precision);
	a.parts = bench_upload(b, NULL, DIFFERENCE_PARTS * sizeof(*parts));
	bench_launch(b, "difference", &a);
	bench_download(b, parts, a.parts, DIFFERENCE_PARTS * sizeof(*parts));
	got = sum_of(parts);
	for (size_t i = 1; i <= count; i++) {
		double expected = tensor_was(&y, i) / y_scale,
		       d = tensor_was(&x, i) / x_scale - expected;

		right.difference += d * d;
		right.expected += expected * expected;
	}
	if (bench_ok(b) && compare(b->err, "difference", PRECISION_FP64, count, got.difference,
				   right.difference, 1e-12 * right.difference))
		compare(b->err, "difference: what was expected", PRECISION_FP64, count,
			got.expected, right.expected, 1e-12 * right.expected);
	tensor_free(&x);
	tensor_free(&y);
	free(parts);
}

/* A number that is none makes the sum none, wherever it is. */
static void check_nan(struct bench *b)
{
	struct difference_part *parts = xcalloc(DIFFERENCE_PARTS, sizeof(*parts));
	float *zeros = xcalloc(5000, sizeof(*zeros));
	struct difference_arguments a = {
		.precision = PRECISION_FP32, .count = 5000, .x_scale = 1, .y_scale = 1
	};

	a.x = bench_upload(b, zeros, 5000 * sizeof(*zeros));
	zeros[4999] = NAN;
	a.y = bench_upload(b, zeros, 5000 * sizeof(*zeros));
	a.parts = bench_upload(b, NULL, DIFFERENCE_PARTS * sizeof(*parts));
	bench_launch(b, "difference", &a);
	bench_download(b, parts, a.parts, DIFFERENCE_PARTS * sizeof(*parts));
	if (bench_ok(b) && !isnan(sum_of(parts).difference))
		error_set(b->err, STATUS_MISMATCH, "difference: %g from a NaN",
			  sum_of(parts).difference);
	free(parts);
	free(zeros);
}

enum status check_difference(struct device *device, struct error *err)
{
	static const enum precision precisions[] = { PRECISION_FP64, PRECISION_FP32, PRECISION_TF32,
						     PRECISION_FP16, PRECISION_BF16 };
	static const size_t counts[] = { 1, 1000, 300000 };
	struct bench b;

	for (size_t p = 0; p < ARRAY_SIZE(precisions); p++) {
		bench_open(&b, device, err);
		for (size_t c = 0; c < ARRAY_SIZE(counts); c++)
			check_difference_of(&b, precisions[p], counts[c]);
		if (bench_close(&b) != STATUS_OK)
			return err->status;
	}
	bench_open(&b, device, err);
	check_nan(&b);
	return bench_close(&b);
}
