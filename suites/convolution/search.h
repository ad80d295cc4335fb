/* Searches the fastest way to carry out a convolution, as cudnn.benchmark does before training. */
#ifndef GPUPROOF_SUITES_CONVOLUTION_SEARCH_H
#define GPUPROOF_SUITES_CONVOLUTION_SEARCH_H

#include "kernels/convolution/convolution.h"

/* Maximum number: engines of a library, or values of enum convolution_algorithm. */
#define CONVOLUTION_CANDIDATES 32

struct convolution_search {
	unsigned usable; /* candidates that support the shape, the pass and the device */
	unsigned fastest;
	/* of a launch: the first usable candidate, and the fastest; 0: not timed */
	double first_seconds, seconds;
};

/*
 * Launches the pass once; STATUS_UNSUPPORTED if the candidate refuses, which is then not launched
 * again. Any other failure ends the search.
 */
typedef enum status convolution_launch_fn(void *state, unsigned candidate, struct error *err);

/*
 * Finds the fastest of `candidates` within about `seconds` on `stream`, with autotune() in rested
 * mode; with 0 seconds the first usable one. Times nothing if only one is usable. If all refuse:
 * STATUS_UNSUPPORTED with the last reason.
 */
enum status convolution_search(struct stream *stream, double seconds, unsigned candidates,
			       convolution_launch_fn *launch, void *state,
			       struct convolution_search *found, struct error *err);

#endif
