/*
 * Memory bandwidth kernels. Arrays are `bytes` long, a multiple of 16, and 16-byte aligned. Numbers
 * in [-1, 1) with 24 bits (FILL_FP64, FILL_FP32) and STREAM_SCALAR, a power of two, make every
 * result exact up to one rounding, so that each element has one right value, however a device
 * contracts its arithmetic.
 */
#ifndef GPUPROOF_KERNELS_MEMORY_STREAM_H
#define GPUPROOF_KERNELS_MEMORY_STREAM_H

#include "kernels/generator.h"
#include "kernels/kernel.h"
#include "kernels/memory/fill.h"

enum stream_operation {
	STREAM_COPY,  /* out = x */
	STREAM_MUL,   /* out = s x */
	STREAM_ADD,   /* out = x + y */
	STREAM_TRIAD, /* out = x + s y */
	STREAM_DOT,   /* sum of x y, in double */
	STREAM_READ,  /* sum of all 8-byte words of x, modulo 2^64 */
	STREAM_WRITE, /* word i of out = seed + i STREAM_STEP */
	/* sum of all words of x, `stride` bytes apart, in as many passes as a stride has words */
	STREAM_STRIDED,
	/* sum of `accesses` words of x; access i reads word memory_stream_random(seed, i, words) */
	STREAM_RANDOM
};

#define STREAM_SCALAR 0.5
#define STREAM_STEP UINT64_C(0x9E3779B97F4A7C15)

/* Variant of the kernel for a device; autotuning finds the best one. */
struct stream_variant {
	/* 16-byte accesses in flight per thread and array: 1, 2, 4, 8 */
	unsigned short unroll;
	unsigned short threads; /* per block, a multiple of 32, at most 1024 */
	/* per multiprocessor, each processing several ranges; 0: one block per range */
	unsigned short blocks;
	/* 1: accesses that do not stay in caches; host: non-temporal stores */
	unsigned short streaming;
};

/* Maximum blocks of a sum. */
#define STREAM_PARTS 4096

/* Accumulators of a sum, in device memory. All zero before the first use. */
struct stream_sum {
	uint64_t finished; /* zero again at the end */
	union {
		double number;  /* STREAM_DOT */
		uint64_t words; /* the others */
	} sum, parts[STREAM_PARTS];
};

/* "stream" */
struct stream_arguments {
	enum stream_operation operation;
	enum precision precision; /* PRECISION_FP64 or PRECISION_FP32; words: unused */
	void *out;
	const void *x, *y;
	uint64_t bytes;
	uint64_t seed, accesses, stride;
	struct stream_sum *sum;
	struct stream_variant variant;
};

/*
 * "check_stream": compares every element of `out` with the result of `operation` on generated data
 * of the given seeds (x FILL_FP64 or FILL_FP32 of seeds[0], y of seeds[1], scale 1; STREAM_WRITE:
 * seeds[0]), without reading x and y. `found` as in check_fill, with the elements' bits.
 */
struct check_stream_arguments {
	enum stream_operation operation; /* not a sum */
	enum precision precision;
	const void *out;
	uint64_t bytes;
	uint64_t seeds[2];
	struct fill_mismatch *found;
};

/* Factors of x and y in `out`. */
GENERATOR_FN double memory_stream_weight(enum stream_operation operation, int operand)
{
	if (operand == 0)
		return operation == STREAM_MUL ? STREAM_SCALAR : 1;
	return operation == STREAM_ADD ? 1 : operation == STREAM_TRIAD ? STREAM_SCALAR : 0;
}

/* Word that access `i` of STREAM_RANDOM reads. words <= 2^32. */
GENERATOR_FN uint64_t memory_stream_random(uint64_t seed, uint64_t i, uint64_t words)
{
	return (generator_bits(seed, i) >> 32) * words >> 32;
}

#endif
