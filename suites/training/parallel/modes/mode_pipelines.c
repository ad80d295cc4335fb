/* The modes that divide a model by layers: see pipeline.h. */
#include "suites/training/parallel/modes/pipeline/pipeline.h"

/* They differ in the warm-up, and whether gradients of inputs come first. */
#define PIPELINE_ROWS                                                                              \
	.microbatched = true, .recomputes = true, .transformers = true,                            \
	.refusal = pipeline_refusal, .partition = pipeline_partition, .buffers = pipeline_buffers, \
	.open = pipeline_open, .close = pipeline_close, .tuned = pipeline_tuned,                   \
	.enqueue = pipeline_enqueue, .commands = pipeline_commands,                                \
	.wire_bytes = pipeline_wire_bytes, .bubble = pipeline_bubble

/*
 * One micro-batch: the naive split, in which only one stage works at a time; with more: GPipe's
 * schedule, all forwards and then all backwards. A stage sends nothing back before its backward is
 * complete, as in a model that is split by hand: the comparison with gpipe shows the gain of
 * gpipe's order.
 */
const struct mode mode_layer_split = {
	.name = "layer_split",
	.summary = "pipeline, one stage per device; whole backward passes; one micro-batch: naive, "
		   "more: GPipe",
	.warmup = pipeline_warmup_all,
	PIPELINE_ROWS,
};

/* All forwards, then all backwards, then one optimizer step (GPipe). */
const struct mode mode_gpipe = {
	.name = "gpipe",
	.summary = "pipeline, one stage per device: all forward passes, then all backward passes",
	.warmup = pipeline_warmup_all,
	.dgrad_first = true,
	PIPELINE_ROWS,
};

/*
 * One forward, one backward: a stage keeps only as many micro-batches as there are stages after it.
 * The idle share equals GPipe's, but the memory is less.
 */
const struct mode mode_1f1b = {
	.name = "1f1b",
	.summary = "pipeline, one stage per device: alternates one forward and one backward pass",
	.warmup = pipeline_warmup_plain,
	.dgrad_first = true,
	PIPELINE_ROWS,
};

/*
 * One forward, one backward, after twice the warm-up: other micro-batches hide the round trip of a
 * micro-batch, at the cost of their memory.
 */
const struct mode mode_1f1b_eager = {
	.name = "1f1b_eager",
	.summary = "1f1b with twice the warm-up, to hide transfers",
	.warmup = pipeline_warmup_eager,
	.dgrad_first = true,
	PIPELINE_ROWS,
};
