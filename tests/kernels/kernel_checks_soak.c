/*
 * Sweeps, operands and checks of the soak: patterns written out once more, and injected wrong bits
 * that must be found.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "kernel_checks.h"
#include "kernels/fp8.h"
#include "kernels/half.h"
#include "kernels/soak.h"
#include "kernels/soak_units.h"

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

#define OPERAND_ROWS 300
#define OPERAND_COLUMNS 40

/* Element `i` as a number, from what `precision` stores. */
static double stored(const void *memory, size_t i, enum precision precision)
{
	if (precision == PRECISION_FP64)
		return ((const double *)memory)[i];
	if (precision == PRECISION_INT8)
		return ((const int8_t *)memory)[i];
	if (precision == PRECISION_FP8)
		return (double)fp8_to_float(((const uint8_t *)memory)[i]);
	if (precision_bytes(precision) == 4)
		return (double)((const float *)memory)[i];
	return precision == PRECISION_FP16
		       ? (double)half_to_float(((const uint16_t *)memory)[i])
		       : (double)half_bf16_to_float(((const uint16_t *)memory)[i]);
}

static void check_operand(struct bench *b, enum precision precision, uint32_t row_period,
			  uint32_t column_period)
{
	uint32_t range = precision == PRECISION_BF16   ? 256
			 : precision == PRECISION_INT8 ? 127
			 : precision == PRECISION_FP8  ? 16
						       : 2000;
	size_t count = OPERAND_ROWS * OPERAND_COLUMNS, bytes = count * precision_bytes(precision);
	void *got = xcalloc(1, bytes), *memory = bench_upload(b, NULL, bytes);
	struct soak_operand_arguments a = { .memory = memory,
					    .precision = precision,
					    .rows = OPERAND_ROWS,
					    .columns = OPERAND_COLUMNS,
					    .row_period = row_period,
					    .column_period = column_period,
					    .range = range,
					    .seed = 77 };

	bench_launch(b, "soak_operand", &a);
	bench_download(b, got, memory, bytes);
	for (uint64_t i = 0; i < count && bench_ok(b); i++) {
		uint64_t row = i % OPERAND_ROWS % (row_period ? row_period : OPERAND_ROWS),
			 column = i / OPERAND_ROWS % (column_period ? column_period : 1u << 31);
		uint64_t bits = generator_bits(77, column << 32 | row) >> 33;
		double wanted = (double)(bits % (2 * range + 1)) - range;

		if (stored(got, i, precision) != wanted)
			error_set(b->err, STATUS_MISMATCH,
				  "soak_operand: %s, element %llu is %g, not %g",
				  precision_name(precision), (unsigned long long)i,
				  stored(got, i, precision), wanted);
	}
	free(got);
}

enum status check_soak_operand(struct device *device, struct error *err)
{
	struct bench b;

	bench_open(&b, device, err);
	for (int p = 0; p < PRECISION_GEMM_COUNT && bench_ok(&b); p++) {
		if (p == PRECISION_FP16_ACC16)
			continue;
		check_operand(&b, (enum precision)p, 251, 0);
		check_operand(&b, (enum precision)p, 0, 7);
	}
	return bench_close(&b);
}

enum { TABLE_ROWS = 13, TABLE_COLUMNS = 7, RESULT_ROWS = 1036, RESULT_COLUMNS = 29 };

/* Bytes of entry (row, column) of the table, written out once more. */
static uint64_t entry_of(uint32_t row, uint32_t column, uint32_t bytes)
{
	uint64_t bits = generator_bits(9, row + 1000 * column);

	return bytes == 8 ? bits : bits & 0xFFFFFFFF;
}

static void put(void *to, size_t i, uint64_t value, uint32_t bytes)
{
	if (bytes == 8)
		((uint64_t *)to)[i] = value;
	else
		((uint32_t *)to)[i] = (uint32_t)value;
}

/* One element is wrong, then an entry of the table: found, each at its places, and all compared. */
static void check_table(struct bench *b, uint32_t bytes, uint64_t trial)
{
	struct wrong_words *out = bench_upload(b, &nothing, sizeof(nothing));
	uint32_t row_offset = (uint32_t)(generator_bits(10, trial) % 100),
		 column_offset = (uint32_t)(generator_bits(11, trial) % 100);
	size_t count = RESULT_ROWS * RESULT_COLUMNS, entries = TABLE_ROWS * TABLE_COLUMNS;
	size_t wrong = trial == 0 ? 0 : trial == 1 ? count - 1 : generator_bits(12, trial) % count;
	unsigned bit = (unsigned)(generator_bits(13, trial) % (8 * bytes));
	void *result = xcalloc(count, bytes), *table = xcalloc(entries, bytes);
	uint32_t canary = (uint32_t)(trial % entries);
	uint64_t places = 0;
	struct soak_table_arguments a = { .element_bytes = bytes,
					  .rows = RESULT_ROWS,
					  .columns = RESULT_COLUMNS,
					  .row_period = TABLE_ROWS,
					  .column_period = TABLE_COLUMNS,
					  .row_offset = row_offset,
					  .column_offset = column_offset,
					  .canary = SOAK_NO_CANARY,
					  .out = out };
	struct wrong_words found;

	for (uint32_t i = 0; i < entries; i++)
		put(table, i, entry_of(i % TABLE_ROWS, i / TABLE_ROWS, bytes), bytes);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t row = (i % RESULT_ROWS + row_offset) % TABLE_ROWS,
			 column = (i / RESULT_ROWS + column_offset) % TABLE_COLUMNS;
		uint64_t turned = i == wrong ? UINT64_C(1) << bit : 0;

		places += canary == column * TABLE_ROWS + row && i != wrong;
		put(result, i, entry_of(row, column, bytes) ^ turned, bytes);
	}
	a.memory = bench_upload(b, result, count * bytes);
	a.table = bench_upload(b, table, entries * bytes);
	clear_record(b, out);
	bench_launch(b, "soak_table", &a);
	read_words(b, out, &found);
	expect(b, &found, bytes * wrong, (const char *)a.memory + bytes * wrong, UINT64_C(1) << bit,
	       "soak_table");
	if (bench_ok(b) && found.compared != count)
		error_set(b->err, STATUS_MISMATCH, "soak_table: %llu of %zu elements compared",
			  (unsigned long long)found.compared, count);
	clear_record(b, out);
	a.canary = canary;
	bench_launch(b, "soak_table", &a);
	read_words(b, out, &found);
	if (bench_ok(b) && (found.count < places || found.count > places + 1))
		error_set(b->err, STATUS_MISMATCH,
			  "soak_table: a wrong entry is at %llu places, but was found at %llu",
			  (unsigned long long)places, (unsigned long long)found.count);
	free(result);
	free(table);
}

enum status check_soak_table(struct device *device, struct error *err)
{
	for (uint64_t trial = 0; trial < 24; trial++) {
		struct bench b;

		bench_open(&b, device, err);
		check_table(&b, trial % 2 ? 4 : 8, trial / 2);
		if (bench_close(&b) != STATUS_OK)
			break;
	}
	return err->status;
}

/* Every quarter has the CPU's signature, but `faulty`. */
static void compare_units(struct bench *b, const struct soak_units_arguments *a, size_t faulty)
{
	size_t count = (size_t)a->blocks * UNIT_QUARTERS;
	struct soak_unit *got = xcalloc(count, sizeof(*got));
	uint64_t expected = 0;

	bench_download(b, got, a->out, count * sizeof(*got));
	if (bench_ok(b) && !soak_units_host_expected(a, got[0].words, &expected))
		expected = got[0].signature;
	for (size_t i = 0; i < count && bench_ok(b); i++)
		if ((got[i].signature != expected) != (i == faulty) || got[i].words != got[0].words)
			error_set(b->err, STATUS_MISMATCH,
				  "soak_units: %s, multiprocessor %u, quarter %zu: %#llx; the CPU: "
				  "%#llx",
				  soak_units_class_name(a->unit), got[i].began, i % UNIT_QUARTERS,
				  (unsigned long long)got[i].signature,
				  (unsigned long long)expected);
	free(got);
}

/* Twice alike, then with a fault in the last quarter of the block that ran on a multiprocessor. */
static void check_unit_class(struct bench *b, enum unit_class unit, uint32_t blocks)
{
	size_t count = (size_t)blocks * UNIT_QUARTERS;
	struct soak_units_arguments a = { .unit = unit,
					  .blocks = blocks,
					  /* of products more than are added up at a time */
					  .steps = unit < UNIT_MMA_FP16  ? 37
						   : kernel_checks_small ? 5
									 : UNIT_EXACT_STEPS + 3,
					  .seed = 5 + (uint64_t)unit,
					  .out = bench_upload(b, NULL,
							      count * sizeof(struct soak_unit)) };
	struct soak_unit *seen = xcalloc(count, sizeof(*seen));

	bench_launch(b, "soak_units", &a);
	if (b->err->status == STATUS_UNSUPPORTED) {
		error_clear(b->err);
		free(seen);
		return;
	}
	compare_units(b, &a, SIZE_MAX);
	a.fault.is = true;
	a.fault.quarter = 3;
	a.fault.bit = 7;
	bench_launch(b, "soak_units", &a);
	bench_download(b, seen, a.out, count * sizeof(*seen));
	for (size_t i = 0; i < count && bench_ok(b); i++)
		if (seen[i].began == 0 && i % UNIT_QUARTERS == 3)
			compare_units(b, &a, i);
	free(seen);
}

enum status check_soak_units(struct device *device, struct error *err)
{
	uint32_t blocks =
		device->info.multiprocessors > 0 ? (uint32_t)device->info.multiprocessors : 1;

	for (int unit = 0; unit < UNIT_CLASS_COUNT; unit++) {
		struct bench b;

		bench_open(&b, device, err);
		check_unit_class(&b, (enum unit_class)unit, blocks);
		if (bench_close(&b) != STATUS_OK)
			break;
	}
	return err->status;
}
