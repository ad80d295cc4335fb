/* Presentation of training-step memory on pages. */
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
	  .means = "Activation memory saved against the plain step" },
	{ .metric = "trainmem.slowdown",
	  .kind = "bars",
	  .reference = 1,
	  .means = "Step time / time of the plain step, which keeps all outputs in one "
		   "allocation" },
	{ .metric = "trainmem.reserved_ratio",
	  .kind = "bars",
	  .means = "Peak reserved memory / peak memory in use" },
	{ .metric = "trainmem.fragmentation",
	  .kind = "bars",
	  .means = "1 - largest request that succeeds / free memory" },
	{ .metric = "trainmem.largest_batch",
	  .kind = "bars",
	  .means = "Largest batch whose step fits, found by trial" },
	{ .metric = "trainmem.largest_width",
	  .kind = "bars",
	  .means = "Largest hidden width whose step fits, found by trial" },
	{ 0 },
};

#define SEARCHED                                                                               \
	"Memory: peak of tensors and workspaces of that step. Context: memory of the process " \
	"before its first tensor. Budget: memory of the GPU without context and reserve. "     \
	"Trials: processes that tried a step, and one to find the budget."

const struct table_row trainmem_tables[] = {
	{ .title = "Training loss on samples not seen before",
	  .columns = { "trainmem.updates", "trainmem.loss_first", "trainmem.loss_half",
		       "trainmem.loss_final", "trainmem.loss_final_fp32",
		       "trainmem.loss_difference" },
	  .without = { "study" },
	  .note = "Mean loss in the first, fifth and last tenth of the training. Difference: "
		  "largest difference from the same training in FP32." },
	{ .title = "Remedies for steps that run out of memory in backward (1: the step fits; "
		   "0: it does not)",
	  .columns = { "trainmem.refused_batch", "trainmem.backward_halved",
		       "trainmem.backward_checkpointed", "trainmem.backward_accumulated",
		       "trainmem.backward_offloaded" },
	  .without = { "study" } },
	{ .title = "Remedies for steps that run out of memory in forward (1: the step fits; 0: "
		   "it does not)",
	  .columns = { "trainmem.refused_batch_forward", "trainmem.forward_halved",
		       "trainmem.forward_checkpointed", "trainmem.forward_accumulated",
		       "trainmem.forward_offloaded" },
	  .without = { "study" } },
	{ .title = "Largest batch after batches of changing size",
	  .columns = { "trainmem.fits_kept", "trainmem.fits_cleared", "trainmem.reserved",
		       "trainmem.reserved_after", "trainmem.limit" },
	  .without = { "study" },
	  .note = "1: it fits; 0: it does not. Before and after emptying the cache." },
	{ .title = "Outputs swapped to the host, by pool size",
	  .columns = { "trainmem.pool", "trainmem.swapped", "trainmem.offloaded", "trainmem.memory",
		       "trainmem.slowdown" },
	  .without = { "study" } },
	{ .title = "Largest batch that fits, by memory of the GPU",
	  .columns = { "trainmem.largest_batch", "trainmem.halving_batch", "trainmem.trials",
		       "trainmem.memory", "trainmem.context", "trainmem.budget",
		       "trainmem.search_time" },
	  .without = { "study" },
	  .note = SEARCHED " Halving batch: the batch that halving a power of two would find." },
	{ .title = "Widest model that fits, by memory of the GPU",
	  .columns = { "trainmem.largest_width", "trainmem.largest_parameters", "trainmem.trials",
		       "trainmem.memory", "trainmem.context", "trainmem.budget",
		       "trainmem.search_time" },
	  .without = { "study" },
	  .note = SEARCHED },
	{ .title = "Memory of a step by phase, and share of the process memory accounted for",
	  .columns = { "trainmem.peak_forward", "trainmem.peak_backward", "trainmem.peak_optimizer",
		       "trainmem.bytes_per_sample", "trainmem.balance_batch", "trainmem.context",
		       "trainmem.process", "trainmem.accounted" },
	  .without = { "study" },
	  .note = "Peaks: most memory in use in that phase. Balance batch (B*): from here on, "
		  "input and activations need more than parameters, gradients and optimizer "
		  "state. Process: memory after forward, as reported by the system. Accounted: "
		  "share explained by tensors, workspaces and context." },
	{ .title = "Memory saved by each method, and its cost",
	  .columns = { "trainmem.saved", "trainmem.activations_saved", "trainmem.slowdown",
		       "trainmem.memory", "trainmem.step_time" },
	  .without = { "study" },
	  .note = "Compared with the plain step (all outputs kept, one allocation), measured "
		  "in the same case. Saved: share of its memory and of its activations. "
		  "Slowdown: step time / time of the plain step." },
	{ 0 },
};

const struct word_row trainmem_words[] = {
	PRECISION_WORDS,
	{ "aliasing", "off", "no aliasing" },
	ALLOCATOR_WORDS,
	{ "memory_limit", "none", "whole GPU" },
	{ "offload", "none", "nothing offloaded" },
	{ "offload", "host", "outputs offloaded to the host" },
	{ "offload", "as_needed", "outputs swapped as needed" },
	{ "pool", "*", "pool of *" },
	{ "losses", "host", "losses copied to the host" },
	{ "segments", "0", "no recomputation" },
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
