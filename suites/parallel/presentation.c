/* How pages show split training steps. */
#include "suites/parallel/classes.h"
#include "suites/parallel/outcome.h"
#include "suites/shared/energy.h"
#include "suites/shared/words.h"

/* A bar for each strategy. */
#define STRATEGIES .kind = "bars", .bars = { "mode", "devices", "microbatches", "bucket" }

const struct figure_row parallel_figures[] = {
	{ .metric = "parallel.step_time",
	  STRATEGIES,
	  .means = "One training step on the slowest device" },
	{ .metric = "parallel.speedup",
	  STRATEGIES,
	  .reference = 1,
	  .ideal = "devices",
	  .means = "Time of the same step on one device (measured in the same case) / step time" },
	{ .metric = "parallel.efficiency", STRATEGIES, .means = "Speed-up / number of devices" },
	{ .metric = "parallel.weak_efficiency",
	  STRATEGIES,
	  .means = "Time of one device with its part of the batch / step time" },
	{ .metric = "parallel.prediction_error",
	  STRATEGIES,
	  .means = "Predicted step time / measured one \u2212 1; best at 0" },
	{ .metric = "parallel.exposed_communication",
	  STRATEGIES,
	  .means = "Part of the step that neither computing nor the schedule's idle time hides" },
	{ .metric = "parallel.idle",
	  STRATEGIES,
	  .means = "Part of the step in which a device does not compute, mean over the devices" },
	{ .metric = "parallel.energy",
	  STRATEGIES,
	  .means = "Energy of one training step, of all its devices together" },
	{ .metric = "parallel.memory",
	  .kind = "stacked",
	  .parts = "parallel.memory_",
	  .overlap = { "shared", "activations", MEMORY_SHARED_NOTE } },
	{ 0 },
};

const struct table_row parallel_tables[] = {
	ENERGY_TABLE("parallel", "step_time", "samples_per_joule"),
	{ 0 },
};

const struct word_row parallel_words[] = {
	PRECISION_WORDS,
	TRANSPORT_WORDS,
	{ "overlap", "off", "without overlap" },
	{ "mode", "ddp", "DDP" },
	{ "mode", "gpipe", "GPipe" },
	{ "mode", "1f1b", "1F1B" },
	{ "mode", "1f1b_eager", "eager 1F1B" },
	{ "mode", "zero1", "ZeRO-1" },
	{ "mode", "zero2", "ZeRO-2" },
	{ "mode", "zero3", "ZeRO-3" },
	{ "mode", "dp_naive", "naive data parallel" },
	{ 0 },
};

const struct role_row parallel_roles[] = {
	{ "parallel.step_time", ROLE_STEP_TIME },
	{ "parallel.memory", ROLE_STRATEGY_MEMORY },
	{ "parallel.single_time", ROLE_SINGLE_TIME },
	{ "parallel.speedup", ROLE_SPEEDUP },
	{ "parallel.compute_time", ROLE_COMPUTE_TIME },
	{ "parallel.schedule_time", ROLE_SCHEDULE_TIME },
	{ "parallel.bubble_model", ROLE_IDLE_BY_FORMULA },
	{ "parallel.predicted_time", ROLE_PREDICTED_TIME },
	{ "parallel.critical_batch", ROLE_CRITICAL_BATCH },
	{ "parallel.critical_width", ROLE_CRITICAL_WIDTH },
	{ "parallel.flops", ROLE_FLOPS },
	{ "parallel.mfu", ROLE_MODEL_UTILISATION },
	{ "parallel.hfu", ROLE_HARDWARE_UTILISATION },
	{ "mode", ROLE_MODE },
	{ "devices", ROLE_RANKS },
	{ "microbatches", ROLE_STRATEGY },
	{ "bucket", ROLE_STRATEGY },
	{ "hybrid", ROLE_STRATEGY },
	{ "transport", ROLE_STRATEGY },
	{ "launch", ROLE_STRATEGY },
	{ "overlap", ROLE_STRATEGY },
	{ "batch", ROLE_BATCH },
	{ "batch_mode", ROLE_BATCH_PER_DEVICE, "weak" },
	{ "width", ROLE_WIDTH },
	{ "precision", ROLE_SHEET_RATE, "tf32", "tf32_tensor" },
	{ "precision", ROLE_SHEET_RATE, "fp16_mixed", "fp16_tensor" },
	{ "precision", ROLE_SHEET_RATE, "fp16_storage", "fp16_tensor" },
	{ "precision", ROLE_SHEET_RATE, "bf16_mixed", "bf16_tensor" },
	{ "precision", ROLE_SHEET_RATE, "fp32", "fp32" },
	{ "precision", ROLE_SHEET_RATE, "fp64", "fp64_tensor" },
	{ "layers", ROLE_LAYERS },
	{ "depth", ROLE_DEPTH },
	{ "optimizer", ROLE_UNUSUAL, "adam" },
	{ "accumulate", ROLE_UNUSUAL, "1" },
	{ "recompute", ROLE_UNUSUAL, "none" },
	{ 0 },
};
