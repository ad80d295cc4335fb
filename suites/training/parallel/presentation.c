/* Presentation of divided training steps on pages. */
#include "suites/training/parallel/classes.h"
#include "suites/training/parallel/outcome.h"
#include "suites/shared/energy.h"
#include "suites/shared/words.h"

/* A bar for each strategy. */
#define STRATEGIES .kind = "bars", .bars = { "mode", "devices", "microbatches", "bucket" }

const struct figure_row parallel_figures[] = {
	{ .metric = "parallel.step_time",
	  STRATEGIES,
	  .logarithmic = true,
	  .means = "One training step on the slowest device" },
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
	  .means = "Share of the step that neither computation nor the pipeline bubble hides" },
	{ .metric = "parallel.idle",
	  STRATEGIES,
	  .means = "Share of the step without computation, mean over the devices" },
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
	{ .title = "Sustained and burst",
	  .columns = { "parallel.sustained_share", "parallel.step_time", "parallel.burst_time" },
	  .note = "Step time: mean over seconds of load. Burst: after a rest." },
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
