/* Ranges of tensors as FP32, whatever their storage type; not for FP64. */
#ifndef GPUPROOF_KERNELS_LAUNCH_ELEMENTS_H
#define GPUPROOF_KERNELS_LAUNCH_ELEMENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "device/backend.h"

/* Elements per loop block: small enough for the L1 cache. */
#define ELEMENTS_BLOCK 1024

/* With fewer elements per thread, fewer threads are faster. */
#define ELEMENTS_GRAIN 16384
/* The same grain in rows, at least one. */
static inline uint64_t elements_grain_rows(uint64_t columns)
{
	return columns < ELEMENTS_GRAIN ? ELEMENTS_GRAIN / (columns ? columns : 1) : 1;
}

/* Converts FP16 or BF16 to FP32 and back. */
void elements_from_16(float *to, const uint16_t *from, uint64_t count, enum precision precision);
void elements_to_16(uint16_t *to, const float *from, uint64_t count, enum precision precision);

/*
 * elements_open: elements [first, first + count) of a tensor, in place for FP32 and TF32, else
 * converted to `buffer`. elements_close stores changed elements back.
 */
float *elements_open(const void *tensor, enum precision precision, uint64_t first, uint64_t count,
		     float *buffer);
void elements_close(void *tensor, enum precision precision, uint64_t first, uint64_t count,
		    const float *values);

/* Stores FP32 values in any precision. */
void elements_store(void *tensor, enum precision precision, uint64_t first, uint64_t count,
		    const float *values);

static inline uint64_t elements_block(uint64_t first, uint64_t end)
{
	return end - first < ELEMENTS_BLOCK ? end - first : ELEMENTS_BLOCK;
}

/* A loop over the blocks of [begin, end); declares `first` and `count` of each. */
#define FOR_BLOCKS(first, count, begin, end)  \
	for (uint64_t first = (begin), count; \
	     first < (end) && (count = elements_block(first, end), true); first += count)

#endif
