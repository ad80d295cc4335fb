/* Generated data: the documented generator, written out once more, and planted wrong bytes. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "kernel_checks.h"
#include "kernels/fp8.h"
#include "kernels/memory/fill.h"

/*
 * splitmix64 by its sequential definition: the state advances by the golden ratio, then is mixed.
 */
static uint64_t reference_word(uint64_t seed, uint64_t index)
{
	uint64_t state = seed;

	state += 0x9e3779b97f4a7c15u * (index + 1);
	state = (state ^ state >> 30) * 0xbf58476d1ce4e5b9u;
	state = (state ^ state >> 27) * 0x94d049bb133111ebu;
	return state ^ state >> 31;
}

static unsigned char reference_byte(uint64_t seed, uint64_t index)
{
	return (unsigned char)(reference_word(seed, index / 8) >> 8 * (index % 8));
}

enum status check_fill_bits(struct device *device, struct error *err)
{
	static const struct {
		size_t bytes, first;
	} rows[] = { { 1, 0 }, { 7, 8 }, { 16, 0 }, { 4099, 800 }, { 600001, 1 << 20 } };
	struct bench b;

	bench_open(&b, device, err);
	for (size_t r = 0; r < ARRAY_SIZE(rows) && bench_ok(&b); r++) {
		size_t size = rows[r].bytes + 16;
		unsigned char *got = xcalloc(size, 1);
		void *memory = bench_upload(&b, NULL, size);

		bench_launch(&b, "fill",
			     &(struct fill_arguments){ .memory = memory,
						       .kind = FILL_BITS,
						       .count = rows[r].bytes,
						       .first = rows[r].first,
						       .seed = 42 + r,
						       .scale = 1 });
		bench_download(&b, got, memory, size);
		for (size_t i = 0; i < size && bench_ok(&b); i++) {
			unsigned char expected = i < rows[r].bytes
							 ? reference_byte(42 + r, rows[r].first + i)
							 : 0xee;

			if (got[i] != expected)
				error_set(err, STATUS_MISMATCH,
					  "fill of %zu bytes: byte %zu is %#x, not %#x",
					  rows[r].bytes, i, got[i], expected);
		}
		free(got);
	}
	return bench_close(&b);
}

/* 24 bits of the word as a number in [-1, 1). */
static double reference_uniform(uint64_t seed, uint64_t index)
{
	return (double)(reference_word(seed, index) >> 40) / 8388608.0 - 1;
}

enum status check_fill_elements(struct device *device, struct error *err)
{
	static const struct {
		enum fill_kind kind;
		enum precision precision;
	} kinds[] = { { FILL_FP64, PRECISION_FP64 },
		      { FILL_FP32, PRECISION_FP32 },
		      { FILL_FP16, PRECISION_FP16 },
		      { FILL_BF16, PRECISION_BF16 } };
	static const double scales[] = { 1, 0.3, 1e-6, 70000 };
	const size_t count = 50021, first = 12345;
	struct bench b;

	bench_open(&b, device, err);
	for (size_t r = 0; r < ARRAY_SIZE(kinds) * ARRAY_SIZE(scales) && bench_ok(&b); r++) {
		enum precision precision = kinds[r / ARRAY_SIZE(scales)].precision;
		double scale = scales[r % ARRAY_SIZE(scales)];
		size_t bytes = count * precision_bytes(precision);
		void *got = xcalloc(count, precision_bytes(precision)),
		     *memory = bench_upload(&b, NULL, bytes);
		void *expected = xcalloc(1, precision_bytes(precision));

		bench_launch(&b, "fill",
			     &(struct fill_arguments){ .memory = memory,
						       .kind = kinds[r / ARRAY_SIZE(scales)].kind,
						       .count = count,
						       .first = first,
						       .seed = r,
						       .scale = scale });
		bench_download(&b, got, memory, bytes);
		for (size_t i = 0; i < count && bench_ok(&b); i++) {
			element_set(expected, precision, 0,
				    scale * reference_uniform(r, first + i));
			compare(err, "fill", precision, i, element_get(got, precision, i),
				element_get(expected, precision, 0), 0);
		}
		free(got);
		free(expected);
	}
	return bench_close(&b);
}

/* E4M3 by looking for the nearest of all numbers there are, the even one of two. */
static double nearest_fp8(double value)
{
	double best = 0;
	int best_bits = 0;

	for (int bits = 0; bits < 0x7f; bits++) {
		double number = bits < 8 ? ldexp(bits, -9) : ldexp(8 + bits % 8, bits / 8 - 10);
		double off = fabs(fabs(value) - number), best_off = fabs(fabs(value) - best);

		if (off < best_off || (off == best_off && best_bits % 2)) {
			best = number;
			best_bits = bits;
		}
	}
	return value < 0 ? -best : best;
}

static double nearest_fixed8(double value)
{
	return fmax(-128, fmin(127, nearbyint(value * 128)));
}

/* The formats of one byte, which only matrix products have. */
enum status check_fill_bytes(struct device *device, struct error *err)
{
	static const double scales[] = { 1, 0.3, 0.01, 1000 };
	const size_t count = 5021, first = 77;
	struct bench b;

	bench_open(&b, device, err);
	for (size_t r = 0; r < 2 * ARRAY_SIZE(scales) && bench_ok(&b); r++) {
		double scale = scales[r / 2];
		uint8_t *got = xcalloc(count, 1);
		void *memory = bench_upload(&b, NULL, count);

		bench_launch(&b, "fill",
			     &(struct fill_arguments){ .memory = memory,
						       .kind = r % 2 ? FILL_FP8 : FILL_FIXED8,
						       .count = count,
						       .first = first,
						       .seed = r,
						       .scale = scale });
		bench_download(&b, got, memory, count);
		for (size_t i = 0; i < count && bench_ok(&b); i++) {
			double exact = scale * reference_uniform(r, first + i);

			compare(err, r % 2 ? "fill fp8" : "fill fixed8", PRECISION_FP64, i,
				r % 2 ? (double)fp8_to_float(got[i]) : (double)(int8_t)got[i],
				r % 2 ? nearest_fp8(exact) : nearest_fixed8(exact), 0);
		}
		free(got);
	}
	return bench_close(&b);
}

struct range {
	struct bench *b;
	void *memory, *out;
	size_t bytes, first;
	uint64_t seed;
};

static void look(const struct range *r, struct fill_mismatch *found)
{
	*found = (struct fill_mismatch){ 0, UINT64_MAX, 0, 0 };
	if (bench_ok(r->b))
		backend_copy(r->b->stream, r->out, found, sizeof(*found), r->b->err);
	bench_launch(r->b, "check_fill",
		     &(struct check_fill_arguments){ .memory = r->memory,
						     .bytes = r->bytes,
						     .first = r->first,
						     .seed = r->seed,
						     .out = r->out });
	bench_download(r->b, found, r->out, sizeof(*found));
}

static void put_byte(const struct range *r, size_t at, unsigned char byte)
{
	if (bench_ok(r->b) &&
	    backend_copy(r->b->stream, (char *)r->memory + at, &byte, 1, r->b->err) == STATUS_OK)
		backend_stream_synchronize(r->b->stream, r->b->err);
}

/* Turns one bit at `at`, which must be found at its word, and turns it back. */
static void plant(const struct range *r, size_t at, unsigned bit)
{
	unsigned char right = reference_byte(r->seed, r->first + at),
		      wrong = (unsigned char)(right ^ 1u << bit);
	size_t word = at / 8 * 8;
	uint64_t expected = 0, got = 0;
	struct fill_mismatch found;

	for (size_t i = word; i < word + 8 && i < r->bytes; i++) {
		unsigned char byte = reference_byte(r->seed, r->first + i);

		expected |= (uint64_t)byte << 8 * (i - word);
		got |= (uint64_t)(i == at ? wrong : byte) << 8 * (i - word);
	}
	put_byte(r, at, wrong);
	look(r, &found);
	if (found.count != 1 || found.index != word || found.expected != expected ||
	    found.got != got)
		error_set(r->b->err, STATUS_MISMATCH,
			  "check_fill of %zu bytes from %zu, bit %u of byte %zu wrong: found %llu "
			  "words, first at %llu, %#llx for %#llx",
			  r->bytes, r->first, bit, at, (unsigned long long)found.count,
			  (unsigned long long)found.index, (unsigned long long)found.got,
			  (unsigned long long)found.expected);
	put_byte(r, at, right);
}

static void prepare(struct range *r, struct bench *b, size_t bytes, size_t first)
{
	*r = (struct range){ .b = b, .bytes = bytes, .first = first, .seed = 7 * bytes + first };
	r->memory = bench_upload(b, NULL, bytes);
	r->out = bench_upload(b, NULL, sizeof(struct fill_mismatch));
	bench_launch(b, "fill",
		     &(struct fill_arguments){ .memory = r->memory,
					       .kind = FILL_BITS,
					       .count = bytes,
					       .first = first,
					       .seed = r->seed,
					       .scale = 1 });
}

enum status check_check_fill(struct device *device, struct error *err)
{
	static const size_t rows[][2] = {
		{ 1, 0 }, { 13, 16 }, { 40, 0 }, { 4099, 8000 }, { 700003, 1 << 20 }
	};
	struct fill_mismatch found;
	struct bench b;
	struct range r;

	bench_open(&b, device, err);
	for (size_t i = 0; i < ARRAY_SIZE(rows) && bench_ok(&b); i++) {
		size_t step;

		prepare(&r, &b, rows[i][0], rows[i][1]);
		look(&r, &found);
		if (found.count != 0)
			error_set(err, STATUS_MISMATCH,
				  "check_fill found %llu wrong words where there are none",
				  (unsigned long long)found.count);
		/*
		 * Every byte of the small ranges, some of the large ones, the first and the last of
		 * all.
		 */
		step = r.bytes > 64 ? r.bytes / 23 : 1;
		for (size_t at = 0; at < r.bytes && bench_ok(&b); at += step)
			plant(&r, at, (unsigned)(at % 8));
		plant(&r, r.bytes - 1, 7);
	}
	return bench_close(&b);
}

/*
 * The lowest of several wrong words is named, and launches over parts of a buffer add up in one
 * `out`.
 */
enum status check_check_fill_accumulates(struct device *device, struct error *err)
{
	struct fill_mismatch found = { 0, UINT64_MAX, 0, 0 };
	struct bench b;
	struct range r;

	bench_open(&b, device, err);
	prepare(&r, &b, 1 << 20, 0);
	if (bench_ok(&b)) {
		backend_memory_set(b.stream, (char *)r.memory + 800000, 0x55, 4096, err);
		backend_memory_set(b.stream, (char *)r.memory + 70400, 0x55, 80, err);
		backend_stream_synchronize(b.stream, err);
	}
	look(&r, &found);
	if (bench_ok(&b) &&
	    (found.count != 512 + 10 || found.index != 70400 || found.got != 0x5555555555555555u))
		error_set(err, STATUS_MISMATCH, "check_fill: %llu wrong words, first at %llu",
			  (unsigned long long)found.count, (unsigned long long)found.index);
	bench_launch(&b, "check_fill",
		     &(struct check_fill_arguments){ .memory = r.memory,
						     .bytes = r.bytes,
						     .first = 0,
						     .seed = r.seed,
						     .out = r.out });
	bench_download(&b, &found, r.out, sizeof(found));
	if (bench_ok(&b) && (found.count != 2 * (512 + 10) || found.index != 70400))
		error_set(err, STATUS_MISMATCH, "check_fill twice: %llu wrong words, first at %llu",
			  (unsigned long long)found.count, (unsigned long long)found.index);
	return bench_close(&b);
}
