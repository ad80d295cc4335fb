/* Suites for tests of the config and the plan: a key of every type, nothing real. */
#ifndef GPUPROOF_TESTS_CONFIG_SUITES_H
#define GPUPROOF_TESTS_CONFIG_SUITES_H

#include "plan/plan.h"
#include "plan/schema.h"

static const char *const directions[] = { "up", "down", "both", NULL };
static const char *const precisions[] = { "fp64", "fp32", "fp16", NULL };

static const struct key copy_keys[] = {
	{ .name = "sizes", .type = KEY_SIZE, .list = true,
	  .fallback = "1KiB..16KiB *4", .min = 1, .max = 0x1p40,
	  .help = "bytes of one copy" },
	{ .name = "directions", .type = KEY_CHOICE, .list = true,
	  .fallback = "up, down", .choices = directions,
	  .help = "which way" },
	{ .name = "verify", .type = KEY_BOOL, .fallback = "yes", .help = "compare every byte" },
	{ .name = "note", .type = KEY_TEXT, .fallback = "", .help = "free text" },
	{ 0 }
};

static const struct key gemm_keys[] = {
	{ .name = "sizes", .type = KEY_SHAPE, .list = true,
	  .fallback = "256", .min = 1, .max = 65536,
	  .help = "M x N x K" },
	{ .name = "precisions", .type = KEY_CHOICE, .list = true,
	  .fallback = "fp32", .choices = precisions,
	  .help = "of the operands" },
	{ .name = "tolerance", .type = KEY_REAL, .fallback = "0.001", .min = 0, .max = 1,
	  .help = "of the result" },
	{ 0 }
};

static const struct key train_keys[] = {
	{ .name = "layers", .type = KEY_INTEGER, .list = true,
	  .fallback = "100, 200, 100", .min = 1, .max = 1e6,
	  .help = "widths, input first" },
	{ .name = "devices", .type = KEY_INTEGER, .list = true,
	  .fallback = "1, 2", .min = 1, .max = 16,
	  .help = "how many" },
	{ .name = "batch", .type = KEY_INTEGER, .min = 1, .max = 65536,
	  .help = "samples per step" },
	{ .name = "timeout", .type = KEY_DURATION, .fallback = "1.5 s", .min = 0, .max = 3600,
	  .help = "of a step" },
	{ .name = "count", .type = KEY_INTEGER, .fallback = "0", .help = "of something" },
	{ 0 }
};

static const struct key test_sampling_keys[] = {
	{ .name = "min_samples", .type = KEY_INTEGER, .fallback = "10", .min = 1, .max = 1e6,
	  .help = "at least" },
	{ .name = "max_samples", .type = KEY_INTEGER, .fallback = "200", .min = 1, .max = 1e6,
	  .help = "at most" },
	{ .name = "target", .type = KEY_PERCENT, .fallback = "0.5 %", .min = 1e-5, .max = 1,
	  .help = "half width" },
	{ .name = "max_time", .type = KEY_DURATION, .fallback = "500 ms", .min = 1e-3, .max = 3600,
	  .help = "in all" },
	{ .name = "settle_time", .type = KEY_DURATION, .fallback = "0s", .min = 0, .max = 3600,
	  .help = "beyond that, of what drifts" },
	{ .name = "sample_time", .type = KEY_DURATION, .fallback = "1 ms", .min = 1e-6, .max = 10,
	  .help = "of one" },
	{ .name = "warmup", .type = KEY_INTEGER, .fallback = "2", .min = 0, .max = 1e6,
	  .help = "untimed" },
	{ .name = "preheat", .type = KEY_DURATION, .fallback = "0s", .min = 0, .max = 3600, .help = "untimed work" },
	{ 0 }
};

static const struct metric copy_metrics[] = {
	{ "copy.bandwidth", "B/s", BETTER_HIGHER, 1, "bytes per second" },
	{ "copy.time", "s", BETTER_LOWER, 0, "one copy" },
	{ "copy.memory", "B", BETTER_LOWER, 0, "held" },
	{ "copy.kind", "1", BETTER_NONE, 0, "neither good nor bad" },
	{ 0 }
};

static const struct metric gemm_metrics[] = {
	{ "gemm.throughput", "FLOP/s", BETTER_HIGHER, 1, "operations per second" },
	{ "gemm.error", "1", BETTER_LOWER, 0, "against the reference" },
	{ 0 }
};

static const char *const copy_axes[] = { "directions", "sizes", NULL };
static const char *const gemm_axes[] = { "precisions", "sizes", NULL };
static const char *const train_axes[] = { "devices", NULL };

static enum status expand_each(struct plan *plan, struct plan_case *point, struct error *err)
{
	return plan_add_each(plan, point, err);
}

static enum status expand_copy(struct plan *plan, struct plan_case *point, struct error *err)
{
	point->device_bytes = (uint64_t)case_integer(point, "sizes");
	point->setup_seconds = 0.25;
	return plan_add_each(plan, point, err);
}

/* On the first N devices; more than there are is asked for and impossible. */
static enum status expand_train(struct plan *plan, struct plan_case *point, struct error *err)
{
	size_t wanted = (size_t)case_integer(point, "devices");
	size_t devices[16];
	size_t there = wanted < plan->device_count ? wanted : plan->device_count;

	for (size_t i = 0; i < there; i++)
		devices[i] = i;
	if (there < wanted)
		return plan_add_skipped(plan, point, devices, there, "not that many devices here", err);
	return plan_add(plan, point, devices, there, err);
}

static const struct suite copy_suite = {
	.name = "copy", .summary = "copies", .keys = copy_keys,
	.axes = copy_axes, .metrics = copy_metrics, .expand = expand_copy,
};
static const struct suite gemm_suite = {
	.name = "gemm", .summary = "products", .keys = gemm_keys,
	.axes = gemm_axes, .metrics = gemm_metrics, .expand = expand_each,
};
static const struct suite train_suite = {
	.name = "train", .summary = "steps", .keys = train_keys,
	.axes = train_axes, .expand = expand_train,
};
static const struct suite *const test_suites[] = { &copy_suite, &gemm_suite, &train_suite, NULL };
static const struct schema test_schema = { .suites = test_suites, .sampling = test_sampling_keys };

#endif
