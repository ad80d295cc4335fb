#include "suites/training/parallel/outcome.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/text.h"
#include "result/statistics.h"
#include "suites/shared/energy.h"
#include "suites/shared/words.h"
#include "suites/training/parallel/memory_classes.h"
#include "suites/training/parallel/derived.h"

/* A speed-up above the number of devices by more than this is doubtful. */
#define SPEEDUP_SLACK 1.01

const struct metric parallel_metrics[] = {
	{ "parallel.step_time", "s", BETTER_LOWER, 1,
	  "time of one training step, from the forward pass to the updated parameters, on the "
	  "slowest device; the sustained time if it was measured" },
	{ "parallel.burst_time", "s", BETTER_LOWER, 0,
	  "time of the same step in the first samples after a rest, before the power limit reduces "
	  "the clock" },
	{ "parallel.sustained_share", "1", BETTER_HIGHER, 0,
	  "burst time / step time: effect of the power limit", .percent = true },
	{ "parallel.throughput", "samples/s", BETTER_HIGHER, 0, "global batch / step time" },
	{ "parallel.resnet50_rate", "images/s", BETTER_HIGHER, 0,
	  "throughput with the published ResNet-50 set-up: 224 x 224 images, 1000 classes",
	  .title = "ResNet-50 training" },
	{ "parallel.flops", "FLOP/s", BETTER_HIGHER, 0,
	  "operations of the model's GEMMs (forward and backward) / step time, sum of all "
	  "devices" },
	{ "parallel.single_time", "s", BETTER_LOWER, 0,
	  "time of a step with the same global batch on the first device alone, measured in the "
	  "same case" },
	{ "parallel.speedup", "1", BETTER_HIGHER, 0,
	  "speed-up (strong scaling): time on one device / step time, same global batch",
	  .title = "speed-up" },
	{ "parallel.efficiency", "1", BETTER_HIGHER, 0, "speed-up / number of devices",
	  .percent = true },
	{ "parallel.weak_efficiency", "1", BETTER_HIGHER, 0,
	  "efficiency (weak scaling): time on one device with its part of the batch / step time",
	  .percent = true },
	{ "parallel.compute_time", "s", BETTER_LOWER, 0,
	  "compute time of a step: all kernels without communication, on the slowest device" },
	{ "parallel.update_time", "s", BETTER_NONE, 0,
	  "pipelines: time of the optimizer kernels alone, on the slowest device" },
	{ "parallel.communication_time", "s", BETTER_LOWER, 0,
	  "communication time of a step: its transfers and collectives without other kernels" },
	{ "parallel.exposed_communication", "s", BETTER_LOWER, 0,
	  "exposed communication: step time - schedule time (parallel.schedule_time), at least 0" },
	{ "parallel.schedule_time", "s", BETTER_NONE, 0,
	  "calculated step time if messages took no time: compute time of the slowest device; "
	  "pipelines: time of the schedule with the measured time of each stage" },
	{ "parallel.overlap", "1", BETTER_HIGHER, 0,
	  "fraction of the communication that computation hides: 1 - exposed communication / "
	  "communication time",
	  .percent = true },
	{ "parallel.idle", "1", BETTER_LOWER, 0,
	  "idle fraction: part of the step time in which a device does not compute, mean over the "
	  "devices",
	  .percent = true },
	{ "parallel.added_work", "1", BETTER_LOWER, 0,
	  "extra compute: compute time of all devices / time on one device - 1; smaller GEMMs and "
	  "replicated work cause it",
	  .percent = true },
	{ "parallel.bubble", "1", BETTER_LOWER, 0,
	  "idle fraction of the recorded step: part of its time in which a device does not "
	  "compute, mean over the devices",
	  .percent = true },
	{ "parallel.compute_inflation", "1", BETTER_LOWER, 0,
	  "slowdown of computation by concurrent communication: compute time in the recorded step "
	  "/ compute time alone - 1, on the worst device",
	  .percent = true },
	{ "parallel.bubble_schedule", "1", BETTER_NONE, 0,
	  "pipeline bubble: idle fraction of the schedule, simulated with measured stage and "
	  "message times, mean over the stages",
	  .percent = true },
	{ "parallel.bubble_model", "1", BETTER_NONE, 0,
	  "theoretical bubble for equal stages and messages that take no time: (p-1)/(m+p-1); "
	  "2(p-1)/(3m+2(p-1)) if the input gradient is sent before the weight gradients are "
	  "computed",
	  .percent = true },
	{ "parallel.critical_batch", "1", BETTER_NONE, 0,
	  "b*: number of rows per device below which DDP cannot hide its all-reduce, from the "
	  "highest rates of this run" },
	{ "parallel.critical_width", "1", BETTER_NONE, 0,
	  "d*: width below which an all-reduce of tensor parallelism takes longer than the GEMMs "
	  "around it, from the highest rates of this run" },
	{ "parallel.mfu", "1", BETTER_HIGHER, 0,
	  "operations per second that the model needs, per device / highest GEMM rate of this "
	  "run. MFU, which pages of training show, divides by the data-sheet peak instead",
	  .percent = true, .title = "model FLOP/s / highest GEMM rate of this run" },
	{ "parallel.hfu", "1", BETTER_HIGHER, 0,
	  "as parallel.mfu, but including recomputed operations", .percent = true,
	  .title = "hardware FLOP/s / highest GEMM rate of this run" },
	{ "parallel.wire_bytes", "B", BETTER_NONE, 0,
	  "bytes that the device with the most traffic sends per step (calculated)" },
	{ "parallel.bus_bandwidth", "B/s", BETTER_HIGHER, 0,
	  "bandwidth of the device with the most traffic: bytes sent / communication time" },
	{ "parallel.imbalance", "1", BETTER_LOWER, 0,
	  "memory imbalance: memory of the first device / mean of the other devices",
	  METRIC_EXACT },
	{ "parallel.memory", "B", BETTER_LOWER, 0,
	  "peak memory: tensors and workspaces of a step on the device that needs most, without "
	  "context and collectives' library, counted as framework allocators do" },
#define X(symbol, name, help)                             \
	{ "parallel.memory_" #name, "B", BETTER_LOWER, 0, \
	  help ", on the device with the highest parallel.memory" },
	MEMORY_CLASSES(X)
#undef X
		{ "parallel.memory_shared", "B", BETTER_NONE, 0,
		  "memory that two classes share, such as outputs that gradients overwrite later. "
		  "It counts in both classes, but once in parallel.memory, on the same device" },
	{ "parallel.block_activations", "B", BETTER_LOWER, 0,
	  "transformer: block inputs and tensors kept for the backward pass, on the device that "
	  "keeps most" },
	{ "parallel.block_activations_formula", "B", BETTER_NONE, 0,
	  "published activation memory (Korthikanti et al. 2022) with fused attention, 16 bits: 34 "
	  "s b h per block; s b h (10 + 24 / t) with tensor, 34 s b h / t with sequence "
	  "parallelism. It includes dropout masks (2 of 34), which gpuproof does not compute" },
	{ "parallel.block_activations_unfused", "B", BETTER_NONE, 0,
	  "published activation memory with unfused attention, which keeps 5 a s^2 b / t more per "
	  "block" },
	{ "parallel.largest_batch", "samples", BETTER_HIGHER, 1,
	  "largest global batch whose step fits every device", METRIC_EXACT },
	{ "parallel.predicted_largest", "samples", BETTER_NONE, 0,
	  "largest batch that the memory plan predicts before the first trial" },
	{ "parallel.trials", "1", BETTER_NONE, 0,
	  "number of trial steps of the search, including one that finds the budget and one after "
	  "an out-of-memory error" },
	{ "parallel.context", "B", BETTER_NONE, 0,
	  "memory of context, libraries and connections after a step with the smallest batch, on "
	  "the device with the most" },
	{ "parallel.budget", "B", BETTER_NONE, 0,
	  "memory budget for tensors: memory of the device - parallel.context - memory_reserve" },
	{ "parallel.gradient_error", "1", BETTER_LOWER, 0,
	  "relative L2 difference of the gradients from the double-precision reference",
	  METRIC_EXACT },
	{ "parallel.skipped_steps", "1", BETTER_LOWER, 0,
	  "number of steps that the dynamic loss scale skipped before the timed steps",
	  METRIC_EXACT },
	{ "parallel.loss_scale", "1", BETTER_NONE, 0, "dynamic loss scale of the timed steps" },
	{ "parallel.loss", "1", BETTER_NONE, 0,
	  "mean loss of the batch in the first step; all strategies and precisions start from the "
	  "same weights and samples" },
	ENERGY_METRICS("parallel", "one training step", "samples_per_joule", "samples/J",
		       "samples per step / energy of all devices per step"),
	{ 0 },
};

struct outcome parallel_outcome_open(const struct setup *setup)
{
	const size_t ranks = (size_t)setup->ranks;

	return (struct outcome){ .setup = setup,
				 .compute = xcalloc(ranks, sizeof(double)),
				 .update = xcalloc(ranks, sizeof(double)),
				 .memory = xcalloc(ranks, sizeof(uint64_t[MEMORY_CLASS_COUNT])),
				 .blocks = xcalloc(ranks, sizeof(struct block_memory)),
				 .communicator_bytes = xcalloc(ranks, sizeof(uint64_t)),
				 .timeline = { .computing = xcalloc(ranks, sizeof(double)) } };
}

void parallel_outcome_close(struct outcome *o)
{
	free(o->compute);
	free(o->update);
	free(o->memory);
	free(o->blocks);
	free(o->communicator_bytes);
	free(o->timeline.computing);
}

static double parallel_outcome_slowest_seconds(const double *seconds, int ranks)
{
	double slowest = 0;

	for (int rank = 0; rank < ranks; rank++)
		slowest = fmax(slowest, seconds[rank]);
	return slowest;
}

static void parallel_outcome_record_idle(struct run *run, const struct outcome *o)
{
	double step = statistics_series_level(&o->step), sum = 0;
	struct text t = TEXT_EMPTY;

	for (int rank = 0; rank < o->setup->ranks; rank++) {
		double idle = fmax(0, 1 - o->compute[rank] / step);

		sum += idle;
		text_addf(&t, "%s%.1f %%", rank ? ", " : "", 100 * idle);
	}
	run_value(run, "parallel.idle", sum / o->setup->ranks);
	run_note(run, "Idle per rank: %s.", t.data);
	text_release(&t);
}

/* The usual formula is printed for comparison: it assumes an ideal machine. */
static void parallel_outcome_record_bubble(struct run *run, const struct outcome *o,
					   const struct measured_schedule *schedule)
{
	double formula = o->setup->mode->bubble(o->setup);

	run_value(run, "parallel.bubble_model", formula);
	if (!isfinite(schedule->idle))
		return;
	run_value(run, "parallel.bubble_schedule", schedule->idle);
	run_value(run, "parallel.update_time",
		  parallel_outcome_slowest_seconds(o->update, o->setup->ranks));
	run_note(run,
		 "Pipeline bubble: %.1f %% of the step with the measured stages and messages; %.1f "
		 "%% in theory, for equal stages and messages that take no time.",
		 100 * schedule->idle, 100 * formula);
}

static void parallel_outcome_record_communication(struct run *run, const struct outcome *o)
{
	const struct measured_times times = { .compute = o->compute,
					      .update = o->update,
					      .communication =
						      statistics_series_level(&o->communication) };
	struct measured_schedule schedule = parallel_derived_schedule_measured(o->setup, &times);
	double exposed = fmax(0, statistics_series_level(&o->step) - schedule.seconds);

	run_value(run, "parallel.compute_time",
		  parallel_outcome_slowest_seconds(o->compute, o->setup->ranks));
	run_duration(run, "parallel.communication_time", &o->communication);
	run_value(run, "parallel.schedule_time", schedule.seconds);
	run_value(run, "parallel.exposed_communication", exposed);
	if (times.communication > 0)
		run_value(run, "parallel.overlap",
			  fmin(1, fmax(0, 1 - exposed / times.communication)));
	parallel_outcome_record_bubble(run, o, &schedule);
	run_value(run, "parallel.wire_bytes", o->setup->mode->wire_bytes(o->setup));
	run_rate(run, "parallel.bus_bandwidth", o->setup->mode->wire_bytes(o->setup),
		 &o->communication);
	parallel_outcome_record_idle(run, o);
}

static void parallel_outcome_record_speedup(struct run *run, const struct outcome *o)
{
	double single = statistics_series_level(&o->single), all = 0;

	run_duration(run, "parallel.single_time", &o->single);
	if (o->setup->weak) {
		run_quotient(run, "parallel.weak_efficiency", 1, &o->single, &o->step);
		return;
	}
	run_quotient(run, "parallel.speedup", 1, &o->single, &o->step);
	run_quotient(run, "parallel.efficiency", 1.0 / o->setup->ranks, &o->single, &o->step);
	if (single > SPEEDUP_SLACK * o->setup->ranks * statistics_series_level(&o->step))
		run_note(run,
			 "The step is more than %d times as fast on %d devices as on one: the "
			 "single-device time is doubtful, or the parts of the model fit into "
			 "caches and the whole model does not.",
			 o->setup->ranks, o->setup->ranks);
	for (int rank = 0; rank < o->setup->ranks; rank++)
		all += o->compute[rank];
	run_value(run, "parallel.added_work", all / single - 1);
}

void parallel_outcome_record_step(struct run *run, const struct outcome *o)
{
	const struct block_memory *blocks = o->blocks;
	int most = 0, ranks = o->setup->ranks;
	struct text t = TEXT_EMPTY;

	run_duration(run, "parallel.step_time", &o->step);
	if (o->has_burst) {
		run_duration(run, "parallel.burst_time", &o->burst);
		run_quotient(run, "parallel.sustained_share", 1, &o->burst, &o->step);
	}
	run_rate(run, "parallel.throughput",
		 (double)(o->setup->batch / setup_sample_rows(o->setup)), &o->step);
	if (setup_is_published_resnet50(o->setup))
		run_rate(run, "parallel.resnet50_rate", (double)o->setup->batch, &o->step);
	run_rate(run, "parallel.flops", model_flops(o->setup), &o->step);
	run_energy(run, "samples_per_joule", (double)o->setup->batch);
	for (int rank = 1; rank < o->setup->ranks; rank++)
		if (memory_classes_total(o->memory[rank]) > memory_classes_total(o->memory[most]))
			most = rank;
	memory_classes_record(run, o->memory[most]);
	memory_classes_describe_ranks(&t, o->memory, o->communicator_bytes, ranks);
	run_note(run, "Memory%s: %s.", ranks > 1 ? " of each rank" : "", t.data);
	text_release(&t);
	for (int rank = 1; rank < ranks; rank++)
		blocks = o->blocks[rank].kept > blocks->kept ? &o->blocks[rank] : blocks;
	if (blocks->kept > 0) {
		run_value(run, "parallel.block_activations", blocks->kept);
		run_value(run, "parallel.block_activations_formula", blocks->published);
		run_value(run, "parallel.block_activations_unfused", blocks->unfused);
	}
	if (o->setup->dynamic_scale) {
		run_value(run, "parallel.skipped_steps", (double)o->skipped);
		run_value(run, "parallel.loss_scale", o->loss_scale);
	}
	run_note(run, "Loss: %.6g in the first step, %.6g after %llu updates.", o->first_loss,
		 o->last_loss, (unsigned long long)o->updates);
}

void parallel_outcome_record_parts(struct run *run, const struct outcome *o)
{
	double others = 0;

	if (o->has_timeline) {
		/* From the recorded step: idle time caused by the schedule. */
		double idle = 0, inflation = 0;

		for (int rank = 0; rank < o->setup->ranks; rank++) {
			double computing = o->timeline.computing[rank];

			idle += fmax(0, 1 - computing / o->timeline.step) / o->setup->ranks;
			inflation = fmax(inflation, computing / o->compute[rank] - 1);
		}
		run_value(run, "parallel.bubble", idle);
		run_value(run, "parallel.compute_inflation", inflation);
	}
	for (int rank = 1; rank < o->setup->ranks; rank++)
		others += (double)memory_classes_total(o->memory[rank]) / (o->setup->ranks - 1);
	run_value(run, "parallel.imbalance", (double)memory_classes_total(o->memory[0]) / others);
	if (o->has_single)
		parallel_outcome_record_speedup(run, o);
	parallel_outcome_record_communication(run, o);
}

static void parallel_outcome_describe_widths(const struct setup *setup, struct text *t)
{
	const struct transformer_shape *shape = &setup->transformer;

	if (setup->kind == MODEL_TRANSFORMER)
		text_addf(t,
			  "transformer of %zu blocks, %llu wide, %llu heads, sequences of %llu of "
			  "%llu tokens",
			  setup->layers - 2, (unsigned long long)shape->hidden,
			  (unsigned long long)shape->heads, (unsigned long long)shape->sequence,
			  (unsigned long long)shape->vocabulary);
	if (setup_has_images(setup))
		text_addf(t, "%s%s of %llu, %llu channels, images of %llu x %llu",
			  setup->images.depthwise ? "depthwise " : "",
			  model_kind_names[setup->kind], (unsigned long long)setup->images.blocks,
			  (unsigned long long)setup->images.channels,
			  (unsigned long long)setup->images.image,
			  (unsigned long long)setup->images.image);
	for (size_t l = 0; l <= setup->layers && setup->kind == MODEL_MLP; l++)
		text_addf(t, "%s%llu", l ? "-" : "", (unsigned long long)setup->widths[l]);
}

void parallel_outcome_verified(struct run *run, const struct outcome *o)
{
	double tolerance = verify_tolerance(&o->small).gradient,
	       error = o->reference.gradient_error;
	struct text t = TEXT_EMPTY;

	text_addf(&t, "loss, gradients and two updates against double precision on the CPU (");
	parallel_outcome_describe_widths(&o->small, &t);
	text_addf(&t, ", batch %llu%s)",
		  (unsigned long long)(o->small.batch / setup_sample_rows(&o->small)),
		  o->reference_is_full ? "" : "; smaller than the timed model");
	if (o->compared_with_single) {
		double full = verify_tolerance(o->setup).gradient;

		text_addf(&t, "; loss and gradients of the timed model against a single device");
		run_note(run,
			 "Gradients of the timed model differ from those of a single device by "
			 "%.2e (relative L2; allowed %.2e).",
			 o->against_single.gradient_error, full);
		if (o->against_single.gradient_error / full > error / tolerance) {
			error = o->against_single.gradient_error;
			tolerance = full;
		}
	}
	if (o->setup->mode->replicated && o->setup->ranks > 1)
		text_addf(&t, "; replicas bitwise equal");
	if (o->reference.mask_error > 0)
		run_note(run,
			 "ReLU inputs whose sign differs from double precision are %.1e of a layer "
			 "(relative L2; allowed %.1e).",
			 o->reference.mask_error, verify_tolerance(&o->small).masks);
	run_verified(run, t.data, error, tolerance);
	run_value(run, "parallel.gradient_error", o->reference.gradient_error);
	run_value(run, "parallel.loss", o->first_loss);
	text_release(&t);
}

/* Presentation of divided training steps on pages. */

/* A bar for each strategy, where a page has no table of them (pages/strategies.c). */
#define STRATEGIES .kind = "bars", .bars = { "mode", "devices", "microbatches", "bucket" }

const struct figure_row parallel_figures[] = {
	{ .metric = "parallel.step_time",
	  STRATEGIES,
	  .logarithmic = true,
	  .means = "Time of one training step on the slowest device" },
	{ .metric = "parallel.speedup",
	  STRATEGIES,
	  .reference = 1,
	  .ideal = "devices",
	  .means = "Time of the same step on one device, measured in the same case / step time" },
	{ .metric = "parallel.efficiency", STRATEGIES, .means = "Speed-up / number of devices" },
	{ .metric = "parallel.weak_efficiency",
	  STRATEGIES,
	  .means = "Time on one device with its part of the batch / step time" },
	{ .metric = "parallel.exposed_communication",
	  STRATEGIES,
	  .means = "Fraction of the step time that neither computation nor the pipeline bubble "
		   "hides" },
	{ .metric = "parallel.idle",
	  STRATEGIES,
	  .means = "Part of the step time in which a device does not compute, mean over the "
		   "devices" },
	{ .metric = "parallel.energy",
	  STRATEGIES,
	  .means = "Energy per training step, all devices together" },
	{ .metric = "parallel.largest_batch",
	  STRATEGIES,
	  .means = "Largest global batch whose step fits every device, found by trial" },
	{ .metric = "parallel.memory",
	  .kind = "stacked",
	  .parts = "parallel.memory_",
	  .overlap = { "shared", "activations", MEMORY_SHARED_NOTE } },
	{ 0 },
};

const struct table_row parallel_tables[] = {
	ENERGY_TABLE("parallel", "step_time", "samples_per_joule"),
	{ .title = "Sustained and burst step time",
	  .columns = { "parallel.sustained_share", "parallel.step_time", "parallel.burst_time" },
	  .note = "Step time: mean over seconds of sustained load. Burst: first samples after a "
		  "rest." },
	{ .title = "Largest batch that fits, by strategy and memory per GPU",
	  .columns = { "parallel.largest_batch", "parallel.predicted_largest", "parallel.trials",
		       "parallel.memory", "parallel.context", "parallel.budget" },
	  .without = { "study" } },
	{ 0 },
};

const struct word_row parallel_words[] = {
	PRECISION_WORDS,
	{ "aliasing", "off", "no aliasing" },
	TRANSPORT_WORDS,
	{ "overlap", "off", "without overlap" },
	{ "mode", "ddp", "DDP" },
	{ "mode", "gpipe", "GPipe" },
	{ "mode", "1f1b", "1F1B" },
	{ "mode", "1f1b_eager", "eager 1F1B" },
	{ "mode", "zero1", "ZeRO-1" },
	{ "mode", "zero2", "ZeRO-2" },
	{ "mode", "zero3", "ZeRO-3" },
	{ "mode", "tensor_sequence", "tensor and sequence parallel" },
	{ "mode", "dp_naive", "naive data parallel" },
	{ 0 },
};

const struct role_row parallel_roles[] = {
	{ "nodes", ROLE_NODES },
	{ 0 },
};

const struct sheet_row parallel_sheet[] = {
	{ .metric = "parallel.resnet50_rate",
	  .only = { "precision", "fp32" },
	  .quantity = "training_rate",
	  .workload = "ResNet-50, FP32" },
	{ .metric = "parallel.resnet50_rate",
	  .only = { "precision", "tf32" },
	  .quantity = "training_rate",
	  .workload = "ResNet-50, TF32" },
	{ .metric = "parallel.resnet50_rate",
	  .only = { "precision", "fp16_mixed" },
	  .quantity = "training_rate",
	  .workload = "ResNet-50, mixed precision" },
	{ 0 },
};
