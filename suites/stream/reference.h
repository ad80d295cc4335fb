/*
 * Expected sums of kernels/memory/stream.h, computed on the CPU from the generator only: no device
 * memory or arithmetic is involved.
 */
#ifndef GPUPROOF_SUITES_STREAM_REFERENCE_H
#define GPUPROOF_SUITES_STREAM_REFERENCE_H

#include <stdint.h>

/*
 * Sum of generator_uniform(seeds[0], i) * generator_uniform(seeds[1], i): exact integers, rounded
 * once at the end.
 */
double stream_dot_reference(const uint64_t seeds[2], uint64_t count);
/*
 * Error bound of a sum in double. Each rounding error is at most half a unit of a partial sum below
 * count / 4; independent errors add like a random walk. A missing term is three orders of magnitude
 * larger.
 */
double stream_reference_dot_tolerance(uint64_t count);

/* Sum of words 0 to words-1 of FILL_BITS data. */
uint64_t stream_words_reference(uint64_t seed, uint64_t words);
/* Sum of the words that STREAM_RANDOM selects with `pick` from FILL_BITS data of `seed`. */
uint64_t stream_random_reference(uint64_t seed, uint64_t pick, uint64_t words, uint64_t accesses);

#endif
