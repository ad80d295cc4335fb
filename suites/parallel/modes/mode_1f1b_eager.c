/*
 * One forward, one backward, after twice the warm-up: the round trip of a micro-batch is
 * hidden by the others, at the cost of their memory.
 */
#include "suites/parallel/modes/pipeline/pipeline.h"

PIPELINE_MODE(1f1b_eager, "1f1b with twice the warm-up, which hides the transfers",
	      pipeline_warmup_eager, true);
