/*
 * One micro-batch: the naive split, in which only one stage works at a time; more: GPipe's
 * schedule, all forwards and then all backwards.
 */
#include "suites/parallel/pipeline.h"

PIPELINE_MODE(layer_split, "a stage of layers per device; one micro-batch: naive, more: GPipe",
	      pipeline_warmup_all, false);
