/*
 * Looking for wrong bits in memory that was written and in products that must repeat.
 *
 * Both kernels add what they find to a struct wrong_words, which was zero before the first of them;
 * offsets are bytes.
 */
#ifndef GPUPROOF_KERNELS_SOAK_H
#define GPUPROOF_KERNELS_SOAK_H

#include <stdbool.h>

#include "kernels/generator.h"
#include "kernels/kernel.h"

/* Wrong words recorded with their places, at most; the others are counted. */
#define WRONG_WORDS 16

struct wrong_word {
	uint64_t offset, address, expected, got;
};

/* In memory of the device. */
struct wrong_words {
	uint64_t count;    /* 8-byte words that were wrong */
	uint64_t flipped;  /* every bit that was wrong in any of them */
	uint64_t recorded; /* may exceed WRONG_WORDS, the capacity of `words`; in no order */
	struct wrong_word words[WRONG_WORDS];
};

/* Pattern of a memory's 8-byte words; each is a function of its index or its address. */
enum pattern_kind {
	PATTERN_SOLID,   /* `value` */
	PATTERN_WALKING, /* one bit, a place higher in each word; `value` places further */
	PATTERN_ADDRESS, /* the word's own address: finds address lines that are stuck or crossed */
	PATTERN_RANDOM   /* generator_bits(value, index) */
};
struct pattern {
	enum pattern_kind kind;
	uint64_t value;
	uint64_t inverted; /* ~0: all bits turned; 0: as they are */
};

GENERATOR_FN uint64_t pattern_word(struct pattern p, uint64_t index, uint64_t address)
{
	switch (p.kind) {
	case PATTERN_WALKING:
		return (UINT64_C(1) << ((index + p.value) & 63)) ^ p.inverted;
	case PATTERN_ADDRESS:
		return address ^ p.inverted;
	case PATTERN_RANDOM:
		return generator_bits(p.value, index) ^ p.inverted;
	default:
		return p.value ^ p.inverted;
	}
}

/*
 * "soak_memory": in one sweep over `words` 8-byte words (an even number, `memory` 16-byte aligned)
 * compares each with `expected` (if `check`) and then writes `next` (if `write`), from the lowest
 * to the highest address or `descending`: the moving inversions of memory tests. `first` is the
 * index of the first word; offsets count from index 0.
 */
struct soak_memory_arguments {
	void *memory;
	uint64_t words, first;
	struct pattern expected, next;
	bool check, write, descending;
	struct wrong_words *out;
};

/*
 * "soak_compare": compares `bytes` (a multiple of 16) of `memory` with `reference`, bit by bit, and
 * writes all ones (NaN) over `memory`: a product that is not computed again is then found.
 */
struct soak_compare_arguments {
	void *memory;
	const void *reference;
	uint64_t bytes;
	struct wrong_words *out;
};

#endif
