/* Search of the fastest algorithm of a convolution, as cudnn.benchmark does before training. */
#ifndef GPUPROOF_SUITES_CONVOLUTION_SEARCH_H
#define GPUPROOF_SUITES_CONVOLUTION_SEARCH_H

#include "kernels/convolution/convolution.h"

struct convolution_search {
	unsigned tried; /* algorithms that are written for the shape, the pass and the device */
	enum convolution_algorithm fastest;
	double chosen_seconds, seconds; /* of a launch: the launcher's choice, the fastest */
};

/*
 * Finds the fastest algorithm within some `seconds`, by autotune() with rests. launch(state,
 * algorithm, err) launches the pass once on `stream`, and leaves STATUS_UNSUPPORTED in err where an
 * algorithm is not written for it: that one is launched no more. Any other failure ends the search.
 */
enum status convolution_search(struct stream *stream, double seconds,
			       enum status (*launch)(void *state,
						     enum convolution_algorithm algorithm,
						     struct error *err),
			       void *state, struct convolution_search *found, struct error *err);

#endif
