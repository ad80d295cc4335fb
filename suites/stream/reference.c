#include "suites/stream/reference.h"

#include <math.h>
#include <stdatomic.h>

#include "base/parallel.h"
#include "kernels/memory/stream.h"

#define GRAIN (1 << 16)

/*
 * generator_uniform() in units of 2^-23: products are integers below 2^46, and GRAIN of them can be
 * added in 64 bits.
 */
static inline int64_t stream_reference_uniform_steps(uint64_t seed, uint64_t i)
{
	return (int64_t)(generator_bits(seed, i) >> 40) - (1 << 23);
}

struct sum {
	uint64_t seeds[2], words;
	_Atomic int64_t high, low; /* dot: in units of 2^32 and of 1 */
	_Atomic uint64_t total;
};

VECTORISED
static void stream_reference_add_dot(void *context, size_t begin, size_t end)
{
	struct sum *s = context;
	const uint64_t left = s->seeds[0], right = s->seeds[1];

	for (uint64_t at = begin; at < end; at += GRAIN) {
		uint64_t stop = at + GRAIN < end ? at + GRAIN : end;
		int64_t sum = 0;

		for (uint64_t i = at; i < stop; i++)
			sum += stream_reference_uniform_steps(left, i) *
			       stream_reference_uniform_steps(right, i);
		atomic_fetch_add(&s->high, sum >> 32);
		atomic_fetch_add(&s->low, sum & INT64_C(0xFFFFFFFF));
	}
}

double stream_dot_reference(const uint64_t seeds[2], uint64_t count)
{
	struct sum s = { .seeds = { seeds[0], seeds[1] } };

	parallel_for(count, GRAIN, stream_reference_add_dot, &s);
	return (double)((long double)s.high * 0x1p-14L + (long double)s.low * 0x1p-46L);
}

double stream_reference_dot_tolerance(uint64_t count)
{
	return 0x1p-53 * (double)count / 4 * sqrt((double)count);
}

VECTORISED
static void stream_reference_add_words(void *context, size_t begin, size_t end)
{
	struct sum *s = context;
	const uint64_t seed = s->seeds[0];
	uint64_t sum = 0;

	for (uint64_t i = begin; i < end; i++)
		sum += generator_bits(seed, i);
	atomic_fetch_add(&s->total, sum);
}

uint64_t stream_words_reference(uint64_t seed, uint64_t words)
{
	struct sum s = { .seeds = { seed } };

	parallel_for(words, GRAIN, stream_reference_add_words, &s);
	return s.total;
}

static void stream_reference_add_random(void *context, size_t begin, size_t end)
{
	struct sum *s = context;
	uint64_t sum = 0;

	for (uint64_t i = begin; i < end; i++)
		sum += generator_bits(s->seeds[0], memory_stream_random(s->seeds[1], i, s->words));
	atomic_fetch_add(&s->total, sum);
}

uint64_t stream_random_reference(uint64_t seed, uint64_t pick, uint64_t words, uint64_t accesses)
{
	struct sum s = { .seeds = { seed, pick }, .words = words };

	parallel_for(accesses, GRAIN, stream_reference_add_random, &s);
	return s.total;
}
