/* Searches the fastest algorithm of a convolution, as cudnn.benchmark does before training. */
#ifndef GPUPROOF_SUITES_CONVOLUTION_SEARCH_H
#define GPUPROOF_SUITES_CONVOLUTION_SEARCH_H

#include "kernels/convolution/convolution.h"

struct convolution_search {
	unsigned tried; /* algorithms that support the shape, the pass and the device */
	enum convolution_algorithm fastest;
	double chosen_seconds, seconds; /* of a launch: the launcher's choice, and the fastest */
};

/*
 * Finds the fastest algorithm within about `seconds`, with autotune() in rested mode. launch(state,
 * algorithm, err) launches the pass once on `stream`, and sets STATUS_UNSUPPORTED in err for an
 * unsupported algorithm, which is not launched again. Any other failure ends the search.
 */
enum status convolution_search(struct stream *stream, double seconds,
			       enum status (*launch)(void *state,
						     enum convolution_algorithm algorithm,
						     struct error *err),
			       void *state, struct convolution_search *found, struct error *err);

#endif
