/*
 * The sweeps and comparisons of the soak: patterns written out once more, and planted wrong bits
 * that must be found.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "kernel_checks.h"
#include "kernels/soak.h"

#define WORDS 50000
#define FIRST 1234
#define TRIALS 60

static void read_words(struct bench *b, const void *out, struct wrong_words *found)
{
	bench_download(b, found, out, sizeof(*found));
}

static const struct wrong_words nothing;

static void clear_record(struct bench *b, void *out)
{
	if (bench_ok(b) &&
	    backend_copy(b->stream, out, &nothing, sizeof(nothing), b->err) == STATUS_OK)
		backend_stream_synchronize(b->stream, b->err);
}

/* By the words of the header, not by its code. */
static uint64_t reference_word(struct pattern p, uint64_t index, uint64_t address)
{
	uint64_t word = 0;

	if (p.kind == PATTERN_SOLID)
		word = p.value;
	else if (p.kind == PATTERN_ADDRESS)
		word = address;
	else if (p.kind == PATTERN_WALKING)
		for (unsigned bit = 0; bit < 64; bit++)
			word |= (index + p.value) % 64 == bit ? UINT64_C(1) << bit : 0;
	else
		word = generator_bits(p.value, index);
	return p.inverted ? ~word : word;
}

static const struct pattern all[] = {
	{ PATTERN_SOLID, UINT64_C(0x5555555555555555), 0 },
	{ PATTERN_SOLID, 0, UINT64_MAX },
	{ PATTERN_WALKING, 0, 0 },
	{ PATTERN_WALKING, 63, UINT64_MAX },
	{ PATTERN_ADDRESS, 0, 0 },
	{ PATTERN_ADDRESS, 0, UINT64_MAX },
	{ PATTERN_RANDOM, 99, 0 },
	{ PATTERN_RANDOM, 7, UINT64_MAX },
};

static void check_written(struct bench *b, const void *memory, struct pattern p)
{
	uint64_t *got = xcalloc(WORDS, 8);

	bench_download(b, got, memory, 8 * WORDS);
	for (uint64_t i = 0; i < WORDS && bench_ok(b); i++) {
		uint64_t wanted = reference_word(p, FIRST + i, (uint64_t)(uintptr_t)memory + 8 * i);

		if (got[i] != wanted)
			error_set(b->err, STATUS_MISMATCH,
				  "soak_memory: word %llu of pattern %d is %#llx, not %#llx",
				  (unsigned long long)i, (int)p.kind, (unsigned long long)got[i],
				  (unsigned long long)wanted);
	}
	free(got);
}

static void expect(struct bench *b, const struct wrong_words *found, uint64_t offset,
		   const void *address, uint64_t bit, const char *kernel)
{
	const struct wrong_word *w = &found->words[0];

	if (bench_ok(b) && (found->count != 1 || found->recorded != 1 || found->flipped != bit ||
			    w->offset != offset || w->address != (uint64_t)(uintptr_t)address ||
			    (w->expected ^ w->got) != bit))
		error_set(b->err, STATUS_MISMATCH,
			  "%s: bit %#llx at byte %llu: found %llu words, the first at %llu, bits "
			  "%#llx",
			  kernel, (unsigned long long)bit, (unsigned long long)offset,
			  (unsigned long long)found->count, (unsigned long long)w->offset,
			  (unsigned long long)found->flipped);
}

static void turn_bit(struct bench *b, void *address, uint64_t bit)
{
	uint64_t word;

	bench_download(b, &word, address, 8);
	word ^= bit;
	if (bench_ok(b) && backend_copy(b->stream, address, &word, 8, b->err) == STATUS_OK)
		backend_stream_synchronize(b->stream, b->err);
}

/* The first, the last, then anywhere. */
static uint64_t place(uint64_t trial)
{
	return trial == 0 ? 0 : trial == 1 ? WORDS - 1 : generator_bits(5, trial) % WORDS;
}

/*
 * Each pattern is checked by the sweep that writes the next, up and down; one bit is wrong each
 * time.
 */
enum status check_soak_memory(struct device *device, struct error *err)
{
	struct wrong_words found, *out;
	struct bench b;
	char *memory;

	bench_open(&b, device, err);
	memory = bench_upload(&b, NULL, 8 * WORDS);
	out = bench_upload(&b, &nothing, sizeof(nothing));
	for (uint64_t t = 0; t < TRIALS && bench_ok(&b); t++) {
		struct pattern before = all[(t + ARRAY_SIZE(all) - 1) % ARRAY_SIZE(all)];
		uint64_t word = place(t), bit = UINT64_C(1) << generator_bits(6, t) % 64;
		struct soak_memory_arguments a = { .memory = memory,
						   .words = WORDS,
						   .first = FIRST,
						   .expected = before,
						   .next = all[t % ARRAY_SIZE(all)],
						   .check = t > 0,
						   .write = true,
						   .descending = t % 2,
						   .out = out };

		clear_record(&b, out);
		if (t > 0)
			turn_bit(&b, memory + 8 * word, bit);
		bench_launch(&b, "soak_memory", &a);
		read_words(&b, a.out, &found);
		if (t > 0)
			expect(&b, &found, 8 * (FIRST + word), memory + 8 * word, bit,
			       "soak_memory");
		check_written(&b, memory, a.next);
	}
	return bench_close(&b);
}

/* More wrong words than there is room for: all are counted, the first few have a place. */
static void check_many(struct bench *b, char *memory, const char *reference,
		       struct wrong_words *out)
{
	struct soak_compare_arguments a = { memory, reference, 8 * WORDS, out };
	struct wrong_words found;

	clear_record(b, out);

	if (bench_ok(b) && backend_memory_set(b->stream, memory, 0xA5, 4096, b->err) == STATUS_OK)
		backend_stream_synchronize(b->stream, b->err);
	bench_launch(b, "soak_compare", &a);
	read_words(b, a.out, &found);
	/* The rest is NaN since the last comparison. */
	if (bench_ok(b) && (found.count != WORDS || found.recorded < WRONG_WORDS))
		error_set(b->err, STATUS_MISMATCH, "soak_compare: %llu of %d wrong words found",
			  (unsigned long long)found.count, WORDS);
	for (size_t i = 0; i < WRONG_WORDS && bench_ok(b); i++)
		if (found.words[i].got != UINT64_MAX &&
		    found.words[i].got != UINT64_C(0xA5A5A5A5A5A5A5A5))
			error_set(b->err, STATUS_MISMATCH, "soak_compare: word %zu was %#llx", i,
				  (unsigned long long)found.words[i].got);
}

/*
 * One bit of a product is wrong: found; and what was compared is overwritten, so nothing is
 * compared twice.
 */
enum status check_soak_compare(struct device *device, struct error *err)
{
	uint64_t *data = xcalloc(WORDS, 8);
	struct wrong_words found, *out;
	char *memory, *reference;
	struct bench b;

	for (uint64_t i = 0; i < WORDS; i++)
		data[i] = generator_bits(3, i);
	bench_open(&b, device, err);
	memory = bench_upload(&b, data, 8 * WORDS);
	reference = bench_upload(&b, data, 8 * WORDS);
	out = bench_upload(&b, &nothing, sizeof(nothing));
	for (uint64_t t = 0; t < TRIALS && bench_ok(&b); t++) {
		struct soak_compare_arguments a = { memory, reference, 8 * WORDS, out };
		uint64_t word = place(t), bit = UINT64_C(1) << generator_bits(8, t) % 64;

		clear_record(&b, out);
		if (backend_copy(b.stream, memory, data, 8 * WORDS, err) == STATUS_OK)
			backend_stream_synchronize(b.stream, err);
		turn_bit(&b, memory + 8 * word, bit);
		bench_launch(&b, "soak_compare", &a);
		read_words(&b, a.out, &found);
		expect(&b, &found, 8 * word, memory + 8 * word, bit, "soak_compare");
	}
	check_many(&b, memory, reference, out);
	free(data);
	return bench_close(&b);
}
