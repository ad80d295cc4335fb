/*
 * One forward, one backward, after twice the warm-up: the way there and back of a micro-batch is
 * hidden behind others, for the memory of those.
 */
#include "suites/parallel/modes/pipeline/pipeline.h"

PIPELINE_MODE(1f1b_eager, "1f1b with twice the warm-up, which hides the transfers",
	      pipeline_warmup_eager, true);
