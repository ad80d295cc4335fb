#include "suites/training/trainmem/outcome.h"

#include <math.h>

#include "base/text.h"
#include "base/units.h"
#include "suites/training/parallel/memory_classes.h"
#include "suites/shared/words.h"
#include "suites/training/trainmem/measure.h"

const struct metric trainmem_metrics[] = {
	{ "trainmem.memory", "B", BETTER_LOWER, 1,
	  "peak memory of a step: tensors and workspaces in use at the same time" },
#define X(symbol, name, help) { "trainmem.memory_" #name, "B", BETTER_LOWER, 0, help ", then" },
	MEMORY_CLASSES(X)
#undef X
		{ "trainmem.step_time", "s", BETTER_LOWER, 0, "time of one training step" },
	{ "trainmem.throughput", "samples/s", BETTER_HIGHER, 0, "batch / step time" },
	{ "trainmem.plain_time", "s", BETTER_NONE, 0,
	  "time of the plain step (all outputs kept, one allocation), measured in the same case" },
	{ "trainmem.slowdown", "1", BETTER_LOWER, 0,
	  "step time / time of the plain step, median over interleaved pairs" },
	{ "trainmem.saved", "1", BETTER_HIGHER, 0,
	  "memory saved against the plain step / memory of the plain step", METRIC_EXACT,
	  .percent = true },
	{ "trainmem.activations_saved", "1", BETTER_HIGHER, 0,
	  "activation memory saved against the plain step at its peak / activation memory of the "
	  "plain step",
	  METRIC_EXACT, .percent = true },
	{ "trainmem.predicted", "B", BETTER_NONE, 0,
	  "peak memory that a dry run of the step predicts" },
	{ "trainmem.peak_forward", "B", BETTER_LOWER, 0, "peak memory during the forward pass" },
	{ "trainmem.peak_backward", "B", BETTER_LOWER, 0, "peak memory during the backward pass" },
	{ "trainmem.peak_optimizer", "B", BETTER_LOWER, 0,
	  "peak memory during the optimizer update" },
	{ "trainmem.peak_inference", "B", BETTER_LOWER, 0,
	  "peak memory of inference: a forward pass that keeps no outputs for a backward pass" },
	{ "trainmem.gradients_after", "B", BETTER_NONE, 0,
	  "memory of parameter gradients that are still allocated after the step" },
	{ "trainmem.reserved", "B", BETTER_LOWER, 0,
	  "peak memory that the allocator reserves from the device" },
	{ "trainmem.reserved_ratio", "1", BETTER_LOWER, 0,
	  "peak reserved memory / peak memory in use", METRIC_EXACT },
	{ "trainmem.reserved_after", "B", BETTER_LOWER, 0,
	  "reserved memory after the step, once the cache is emptied" },
	{ "trainmem.allocations", "1", BETTER_LOWER, 0,
	  "number of requests to the allocator per step", METRIC_EXACT },
	{ "trainmem.device_calls", "1", BETTER_LOWER, 0,
	  "number of calls to the device's allocator per step, allocations and frees",
	  METRIC_EXACT },
	{ "trainmem.allocator_time", "s", BETTER_LOWER, 0,
	  "host time that the allocator takes per step", METRIC_HOST },
	{ "trainmem.pool", "B", BETTER_NONE, 0,
	  "memory pool for the tensors of a step; outputs that do not fit are swapped to the "
	  "host" },
	{ "trainmem.swapped", "1", BETTER_LOWER, 0,
	  "number of layers whose outputs are swapped to the host", METRIC_EXACT },
	{ "trainmem.context", "B", BETTER_LOWER, 0,
	  "memory of the process before its first tensor: context, kernels, libraries" },
	{ "trainmem.process", "B", BETTER_LOWER, 0,
	  "memory of the process after the forward pass, as reported by the system; the notes name "
	  "the source" },
	{ "trainmem.unaccounted", "B", BETTER_LOWER, 0,
	  "memory of the process that is neither context nor reserved memory" },
	{ "trainmem.accounted", "1", BETTER_HIGHER, 0, "1 - |unaccounted| / memory of the process",
	  METRIC_EXACT, .percent = true },
	{ "trainmem.leak", "B", BETTER_LOWER, 0,
	  "leak: tensor memory in use after the last step - tensor memory in use after the second "
	  "step" },
	{ "trainmem.process_growth", "B", BETTER_LOWER, 0,
	  "growth: memory of the process after the last step - memory of the process after the "
	  "second step" },
	{ "trainmem.bytes_per_sample", "B", BETTER_LOWER, 0,
	  "memory that each additional sample of the batch needs" },
	{ "trainmem.balance_batch", "samples", BETTER_NONE, 0,
	  "B*: batch at which input and activations need as much memory as parameters, gradients, "
	  "master weights and optimizer state" },
	{ "trainmem.gradient_error", "1", BETTER_LOWER, 0,
	  "relative L2 error of the gradients: the larger of the differences from double precision "
	  "and from a step that keeps all outputs",
	  METRIC_EXACT },
	{ "trainmem.loss", "1", BETTER_NONE, 0,
	  "mean loss of the batch in the first step; equals parallel.loss for the same model and "
	  "batch" },
	{ "trainmem.losses", "B", BETTER_NONE, 0,
	  "memory for the losses of all rows, which is part of the activations" },
	{ "trainmem.offloaded", "B", BETTER_NONE, 0,
	  "bytes swapped to and from the host per step" },
	{ "trainmem.host_memory", "B", BETTER_LOWER, 0, "pinned host memory for swapping" },
	{ "trainmem.largest_batch", "samples", BETTER_HIGHER, 1,
	  "largest batch that fits, found by trial", METRIC_EXACT },
	{ "trainmem.largest_width", "1", BETTER_HIGHER, 1,
	  "largest hidden width that fits, found by trial", METRIC_EXACT },
	{ "trainmem.largest_parameters", "1", BETTER_HIGHER, 0,
	  "number of parameters of the model with the largest width that fits", METRIC_EXACT },
	{ "trainmem.budget", "B", BETTER_NONE, 0,
	  "memory budget for tensors: memory of the device - context - libraries - "
	  "memory_reserve" },
	{ "trainmem.predicted_largest", "1", BETTER_NONE, 0,
	  "batch or width that the memory plan predicts before the first trial" },
	{ "trainmem.trials", "1", BETTER_LOWER, 0,
	  "number of trials of the search, each in its own process, including one that finds the "
	  "budget",
	  METRIC_EXACT },
	{ "trainmem.refused", "B", BETTER_NONE, 0,
	  "smallest batch or width that does not fit: size of the request that failed" },
	{ "trainmem.refused_reserved", "B", BETTER_NONE, 0,
	  "smallest batch or width that does not fit: memory reserved when the request failed, "
	  "from the memory account" },
	{ "trainmem.refused_phase", "1", BETTER_NONE, 0,
	  "smallest batch or width that does not fit: phase of the failure (0: start, 1: forward, "
	  "2: backward, 3: update)" },
	{ "trainmem.explained", "1", BETTER_NONE, 0,
	  "(reserved memory + failed request) / budget; 1 or more: the memory account explains the "
	  "failure" },
	{ "trainmem.search_time", "s", BETTER_LOWER, 0, "time of the whole search", METRIC_HOST },
	{ "trainmem.limit", "B", BETTER_NONE, 0,
	  "memory limit of the allocator; two logical devices: limit of each" },
	{ "trainmem.isolated", "1", BETTER_HIGHER, 0,
	  "1: the first logical device cannot exceed its limit, and the second can still use its "
	  "memory; 0: otherwise",
	  METRIC_EXACT },
	{ "trainmem.undivided_ratio", "1", BETTER_NONE, 0,
	  "sum of the gradients of all parts, without division / gradients of the mean",
	  METRIC_EXACT },
	{ "trainmem.undivided_error", "1", BETTER_NONE, 0,
	  "relative L2 difference between the summed gradients and the gradients of the mean, "
	  "scaled by the number of parts",
	  METRIC_EXACT },
	{ "trainmem.loss_first", "1", BETTER_NONE, 0,
	  "mean loss in the first tenth of a training that uses each sample once", METRIC_EXACT },
	{ "trainmem.loss_half", "1", BETTER_LOWER, 0,
	  "mean loss in the fifth tenth of the training", METRIC_EXACT },
	{ "trainmem.loss_final", "1", BETTER_LOWER, 1,
	  "mean loss in the last tenth of the training", METRIC_EXACT },
	{ "trainmem.loss_final_fp32", "1", BETTER_NONE, 0,
	  "mean loss in the last tenth of the same training in FP32", METRIC_EXACT },
	{ "trainmem.loss_difference", "1", BETTER_LOWER, 0,
	  "largest relative difference from the loss in FP32, over all tenths", METRIC_EXACT,
	  .percent = true },
	{ "trainmem.updates", "1", BETTER_NONE, 0, "number of steps of the training",
	  METRIC_EXACT },
	{ "trainmem.fits_kept", "1", BETTER_HIGHER, 0,
	  "1: the largest batch still fits after steps with other batch sizes; 0: it does not fit",
	  METRIC_EXACT },
	{ "trainmem.fits_cleared", "1", BETTER_HIGHER, 0,
	  "1: the largest batch fits after steps with other batch sizes, once the cache is "
	  "emptied; 0: it does not fit",
	  METRIC_EXACT },
	{ "trainmem.refused_batch", "samples", BETTER_NONE, 0,
	  "batch whose step runs out of memory in the backward pass", METRIC_EXACT },
	{ "trainmem.refused_batch_forward", "samples", BETTER_NONE, 0,
	  "batch whose step runs out of memory in the forward pass", METRIC_EXACT },
#define X(name, help)                                                                            \
	{ "trainmem.backward_" #name,                                                            \
	  "1",                                                                                   \
	  BETTER_HIGHER,                                                                         \
	  0,                                                                                     \
	  "step that ran out of memory in the backward pass: 1: the step fits " help "; 0: not", \
	  METRIC_EXACT },                                                                        \
		{ "trainmem.forward_" #name,                                                     \
		  "1",                                                                           \
		  BETTER_HIGHER,                                                                 \
		  0,                                                                             \
		  "step that ran out of memory in the forward pass: 1: the step fits " help      \
		  "; 0: not",                                                                    \
		  METRIC_EXACT },
	REMEDIES(X)
#undef X
		{ "trainmem.fragmentation", "1", BETTER_LOWER, 0,
		  "fragmentation: 1 - largest request that succeeds / free memory", METRIC_EXACT,
		  .percent = true },
	{ "trainmem.largest_request", "B", BETTER_HIGHER, 0, "largest request that succeeds" },
	{ 0 },
};

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
	  .means =
		  "Step time / time of the plain step, which keeps all outputs in one allocation" },
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

#define SEARCHED                                                                                 \
	"Memory: peak of tensors and workspaces of the largest step that fits. Context: memory " \
	"of the process before its first tensor. Budget: memory of the GPU without context and " \
	"reserve. Trials: processes that ran a step, and one that found the budget."

const struct table_row trainmem_tables[] = {
	{ .title = "Training loss on samples not used before",
	  .columns = { "trainmem.updates", "trainmem.loss_first", "trainmem.loss_half",
		       "trainmem.loss_final", "trainmem.loss_final_fp32",
		       "trainmem.loss_difference" },
	  .without = { "study" },
	  .note = "Mean loss in the first, fifth and last tenth of the training. Difference: "
		  "largest difference from the same training in FP32." },
	{ .title = "Remedies for steps that run out of memory in the backward pass (1: the step "
		   "fits; 0: it does not fit)",
	  .columns = { "trainmem.refused_batch", "trainmem.backward_halved",
		       "trainmem.backward_checkpointed", "trainmem.backward_accumulated",
		       "trainmem.backward_offloaded" },
	  .without = { "study" } },
	{ .title = "Remedies for steps that run out of memory in the forward pass (1: the step "
		   "fits; 0: it does not fit)",
	  .columns = { "trainmem.refused_batch_forward", "trainmem.forward_halved",
		       "trainmem.forward_checkpointed", "trainmem.forward_accumulated",
		       "trainmem.forward_offloaded" },
	  .without = { "study" } },
	{ .title = "Largest batch after steps with other batch sizes",
	  .columns = { "trainmem.fits_kept", "trainmem.fits_cleared", "trainmem.reserved",
		       "trainmem.reserved_after", "trainmem.limit" },
	  .without = { "study" },
	  .note = "1: the largest batch fits; 0: it does not fit. Before and after emptying the "
		  "cache." },
	{ .title = "Outputs swapped to the host, by pool size",
	  .columns = { "trainmem.pool", "trainmem.swapped", "trainmem.offloaded", "trainmem.memory",
		       "trainmem.slowdown" },
	  .without = { "study" } },
	{ .title = "Largest batch that fits, by memory of the GPU",
	  .columns = { "trainmem.largest_batch", "trainmem.trials", "trainmem.memory",
		       "trainmem.context", "trainmem.budget", "trainmem.search_time" },
	  .without = { "study" },
	  .note = SEARCHED },
	{ .title = "Widest model that fits, by memory of the GPU",
	  .columns = { "trainmem.largest_width", "trainmem.largest_parameters", "trainmem.trials",
		       "trainmem.memory", "trainmem.context", "trainmem.budget",
		       "trainmem.search_time" },
	  .without = { "study" },
	  .note = SEARCHED },
	{ .title = "Memory of a step by phase, and accounted fraction of the process memory",
	  .columns = { "trainmem.peak_forward", "trainmem.peak_backward", "trainmem.peak_optimizer",
		       "trainmem.bytes_per_sample", "trainmem.balance_batch", "trainmem.context",
		       "trainmem.process", "trainmem.accounted" },
	  .without = { "study" },
	  .note = "Peaks: highest memory in use in a phase. Balance batch (B*): batch from which "
		  "input and activations need more memory than parameters, gradients and optimizer "
		  "state. Process: memory after the forward pass, as reported by the system. "
		  "Accounted: part of the process memory that tensors, workspaces and context "
		  "explain." },
	{ .title = "Memory saved by each method, and its cost in time",
	  .columns = { "trainmem.saved", "trainmem.activations_saved", "trainmem.slowdown",
		       "trainmem.memory", "trainmem.step_time" },
	  .without = { "study" },
	  .note = "Compared with the plain step (all outputs kept, one allocation), measured in "
		  "the same case. Saved: fraction of the plain step's memory and of its "
		  "activations. Slowdown: step time / time of the plain step." },
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

static double trainmem_outcome_part_saved(uint64_t now, uint64_t plain)
{
	return plain ? 1 - (double)now / (double)plain : 0;
}

/* From two plans: parts that are not proportional to the batch cancel. */
static void trainmem_outcome_record_slope(struct run *run, const struct setup *setup,
					  const struct memory_account *a, const struct heap *plan)
{
	struct training_options options = { .policy = plan->policy };
	struct setup twice = *setup;
	struct heap more, one;
	double samples = (double)(setup->batch / setup_sample_rows(setup)), activations;

	twice.batch *= 2;
	trainmem_training_plan(setup, &options, &one);
	trainmem_training_plan(&twice, &options, &more);
	run_value(run, "trainmem.bytes_per_sample",
		  (double)(more.peak.total - one.peak.total) / samples);
	activations = (double)(more.class_peak[MEMORY_ACTIVATIONS] + more.class_peak[MEMORY_INPUT] -
			       one.class_peak[MEMORY_ACTIVATIONS] - one.class_peak[MEMORY_INPUT]) /
		      samples;
	if (activations > 0)
		run_value(run, "trainmem.balance_batch",
			  (double)(a->peak.bytes[MEMORY_PARAMETERS] +
				   a->peak.bytes[MEMORY_GRADIENTS] + a->peak.bytes[MEMORY_MASTER] +
				   a->peak.bytes[MEMORY_OPTIMIZER]) /
				  activations);
}

static void trainmem_outcome_add_reading(struct text *t, const char *name, uint64_t bytes)
{
	char size[32];

	if (bytes)
		text_addf(t, "%s%s %s", t->length ? ", " : "", name,
			  units_format((double)bytes, "B", size, sizeof(size)));
}

/* Notes the readings of all memory sources after forward. */
static void trainmem_outcome_note_sources(struct run *run, const struct memory_account *a)
{
	const struct memory_view *v = &a->view;
	struct text t = TEXT_EMPTY;

	trainmem_outcome_add_reading(&t, "classes", a->live);
	trainmem_outcome_add_reading(&t, "reserved from the device", a->reserved);
	trainmem_outcome_add_reading(&t, "this process", v->process_used);
	trainmem_outcome_add_reading(&t, "the whole device (monitor)", v->device_used);
	trainmem_outcome_add_reading(&t, "the whole device (runtime)", v->runtime_used);
	trainmem_outcome_add_reading(&t, "pool reserved", v->pool_reserved);
	trainmem_outcome_add_reading(&t, "pool used", v->pool_used);
	run_note(run, "After the forward pass: %s. Source of the process memory: %s.", t.data,
		 memory_account_source_name(a->source, &run->devices[0]->info));
	text_release(&t);
}

static void trainmem_outcome_record_sources(struct run *run, const struct memory_account *a)
{
	bool shared = run->devices[0]->info.capabilities & DEVICE_SHARES_HOST_MEMORY;
	double measured = (double)a->measured,
	       known = (double)(a->context + a->workspace + a->reserved);

	/* Offloaded data of a CPU stay in the memory of its process. */
	known += shared ? (double)a->host_bytes : 0;
	run_value(run, "trainmem.context", (double)a->context);
	run_value(run, "trainmem.process", measured);
	run_value(run, "trainmem.unaccounted", measured - known);
	if (measured > 0)
		run_value(run, "trainmem.accounted", 1 - fabs(measured - known) / measured);
	run_value(run, "trainmem.reserved", (double)a->reserved_peak);
	run_value(run, "trainmem.reserved_ratio",
		  (double)a->reserved_peak / (double)(a->peak.total - a->workspace));
	run_value(run, "trainmem.reserved_after", (double)a->reserved_after_trim);
	run_value(run, "trainmem.allocations", (double)a->takes);
	run_value(run, "trainmem.device_calls", (double)a->device_calls);
	run_value(run, "trainmem.leak", (double)a->leaked);
	run_value(run, "trainmem.process_growth", (double)a->source_grew);
	trainmem_outcome_note_sources(run, a);
}

void trainmem_outcome_record_account(struct run *run, const struct setup *setup,
				     const struct memory_account *a, const struct heap *plan,
				     const struct heap *plain)
{
	memory_classes_record(run, a->peak.bytes);
	run_value(run, "trainmem.peak_forward", (double)a->phase_peak[PHASE_FORWARD].total);
	run_value(run, "trainmem.peak_backward", (double)a->phase_peak[PHASE_BACKWARD].total);
	run_value(run, "trainmem.peak_optimizer", (double)a->phase_peak[PHASE_UPDATE].total);
	run_value(run, "trainmem.peak_inference", (double)a->inference_peak);
	run_value(run, "trainmem.gradients_after", (double)a->gradients_after);
	trainmem_outcome_record_sources(run, a);
	run_value(run, "trainmem.predicted", (double)(plan->peak.total + a->workspace));
	if (plain) {
		run_value(run, "trainmem.saved",
			  trainmem_outcome_part_saved(plan->peak.total, plain->peak.total));
		run_value(run, "trainmem.activations_saved",
			  trainmem_outcome_part_saved(plan->class_peak[MEMORY_ACTIVATIONS],
						      plain->class_peak[MEMORY_ACTIVATIONS]));
	}
	trainmem_outcome_record_slope(run, setup, a, plan);
	run_value(run, "trainmem.loss", a->first_loss);
	run_value(run, "trainmem.losses", (double)(setup->batch * sizeof(double)));
	if (a->moved_bytes) {
		run_value(run, "trainmem.offloaded", (double)a->moved_bytes);
		run_value(run, "trainmem.host_memory", (double)a->host_bytes);
	}
	for (int phase = PHASE_FORWARD; phase < PHASE_COUNT; phase++) {
		struct text t = TEXT_EMPTY;

		memory_classes_describe(&t, a->phase_peak[phase].bytes);
		run_note(run, "At the peak of the %s phase: %s.", phase_names[phase], t.data);
		text_release(&t);
	}
}

/* The memory account at the moment of the failed allocation. */
static void trainmem_outcome_record_refusal(struct run *run, const struct search *s)
{
	const struct trial *t = &s->failed;
	struct text classes = TEXT_EMPTY;
	char size[32];

	if (!s->fails)
		return;
	run_value(run, "trainmem.refused", (double)t->refused);
	run_value(run, "trainmem.refused_reserved", (double)t->taken);
	run_value(run, "trainmem.refused_phase", t->phase);
	if (t->budget)
		run_value(run, "trainmem.explained",
			  (double)(t->taken + t->refused) / (double)t->budget);
	memory_classes_describe(&classes, t->in_use);
	run_note(run, "Memory in use when %s could not be allocated: %s.",
		 units_format((double)t->refused, "B", size, sizeof(size)), classes.data);
	text_release(&classes);
}

void trainmem_outcome_record_search(struct run *run, const struct search *s)
{
	struct model model;
	char filled[32];

	model_init(&model, &s->setup);
	run_value(run,
		  s->what == SEARCH_BATCH ? "trainmem.largest_batch" : "trainmem.largest_width",
		  (double)s->found);
	run_value(run, "trainmem.largest_parameters", (double)model.parameters);
	memory_classes_record(run, s->largest.peak.bytes);
	run_demote_metric(run, "trainmem.memory");
	run_value(run, "trainmem.context", (double)s->context);
	run_value(run, "trainmem.budget", (double)s->budget);
	run_value(run, "trainmem.predicted_largest", (double)s->predicted);
	run_value(run, "trainmem.trials", s->trials);
	run_value(run, "trainmem.search_time", s->seconds);
	if (s->largest.filled)
		run_note(run, "gpuproof filled the rest of the device's memory: %s.",
			 units_format((double)s->largest.filled, "B", filled, sizeof(filled)));
	if (s->fails)
		run_note(run,
			 "%llu does not fit; the %s phase failed: %s. The device still works: an "
			 "allocation was filled by a kernel and verified.",
			 (unsigned long long)s->fails, phase_names[s->failed.phase],
			 s->failed.reason);
	else
		run_note(run, "The search reached its upper limit without a failure.");
	trainmem_outcome_record_refusal(run, s);
}

void trainmem_outcome_record_fragments(struct run *run, const struct fragments *f)
{
	if (f->live_peak) {
		run_value(run, "trainmem.reserved", (double)f->reserved_peak);
		run_value(run, "trainmem.reserved_ratio",
			  (double)f->reserved_peak / (double)f->live_peak);
	} else {
		run_value(run, "trainmem.largest_request", (double)f->largest_free);
	}
	if (f->free_bytes)
		run_value(run, "trainmem.fragmentation",
			  1 - (double)f->largest_free / (double)f->free_bytes);
}
