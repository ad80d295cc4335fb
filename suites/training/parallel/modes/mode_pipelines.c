/* The modes that divide a model by layers: see pipeline.h. */
#include "suites/training/parallel/modes/pipeline/pipeline.h"

/*
 * A mode of this family: the name in the INI file, its summary, its warm-up, and whether gradients
 * of inputs come first.
 */
#define PIPELINE_MODE(name_, summary_, warmup_, dgrad_first_)                                \
	static void partition_##name_(const struct setup *setup, int rank,                   \
				      struct rank_partition *partition, uint64_t *step_rows) \
	{                                                                                    \
		pipeline_partition(setup, rank, warmup_, partition, step_rows);              \
	}                                                                                    \
	static enum status open_##name_(struct trainer *trainer, struct error *err)          \
	{                                                                                    \
		return pipeline_open(trainer, warmup_, err);                                 \
	}                                                                                    \
	const struct mode mode_##name_ = {                                                   \
		.name = #name_,                                                              \
		.summary = summary_,                                                         \
		.microbatched = true,                                                        \
		.recomputes = true,                                                          \
		.transformers = true,                                                        \
		.dgrad_first = (dgrad_first_),                                               \
		.refusal = pipeline_refusal,                                                 \
		.partition = partition_##name_,                                              \
		.buffers = pipeline_buffers,                                                 \
		.open = open_##name_,                                                        \
		.close = pipeline_close,                                                     \
		.tuned = pipeline_tuned,                                                     \
		.enqueue = pipeline_enqueue,                                                 \
		.commands = pipeline_commands,                                               \
		.wire_bytes = pipeline_wire_bytes,                                           \
		.bubble = pipeline_bubble,                                                   \
	}

/*
 * One micro-batch: the naive split, in which only one stage works at a time; with more: GPipe's
 * schedule, all forwards and then all backwards. A stage sends nothing back before its backward is
 * complete, as in a model that is split by hand: the comparison with gpipe shows the gain of
 * gpipe's order.
 */
PIPELINE_MODE(layer_split,
	      "pipeline, one stage per device; whole backward passes; one micro-batch: naive, "
	      "more: GPipe",
	      pipeline_warmup_all, false);

/* All forwards, then all backwards, then one optimizer step (GPipe). */
PIPELINE_MODE(gpipe,
	      "pipeline, one stage per device: all forward passes, then all backward "
	      "passes",
	      pipeline_warmup_all, true);

/*
 * One forward, one backward: a stage keeps only as many micro-batches as there are stages after it.
 * The idle share equals GPipe's, but the memory is less.
 */
PIPELINE_MODE(1f1b,
	      "pipeline, one stage per device: alternates one forward and one backward "
	      "pass",
	      pipeline_warmup_plain, true);

/*
 * One forward, one backward, after twice the warm-up: other micro-batches hide the round trip of a
 * micro-batch, at the cost of their memory.
 */
PIPELINE_MODE(1f1b_eager, "1f1b with twice the warm-up, to hide transfers", pipeline_warmup_eager,
	      true);
