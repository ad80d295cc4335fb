/*
 * Matrix products C = A B in each precision. All matrices are column-major and not transposed; A is
 * m x k, B k x n. Operands are uniform in [-1, 1) (never zeros: some GPUs clock higher on them).
 *
 * What a product costs in memory is told three ways: the operands, the library's workspace, and
 * what the device has less than before.
 */
#include <stdio.h>

#include "base/units.h"
#include "measure/run.h"
#include "suites/matmul/operands.h"
#include "suites/suite.h"

/* Room for the library's workspace in the plan. */
#define LIBRARY_BYTES (UINT64_C(64) << 20)
/* FLOP/s of an ordinary core; a multiprocessor has more. For estimates of time only. */
#define UNIT_RATE 50e9

static const char *const precisions[] = { "fp64", "fp32", "tf32", "fp16", "bf16", NULL };

static const struct key keys[] = {
	{ .name = "precisions",
	  .type = KEY_CHOICE,
	  .list = true,
	  .fallback = "fp32, fp16, tf32, bf16",
	  .choices = precisions,
	  .parameter = "precision",
	  .help = "how operands and result are stored; tf32: FP32 storage; fp16, bf16: FP32 "
		  "accumulation" },
	{ .name = "sizes",
	  .type = KEY_SHAPE,
	  .list = true,
	  .fallback = "256, 1024, 4096, 4096x256x1024",
	  .min = 1,
	  .max = 1 << 20,
	  .parameter = "size",
	  .help = "N for N x N x N, or MxNxK: C is M x N, K is summed over" },
	{ 0 },
};

static const char *const axes[] = { "precisions", "sizes", NULL };

static const struct metric metrics[] = {
	{ "matmul.throughput", "FLOP/s", BETTER_HIGHER, 1,
	  "2 m n k operations over the time of one product" },
	{ "matmul.time", "s", BETTER_LOWER, 0, "one product" },
	{ "matmul.memory", "B", BETTER_LOWER, 0, "A, B and C as stored" },
	{ "matmul.workspace", "B", BETTER_LOWER, 0, "scratch memory that the library works in" },
	{ "matmul.device_memory", "B", BETTER_LOWER, 0,
	  "what the device has less than before: all sets of operands, workspace, kernels loaded "
	  "for this product" },
	{ "matmul.error", "1", BETTER_LOWER, 0,
	  "relative Frobenius norm of the error against a double-precision product of the operands "
	  "as stored" },
	{ "matmul.error_total", "1", BETTER_LOWER, 0,
	  "the same against the operands before they were rounded from FP32: what a lower "
	  "precision costs in all" },
	{ 0 },
};

static const unsigned capabilities[PRECISION_COUNT] = {
	[PRECISION_FP64] = DEVICE_HAS_FP64, [PRECISION_FP32] = DEVICE_HAS_FP32,
	[PRECISION_TF32] = DEVICE_HAS_TF32, [PRECISION_FP16] = DEVICE_HAS_FP16,
	[PRECISION_BF16] = DEVICE_HAS_BF16,
};

static double operations(const int64_t shape[3])
{
	return 2.0 * (double)shape[0] * (double)shape[1] * (double)shape[2];
}

/* The reference reads each element of the three matrices a few times on one core. */
static void estimate(struct plan_case *point, enum precision precision,
		     const struct device_info *info)
{
	const int64_t *shape = case_value(point, "sizes")->shape;
	size_t sets = operands_set_count(shape, precision, info);
	uint64_t counts[OPERANDS];
	double units = info->multiprocessors > 0 ? info->multiprocessors : 1;
	double products = (double)section_integer(point->section, "min_samples") +
			  (double)section_integer(point->section, "warmup") + 2 * (double)sets + 4;

	operands_counts(shape, counts);
	point->device_bytes = sets * operands_set_bytes(shape, precision) + LIBRARY_BYTES;
	point->host_bytes = counts[OPERAND_C] * precision_bytes(precision);
	point->setup_seconds = 0.1 + products * operations(shape) / (units * UNIT_RATE) +
			       20e-9 * (double)(counts[OPERAND_A] + counts[OPERAND_B] +
						2 * sets * counts[OPERAND_C]);
}

static enum status matmul_expand(struct plan *plan, struct plan_case *point, struct error *err)
{
	enum precision precision = PRECISION_FP32;
	char reason[128];

	precision_from_name(case_text(point, "precisions"), &precision);
	for (size_t i = 0; i < plan->device_count; i++) {
		const struct device_info *info = &plan->devices[i];
		enum status status;

		estimate(point, precision, info);
		snprintf(reason, sizeof(reason), "%s has no %s matrix multiplication", info->id,
			 precision_name(precision));
		status = info->capabilities & capabilities[precision]
				 ? plan_add(plan, point, &i, 1, err)
				 : plan_add_skipped(plan, point, &i, 1, reason, err);
		if (status != STATUS_OK)
			return status;
	}
	return STATUS_OK;
}

static enum status launch_products(void *state, unsigned batch, struct error *err)
{
	return operands_multiply(state, batch, err);
}

static enum status measure(struct run *run, struct operands *o, struct error *err)
{
	struct workload w = { .state = o,
			      .launch = launch_products,
			      .clock = CLOCK_DEVICE,
			      .streams = &o->stream,
			      .stream_count = 1,
			      .commands = 2 }; /* the product and the sum of its parts */
	const struct series *time;

	if (run_sample(run, &w, "matmul.time", &time, err) != STATUS_OK)
		return err->status;
	run_rate(run, "matmul.throughput", operations(o->shape), time);
	run_duration(run, "matmul.time", time);
	return STATUS_OK;
}

/*
 * What is free on the device; 0: unknown, or the memory of the whole machine, which others use as
 * well.
 */
static uint64_t free_bytes(struct device *device)
{
	struct error unknown = ERROR_NONE;
	uint64_t bytes = 0, total;

	if (device->info.capabilities & DEVICE_SHARES_HOST_MEMORY)
		return 0;
	return backend_device_memory(device, &bytes, &total, &unknown) == STATUS_OK ? bytes : 0;
}

static void record_memory(struct run *run, const struct operands *o, uint64_t free_before)
{
	struct device *device = run->devices[0];
	const struct backend *backend = device->backend;
	uint64_t free_after = free_bytes(device), bytes = 0;

	for (int i = 0; i < OPERANDS; i++)
		bytes += o->counts[i] * precision_bytes(o->precision);
	run_value(run, "matmul.memory", (double)bytes);
	run_value(run, "matmul.workspace",
		  backend->gemm_workspace ? (double)backend->gemm_workspace(device) : 0);
	if (free_before > 0 && free_after > 0)
		run_value(run, "matmul.device_memory", (double)free_before - (double)free_after);
}

static void record_error(struct run *run, const struct operands *o)
{
	const char *full =
		"every element against a double-precision product, before and after timing";
	const char *sums = "eight signed sums of every row against a double-precision product, "
			   "before and after timing";

	run_value(run, "matmul.error", o->error.stored);
	run_value(run, "matmul.error_total", o->error.total);
	run_verified(run, o->reference.width == 1 ? full : sums, o->error.stored,
		     o->reference.tolerance);
}

static void note_cache(struct run *run, const struct operands *o)
{
	uint64_t cache = run->devices[0]->info.l2_bytes;
	char size[32];

	units_size(cache, size, sizeof(size));
	if (o->sets > 1)
		run_note(run, "Rotates over %zu sets of operands: one would stay in the %s cache.",
			 o->sets, size);
	if (o->sets * operands_set_bytes(o->shape, o->precision) < cache)
		run_note(run, "All sets together still fit in it.");
}

/*
 * A first product in a stream of its own, so that what the library keeps for good is not counted to
 * the case that happens to be the first.
 */
static enum status load_library(struct run *run, enum precision precision, struct error *err)
{
	static const int64_t shape[3] = { 16, 16, 16 };
	struct operands o;

	if (operands_open(&o, run->devices[0], precision, shape, run->seed, err) == STATUS_OK &&
	    operands_multiply(&o, 1, err) == STATUS_OK)
		backend_stream_synchronize(o.stream, err);
	operands_close(&o);
	return err->status;
}

static enum status matmul_run(struct run *run, struct error *err)
{
	const int64_t *shape = case_value(run->c, "sizes")->shape;
	enum precision precision = PRECISION_FP32;
	struct operands o = { .stream = NULL };
	uint64_t free_before;

	precision_from_name(case_text(run->c, "precisions"), &precision);
	if (load_library(run, precision, err) != STATUS_OK)
		return err->status;
	free_before = free_bytes(run->devices[0]);
	if (operands_open(&o, run->devices[0], precision, shape, run->seed, err) != STATUS_OK)
		goto out;
	if (operands_verify(&o, err) != STATUS_OK) {
		error_prefix(err, "before timing");
		goto out;
	}
	note_cache(run, &o);
	record_memory(run, &o, free_before);
	if (measure(run, &o, err) != STATUS_OK)
		goto out;
	if (operands_check(&o, err) == STATUS_OK)
		record_error(run, &o);
	else
		error_prefix(err, "after timing");
out:
	operands_close(&o);
	return err->status;
}

const struct suite suite_matmul = {
	.name = "matmul",
	.summary = "matrix products: throughput, memory and error of each precision",
	.keys = keys,
	.axes = axes,
	.metrics = metrics,
	.processes = SUITE_ONE_PROCESS,
	.expand = matmul_expand,
	.run = matmul_run,
};
