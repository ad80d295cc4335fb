/*
 * Memory patterns over most of the free memory. Each sweep reads and compares what the last one
 * wrote, and writes the next pattern: up, then down, then up (moving inversions, used by memory
 * tests since the 1980s).
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/units.h"
#include "plan/config.h"
#include "suites/burn/burn.h"

#define BLOCK_MOST (UINT64_C(8) << 30)
#define BLOCK_LEAST (UINT64_C(16) << 20)
#define BLOCKS 512
/* Blocks are multiples of this cache line size, so that vectors fit. */
#define ALIGNMENT 4096
#define WALK 64 /* bits in a word */
#define ROW_BYTES 2048

/* One pass. Each pattern is followed by its inverse. */
static const struct {
	enum pattern_kind kind;
	uint64_t value;
	const char *name;
} patterns[] = {
	{ PATTERN_ADDRESS, 0, "address of the word" },
	{ PATTERN_SOLID, 0, "zeros" },
	{ PATTERN_SOLID, UINT64_C(0x5555555555555555), "alternating bits" },
	{ PATTERN_SOLID, UINT64_C(0x3333333333333333), "alternating pairs of bits" },
	{ PATTERN_SOLID, UINT64_C(0x0f0f0f0f0f0f0f0f), "alternating half bytes" },
	{ PATTERN_RANDOM, 0, "random bits" },
};
/* The walking bit is last, because it takes twice WALK sweeps. */
#define SWEEPS_FIXED (2 * ARRAY_SIZE(patterns))
#define SWEEPS_OF_A_PASS (SWEEPS_FIXED + 2 * WALK)

struct tested_memory {
	struct buffer blocks[BLOCKS];
	size_t count;
	uint64_t bytes;
};

uint64_t burn_memory_bytes(const struct section *section, const struct device_info *info)
{
	uint64_t most = (uint64_t)section_integer(section, "memory_most");
	uint64_t free_bytes =
		info->memory_free_bytes ? info->memory_free_bytes : info->memory_bytes;
	double share = section_real(section, "memory") * (double)free_bytes;

	return share < (double)most ? (uint64_t)share : most;
}

static struct pattern burn_memory_pattern(const struct burn *b, uint64_t sweep)
{
	uint64_t step = sweep % SWEEPS_OF_A_PASS, pass = sweep / SWEEPS_OF_A_PASS;
	struct pattern p = { .inverted = step % 2 ? UINT64_MAX : 0 };

	if (step >= SWEEPS_FIXED) {
		p.kind = PATTERN_WALKING;
		p.value = (step - SWEEPS_FIXED) / 2;
		return p;
	}
	p.kind = patterns[step / 2].kind;
	p.value = p.kind == PATTERN_RANDOM ? b->seed + pass : patterns[step / 2].value;
	return p;
}

static const char *burn_memory_name(uint64_t sweep, char *out, size_t size)
{
	uint64_t step = sweep % SWEEPS_OF_A_PASS;
	const char *inverted = step % 2 ? ", inverted" : "";

	if (step >= SWEEPS_FIXED)
		snprintf(out, size, "memory, pattern walking bit, position %" PRIu64 "%s",
			 (step - SWEEPS_FIXED) / 2, inverted);
	else
		snprintf(out, size, "memory, pattern %s%s", patterns[step / 2].name, inverted);
	return out;
}

/* Allocates blocks up to `wanted` bytes in total; smaller blocks if memory is fragmented. */
static enum status burn_take_memory(struct tested_memory *t, struct burn *b, uint64_t wanted,
				    struct error *err)
{
	uint64_t block = BLOCK_MOST;

	while (t->bytes < wanted && t->count < BLOCKS && block >= BLOCK_LEAST) {
		struct error refused = ERROR_NONE;
		uint64_t bytes = wanted - t->bytes < block ? wanted - t->bytes : block;
		enum status status;

		bytes = bytes / ALIGNMENT * ALIGNMENT;
		if (!bytes)
			break;
		status = buffer_alloc(&t->blocks[t->count], b->device, ALLOCATOR_DEVICE, bytes,
				      &refused);
		if (status == STATUS_NO_MEMORY) {
			block /= 2;
			continue;
		}
		if (status != STATUS_OK)
			return error_set(err, status, "%s", refused.message);
		t->count++;
		t->bytes += bytes;
	}
	if (t->bytes)
		return STATUS_OK;
	return error_set(err, STATUS_UNSUPPORTED, "%s has no free memory to test",
			 b->device->info.id);
}

static enum status burn_memory_sweep(struct burn *b, const struct tested_memory *t, uint64_t number,
				     bool write, struct error *err)
{
	bool descending = number % 2;
	uint64_t first = 0;

	for (size_t n = 0; n < t->count; n++) {
		const struct buffer *block = &t->blocks[n];
		struct soak_memory_arguments a = { .memory = block->memory,
						   .words = block->bytes / 8,
						   .first = first,
						   .check = number > 0,
						   .write = write,
						   .descending = descending,
						   .out = b->record.buffer.memory };

		if (number > 0)
			a.expected = burn_memory_pattern(b, number - 1);
		a.next = burn_memory_pattern(b, number);
		if (backend_launch(b->record.stream, "soak_memory", &a, err) != STATUS_OK)
			return err->status;
		first += a.words;
	}
	return STATUS_OK;
}

static enum status burn_memory_invert_row(struct burn *b, char *row, uint64_t offset,
					  struct error *err)
{
	uint64_t words[ROW_BYTES / 8];

	if (backend_copy(b->record.stream, words, row, sizeof(words), err) != STATUS_OK ||
	    backend_stream_synchronize(b->record.stream, err) != STATUS_OK)
		return err->status;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		words[i] = ~words[i];
	if (backend_copy(b->record.stream, row, words, sizeof(words), err) == STATUS_OK &&
	    backend_stream_synchronize(b->record.stream, err) == STATUS_OK)
		burn_look_note_injected(b, offset, sizeof(words), 0);
	return err->status;
}

/*
 * Gives the word at `left` of a block the pattern of an address that differs in one bit. Some
 * patterns are the same at both addresses.
 */
static enum status burn_memory_cross_address(struct burn *b, const struct buffer *block,
					     uint64_t left, uint64_t offset, struct error *err)
{
	uint64_t line = UINT64_C(8) << b->tally.rounds % 40, here, there;

	while (line > 8 && (left ^ line) >= block->bytes)
		line /= 2;
	if (backend_copy(b->record.stream, &here, (char *)block->memory + left, 8, err) !=
		    STATUS_OK ||
	    backend_copy(b->record.stream, &there, (char *)block->memory + (left ^ line), 8, err) !=
		    STATUS_OK ||
	    backend_stream_synchronize(b->record.stream, err) != STATUS_OK || here == there ||
	    backend_copy(b->record.stream, (char *)block->memory + left, &there, 8, err) !=
		    STATUS_OK ||
	    backend_stream_synchronize(b->record.stream, err) != STATUS_OK)
		return err->status;
	burn_look_note_injected(b, offset, 8, here ^ there);
	return STATUS_OK;
}

/* Selects a random position in all blocks. */
static enum status burn_memory_inject(struct burn *b, const struct tested_memory *t,
				      struct error *err)
{
	uint64_t offset = 8 * burn_look_inject_word(b, t->bytes / 8), left;
	size_t n = 0;

	if (b->injection == INJECT_ROW)
		offset -= offset % ROW_BYTES;
	left = offset;
	while (left >= t->blocks[n].bytes)
		left -= t->blocks[n++].bytes;
	if (b->injection == INJECT_ROW)
		return burn_memory_invert_row(b, (char *)t->blocks[n].memory + left, offset, err);
	if (b->injection == INJECT_ADDRESS)
		return burn_memory_cross_address(b, &t->blocks[n], left, offset, err);
	return burn_look_inject(b, b->record.stream, (char *)t->blocks[n].memory + left, offset,
				err);
}

/* Runs sweep `number`, and times it if it both reads and writes. */
static enum status burn_memory_run_sweep(struct burn *b, const struct tested_memory *t,
					 uint64_t number, bool last, struct error *err)
{
	char what[128];
	const struct burn_place place = { .what = burn_memory_name(number ? number - 1 : 0, what,
								   sizeof(what)),
					  .bytes = t->bytes,
					  .compared = number ? t->bytes / 8 : 0 };
	double seconds;

	if (burn_look_begin(&b->record, err) != STATUS_OK ||
	    backend_event_record(b->start, b->record.stream, err) != STATUS_OK ||
	    burn_memory_sweep(b, t, number, !last, err) != STATUS_OK ||
	    backend_event_record(b->end, b->record.stream, err) != STATUS_OK ||
	    burn_look_end(b, &b->record, &place, err) != STATUS_OK ||
	    backend_event_elapsed(b->start, b->end, &seconds, err) != STATUS_OK)
		return err->status;
	if (number > 0 && !last)
		burn_look_timed(b, seconds, 1, 2 * (double)t->bytes); /* read and written */
	if (number > 0) {
		b->tally.rounds++;
		b->tally.verified_bytes += (double)t->bytes;
	}
	return STATUS_OK;
}

static enum status burn_test_memory(struct burn *b, const struct tested_memory *t,
				    struct error *err)
{
	uint64_t number = 0;
	bool last = false;

	while (!last && burn_memory_run_sweep(b, t, number++, false, err) == STATUS_OK &&
	       burn_look_interrupted(b, err) == STATUS_OK) {
		burn_look_pulse(b);
		last = b->series->count > 0 && !burn_look_go_on(b);
		if (burn_look_inject_due(b) && burn_memory_inject(b, t, err) != STATUS_OK)
			break;
	}
	if (err->status == STATUS_OK)
		burn_memory_run_sweep(b, t, number, true, err);
	if (err->status == STATUS_OK)
		run_note(b->run,
			 "%" PRIu64
			 " sweeps on this device; all patterns together take %zu sweeps.",
			 b->tally.rounds, SWEEPS_OF_A_PASS);
	return err->status;
}

enum status burn_memory(struct burn *b, struct error *err)
{
	struct tested_memory *t = xcalloc(1, sizeof(*t));
	struct device_info info = b->device->info;
	uint64_t total;

	info.memory_free_bytes = 0;
	if (backend_device_memory(b->device, &info.memory_free_bytes, &total, err) == STATUS_OK &&
	    burn_take_memory(t, b, burn_memory_bytes(b->run->c->section, &info), err) ==
		    STATUS_OK) {
		b->tally.free_bytes = (double)info.memory_free_bytes;
		b->tally.tested_bytes = (double)t->bytes;
		burn_test_memory(b, t, err);
	}
	backend_stream_synchronize(b->record.stream, NULL);
	for (size_t i = 0; i < t->count; i++)
		buffer_free(&t->blocks[i]);
	free(t);
	return err->status;
}
