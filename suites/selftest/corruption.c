/* Detection of an injected wrong bit at its address. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernels/generator.h"
#include "suites/selftest/checks.h"
#include "suites/shared/buffers.h"

/* Not a multiple of the word size, so that the last word is partial. */
#define BYTES ((16u << 20) + 5)

uint64_t selftest_corruption_bytes(void)
{
	return BYTES + BUFFER_CHECK_BYTES;
}

/* First, last, then random positions. */
static size_t corruption_offset(const struct selftest *t, int64_t trial)
{
	if (trial < 2)
		return trial == 0 ? 0 : BYTES - 1;
	return (size_t)(generator_bits(t->run->seed, (uint64_t)trial) % BYTES);
}

static enum status corruption_put_byte(struct selftest *t, struct buffer *buffer, size_t at,
				       unsigned flip, struct error *err)
{
	unsigned char byte =
		(unsigned char)(generator_bits(t->run->seed, at / 8) >> (8 * (at % 8)));
	enum status status;

	byte ^= (unsigned char)flip;
	status = backend_copy(t->stream, (char *)buffer->memory + at, &byte, 1, err);
	if (status == STATUS_OK)
		status = backend_stream_synchronize(t->stream, err);
	return status;
}

/* Sets *found if the check finds exactly the one wrong word. */
static enum status corruption_is_found(struct selftest *t, struct buffer *buffer, size_t at,
				       bool *found, struct error *err)
{
	struct error seen = ERROR_NONE;
	enum status status = buffer_check(buffer, t->stream, 0, BYTES, t->run->seed, &seen);
	char place[64];

	if (status != STATUS_OK && status != STATUS_MISMATCH)
		return error_set(err, status, "%s", seen.message);
	snprintf(place, sizeof(place), "at byte %zu:", at / 8 * 8);
	*found = status == STATUS_MISMATCH && strstr(seen.message, place) &&
		 strstr(seen.message, "(1 of ");
	return STATUS_OK;
}

static enum status corruption_take_trials(struct selftest *t, struct buffer *buffer, int64_t trials,
					  int64_t *found, size_t *missed, struct error *err)
{
	for (int64_t i = 0; i < trials; i++) {
		size_t at = corruption_offset(t, i);
		bool seen;

		if (corruption_put_byte(t, buffer, at, 1u << (i % 8), err) != STATUS_OK ||
		    corruption_is_found(t, buffer, at, &seen, err) != STATUS_OK ||
		    corruption_put_byte(t, buffer, at, 0, err) != STATUS_OK)
			return err->status;
		*found += seen;
		*missed = seen ? *missed : at;
	}
	return STATUS_OK;
}

static enum status corruption_inject(struct selftest *t, struct buffer *buffer, struct error *err)
{
	int64_t trials = section_integer(t->run->c->section, "trials"), found = 0;
	size_t missed = 0;

	if (buffer_fill(buffer, t->stream, t->run->seed, err) != STATUS_OK ||
	    buffer_check(buffer, t->stream, 0, BYTES, t->run->seed, err) != STATUS_OK ||
	    corruption_take_trials(t, buffer, trials, &found, &missed, err) != STATUS_OK)
		return err->status;
	run_value(t->run, "selftest.found", (double)found / (double)trials);
	if (found < trials)
		return error_set(err, STATUS_MISMATCH,
				 "%" PRId64 " of %" PRId64
				 " injected wrong bits were not detected, the last at byte %zu",
				 trials - found, trials, missed);
	if (buffer_check(buffer, t->stream, 0, BYTES, t->run->seed, err) != STATUS_OK)
		return error_prefix(err, "after all bits were corrected");
	run_verified(t->run, "injected bits, found at their addresses", NAN, NAN);
	return STATUS_OK;
}

enum status selftest_corruption(struct selftest *t, struct error *err)
{
	struct buffer buffer;

	if (buffer_alloc(&buffer, t->device, ALLOCATOR_DEVICE, BYTES, err) != STATUS_OK)
		return err->status;
	corruption_inject(t, &buffer, err);
	backend_stream_synchronize(t->stream, NULL);
	buffer_free(&buffer);
	return err->status;
}
