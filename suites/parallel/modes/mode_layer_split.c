/*
 * One micro-batch: the naive split, in which only one stage works at a time; more: GPipe's
 * schedule, all forwards and then all backwards. Nothing is sent back before a stage's backward is done, as
 * a model that is cut by hand does it: compared with gpipe it shows the gain of gpipe's order.
 */
#include "suites/parallel/modes/pipeline/pipeline.h"

PIPELINE_MODE(layer_split, "a stage of layers per device, whole backwards; one micro-batch: naive, more: GPipe",
	      pipeline_warmup_all, false);
