/*
 * One forward, one backward: a stage keeps only as many micro-batches as there are stages after
 * it. The idle share is GPipe's; the memory is not.
 */
#include "suites/parallel/modes/pipeline/pipeline.h"

PIPELINE_MODE(1f1b, "a stage of layers per device: one forward and one backward in turn",
	      pipeline_warmup_plain, true);
