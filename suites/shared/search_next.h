/* Searches the largest size that fits, by trials that start at a prediction. */
#ifndef GPUPROOF_SUITES_SHARED_SEARCH_NEXT_H
#define GPUPROOF_SUITES_SHARED_SEARCH_NEXT_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Next size to try between `fits` (0: none known) and `fails` (0: none known) after a prediction;
 * 0: the two are close enough, or `most` fits.
 */
uint64_t search_next(uint64_t fits, uint64_t fails, uint64_t predicted, uint64_t step,
		     uint64_t most, double tolerance);

/* The largest multiple of `step` up to `most` that fits, by bisection; 0: none. */
uint64_t search_next_largest_fit(bool (*fits)(const void *context, uint64_t size),
				 const void *context, uint64_t step, uint64_t most);

#endif
