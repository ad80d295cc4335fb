/* How pages show the memory of training steps. */
#include "suites/training/parallel/classes.h"
#include "suites/shared/words.h"
#include "suites/training/trainmem/outcome.h"

const struct figure_row trainmem_figures[] = {
	{ .metric = "trainmem.memory",
	  .kind = "stacked",
	  .facets = { "study" },
	  .parts = "trainmem.memory_",
	  .overlap = { "shared", "activations", MEMORY_SHARED_NOTE } },
	{ .metric = "trainmem.activations_saved",
	  .kind = "bars",
	  .means = "Part of the plain step's activations that this one does without" },
	{ .metric = "trainmem.slowdown",
	  .kind = "bars",
	  .reference = 1,
	  .means = "Step time / that of the plain step: everything kept, in one allocation" },
	{ .metric = "trainmem.reserved_ratio",
	  .kind = "bars",
	  .means = "Peak reserved memory / peak memory in use" },
	{ .metric = "trainmem.fragmentation",
	  .kind = "bars",
	  .means = "Part of the free memory that the largest request that is granted leaves" },
	{ .metric = "trainmem.largest_batch",
	  .kind = "bars",
	  .means = "Largest batch whose step fits, found by trial" },
	{ .metric = "trainmem.largest_width",
	  .kind = "bars",
	  .means = "Largest hidden width whose step fits, found by trial" },
	{ 0 },
};

#define SEARCHED                                                                                   \
	"Memory: tensors and workspaces of that step when most are in use. Context: what the "     \
	"process takes before its first tensor. Budget: the card's memory without it and without " \
	"the reserve. Trials: processes that tried a step, and the one that looked for the "       \
	"budget."

const struct table_row trainmem_tables[] = {
	{ .title = "A training's loss, on samples that were never seen before",
	  .columns = { "trainmem.updates", "trainmem.loss_first", "trainmem.loss_half",
		       "trainmem.loss_final", "trainmem.loss_final_fp32",
		       "trainmem.loss_difference" },
	  .without = { "study" },
	  .note = "Means over tenths of the training: the first, the fifth, the last. Difference: "
		  "from the same training in FP32, where it is largest." },
	{ .title = "Steps that run out of memory in backward, and what makes them fit (1: it does, "
		   "0: not)",
	  .columns = { "trainmem.refused_batch", "trainmem.backward_halved",
		       "trainmem.backward_checkpointed", "trainmem.backward_accumulated",
		       "trainmem.backward_offloaded" },
	  .without = { "study" } },
	{ .title = "The same in forward",
	  .columns = { "trainmem.refused_batch_forward", "trainmem.forward_halved",
		       "trainmem.forward_checkpointed", "trainmem.forward_accumulated",
		       "trainmem.forward_offloaded" },
	  .without = { "study" } },
	{ .title = "The largest batch after many of changing size",
	  .columns = { "trainmem.fits_kept", "trainmem.fits_cleared", "trainmem.reserved",
		       "trainmem.reserved_after", "trainmem.limit" },
	  .without = { "study" },
	  .note = "1: it fits, 0: not; without clearing the cache and after clearing it." },
	{ .title = "Outputs swapped to the host as the pool becomes small",
	  .columns = { "trainmem.pool", "trainmem.swapped", "trainmem.offloaded", "trainmem.memory",
		       "trainmem.slowdown" },
	  .without = { "study" } },
	{ .title = "The largest batch that fits, by memory of the card",
	  .columns = { "trainmem.largest_batch", "trainmem.halving_batch", "trainmem.trials",
		       "trainmem.memory", "trainmem.context", "trainmem.budget",
		       "trainmem.search_time" },
	  .without = { "study" },
	  .note = SEARCHED " Halving batch: what halving a power of two would have found." },
	{ .title = "The widest model that fits, by memory of the card",
	  .columns = { "trainmem.largest_width", "trainmem.largest_parameters", "trainmem.trials",
		       "trainmem.memory", "trainmem.context", "trainmem.budget",
		       "trainmem.search_time" },
	  .without = { "study" },
	  .note = SEARCHED },
	{ .title = "What a step needs by phase, and how much of the process' memory is accounted "
		   "for",
	  .columns = { "trainmem.peak_forward", "trainmem.peak_backward", "trainmem.peak_optimizer",
		       "trainmem.bytes_per_sample", "trainmem.balance_batch", "trainmem.context",
		       "trainmem.process", "trainmem.accounted" },
	  .without = { "study" },
	  .note = "Peaks: the most in use in that phase. Balance batch (B*): from there on input "
		  "and activations take more than parameters, gradients and optimizer state. "
		  "Process: its memory after forward, as the system sees it. Accounted: the part "
		  "of it that tensors, workspaces and context explain." },
	{ .title = "Memory saved by each method, and its cost",
	  .columns = { "trainmem.saved", "trainmem.activations_saved", "trainmem.slowdown",
		       "trainmem.memory", "trainmem.step_time" },
	  .without = { "study" },
	  .note = "Against the plain step, measured in the same case: all outputs kept, in one "
		  "allocation. Saved: part of its memory, and of its activations. Slowdown: step "
		  "time / its time." },
	{ 0 },
};

const struct word_row trainmem_words[] = {
	PRECISION_WORDS,
	{ "aliasing", "off", "no aliasing" },
	ALLOCATOR_WORDS,
	{ "memory_limit", "none", "whole card" },
	{ "offload", "none", "nothing offloaded" },
	{ "offload", "host", "outputs offloaded to the host" },
	{ "offload", "as_needed", "outputs swapped as needed" },
	{ "pool", "*", "pool of *" },
	{ "losses", "host", "losses fetched by the host" },
	{ "segments", "0", "nothing computed again" },
	{ "accumulate", "1", "no accumulation" },
	{ "activation", "in_place", "ReLU in place" },
	{ "activation", "out_of_place", "ReLU out of place" },
	{ "optimizer", "adam", "Adam" },
	{ "optimizer", "sgd", "SGD" },
	{ 0 },
};

const struct role_row trainmem_roles[] = {
	{ "precision", ROLE_PRECISION },
	{ 0 },
};
