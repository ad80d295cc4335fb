/* All forwards, then all backwards, then one optimizer step (GPipe). */
#include "suites/parallel/modes/pipeline/pipeline.h"

PIPELINE_MODE(gpipe, "a stage of layers per device: all forwards, then all backwards",
	      pipeline_warmup_all, true);
