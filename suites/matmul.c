/*
 * GEMM C = op(A) op(B) in each precision. All matrices are column-major; op(A) is m x k, op(B) k x
 * n. Operands are uniform in [-scale, scale) (never zeros: some GPUs clock higher on them).
 *
 * Three metrics report the memory of a GEMM: the operands, the library's workspace, and the
 * decrease of the device's free memory.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "base/units.h"
#include "device/architecture.h"
#include "plan/suite.h"
#include "suites/matmul/matmul.h"
#include "suites/shared/energy.h"
#include "suites/shared/sustained.h"
#include "suites/shared/words.h"

static const char *const precisions[] = { "fp64",
					  "fp32",
					  "tf32",
					  "fp16",
					  "bf16",
					  "fp16_acc16",
					  "fp8",
					  "fp8_fast",
					  "fp8_e5m2_e4m3",
					  "fp8_e5m2_e4m3_fast",
					  "fp8_e4m3_e5m2",
					  "fp8_e4m3_e5m2_fast",
					  "fp8_rows",
					  "fp8_1x128",
					  "fp8_1x128_128x128",
					  "fp8_128x128_1x128",
					  "int8",
					  NULL };
static const char *const implementations[] = { "blas", "lt", "simt", "half2", "tensor", NULL };
static const char *const transposes[] = { "nn", "tn", "nt", "tt", NULL };

static const struct key keys[] = {
	{ .name = "precisions",
	  .type = KEY_CHOICE,
	  .list = true,
	  .fallback = "fp32, fp16, tf32, bf16",
	  .choices = precisions,
	  .parameter = "precision",
	  .help = "precision of operands and result; tf32: FP32 storage; fp16, bf16: FP32 "
		  "accumulation; fp16_acc16: FP16 accumulation; fp8: E4M3 operands, FP16 result; "
		  "fp8_e5m2_e4m3, fp8_e4m3_e5m2: one operand is E5M2; ..._fast: tensor cores "
		  "accumulate with fewer bits; fp8_rows: an FP32 scale for each row of A and "
		  "column of B; fp8_1x128, fp8_1x128_128x128, fp8_128x128_1x128: one for 128 "
		  "elements along K, or for a block of 128 x 128, of A and B; int8: INT32 "
		  "result" },
	{ .name = "sizes",
	  .type = KEY_SHAPE,
	  .list = true,
	  .fallback = "256, 1024, 4096, 4096x256x1024",
	  .min = 1,
	  .max = 1 << 20,
	  .parameter = "size",
	  .help = "N for N x N x N, or MxNxK: C is M x N, column-major, and each element is a sum "
		  "over K" },
	{ .name = "implementations",
	  .type = KEY_CHOICE,
	  .list = true,
	  .fallback = "blas",
	  .choices = implementations,
	  .parameter = "implementation",
	  .help = "blas: cublasGemmEx, on the CPU OpenBLAS; lt: cuBLASLt, autotuned; built-in "
		  "kernels: simt (fp32), half2 (fp16_acc16), tensor (fp16, bf16)" },
	{ .name = "transposes",
	  .type = KEY_CHOICE,
	  .list = true,
	  .fallback = "nn",
	  .choices = transposes,
	  .parameter = "transpose",
	  .help = "whether A and B are stored transposed (t) or not (n)" },
	{ .name = "batch",
	  .type = KEY_INTEGER,
	  .list = true,
	  .fallback = "1",
	  .min = 1,
	  .max = 65535,
	  .help = "number of GEMMs of the same shape per call (batched GEMM)" },
	{ .name = "scales",
	  .type = KEY_REAL,
	  .list = true,
	  .fallback = "1",
	  .min = 1e-9,
	  .max = 32768,
	  .parameter = "scale",
	  .help = "operands are uniform in [-scale, scale). Other values than 1 show where FP16 "
		  "overflows or loses digits (up to 1024 x 1024 x 1024); FP8 has a scale per "
		  "tensor" },
	{ .name = "search_time",
	  .type = KEY_DURATION,
	  .fallback = "1s",
	  .min = 0,
	  .max = 3600,
	  .help = "implementation lt: time for autotuning before the measurement" },
	SUSTAINED_KEY,
	{ .name = "concurrent",
	  .type = KEY_BOOL,
	  .fallback = "no",
	  .help = "yes: all devices sample the same GEMM at the same time, each at its own pace; a "
		  "device can be faster or slower than alone" },
	{ 0 },
};

static const char *const axes[] = { "precisions", "sizes", "implementations", "transposes", "batch",
				    "scales",     NULL };

static const struct metric_kind_row precisions_by_kind[] = { WITHOUT_TENSOR_CORES };

static const struct metric metrics[] = {
	{ "matmul.throughput", "FLOP/s", BETTER_HIGHER, 1,
	  "2 m n k operations per GEMM / time; the sustained rate if it was measured",
	  METRIC_TENSOR, .kinds = precisions_by_kind },
	{ "matmul.time", "s", BETTER_LOWER, 0,
	  "time of one call at matmul.throughput: one GEMM, or a batch" },
	SUSTAINED_METRICS("matmul", METRIC_TENSOR, .kinds = precisions_by_kind),
	{ "matmul.memory", "B", BETTER_LOWER, 0,
	  "bytes of A, B and C as stored, and of their scales" },
	{ "matmul.nonfinite", "1", BETTER_NONE, 0,
	  "scale other than 1: fraction of the results that overflow", METRIC_EXACT },
	{ "matmul.subnormal", "1", BETTER_NONE, 0,
	  "scale other than 1: fraction of the operands stored as subnormal numbers or zero",
	  METRIC_EXACT },
	{ "matmul.candidates", "1", BETTER_NONE, 0,
	  "implementation lt: number of algorithms that autotuning timed" },
	{ "matmul.search_gain", "1", BETTER_HIGHER, 0,
	  "implementation lt: time of the library's first choice / time of the fastest algorithm" },
	{ "matmul.workspace", "B", BETTER_LOWER, 0, "workspace of the library" },
	{ "matmul.device_memory", "B", BETTER_LOWER, 0,
	  "device memory used by all operand sets, the workspace and the kernels of this GEMM" },
	{ "matmul.error", "1", BETTER_LOWER, 0,
	  "rounding error of the GEMM: relative Frobenius norm of the difference from a "
	  "double-precision GEMM of the stored operands",
	  METRIC_EXACT },
	{ "matmul.error_total", "1", BETTER_LOWER, 0,
	  "total error of the precision: relative Frobenius norm of the difference from a "
	  "double-precision GEMM of the operands before they were rounded from FP32",
	  METRIC_EXACT },
	ENERGY_METRICS("matmul", "energy of one call (one GEMM, or one batch)", "flops_per_joule",
		       "FLOP/J", "2 m n k operations per GEMM / energy"),
	{ 0 },
};

/* FP16 relative to FP32, below each chart. */
#define BY_PRECISION \
	.kind = "bars", .bars = { "precision" }, .compare = { "precision", "fp16", "fp32" }

static const struct figure_row figures[] = {
	{ .metric = "matmul.throughput", BY_PRECISION },
	{ .metric = "matmul.memory", BY_PRECISION },
	{ .metric = "matmul.error", .logarithmic = true, BY_PRECISION },
	{ .metric = "matmul.flops_per_joule", BY_PRECISION },
	{ 0 },
};

static const struct table_row tables[] = {
	SUSTAINED_TABLE("matmul"),
	ENERGY_TABLE("matmul", "throughput", "flops_per_joule"),
	{ 0 },
};

static const struct word_row words[] = {
	PRECISION_WORDS,
	{ "precision", "fp8_fast", "FP8, fast sums" },
	{ "precision", "fp8_e5m2_e4m3", "FP8, E5M2 x E4M3" },
	{ "precision", "fp8_e5m2_e4m3_fast", "FP8, E5M2 x E4M3, fast sums" },
	{ "precision", "fp8_e4m3_e5m2", "FP8, E4M3 x E5M2" },
	{ "precision", "fp8_e4m3_e5m2_fast", "FP8, E4M3 x E5M2, fast sums" },
	{ "precision", "fp8_rows", "FP8, scales per row" },
	{ "precision", "fp8_1x128", "FP8, scales per 1x128" },
	{ "precision", "fp8_1x128_128x128", "FP8, scales per 1x128, 128x128" },
	{ "precision", "fp8_128x128_1x128", "FP8, scales per 128x128, 1x128" },
	{ "implementation", "blas", "BLAS" },
	{ "implementation", "lt", "cuBLASLt, autotuned" },
	{ "implementation", "simt", "built-in kernel, FP32 units" },
	{ "implementation", "half2", "built-in kernel, half2" },
	{ "implementation", "tensor", "built-in kernel, tensor cores" },
	{ 0 },
};

static const struct aspect_row aspects[] = {
	{ "matmul.throughput", NULL, NULL, ASPECT_GEMM, .task = "{PRECISION} GEMM",
	  .group = "GEMM types", .variant = "{PRECISION}" },
	{ "matmul.error", NULL, NULL, ASPECT_CORRECTNESS },
	{ "matmul.error_total", NULL, NULL, ASPECT_CORRECTNESS },
	{ 0 },
};

static const struct role_row roles[] = {
	{ "matmul.throughput", ROLE_RATE },
	{ "matmul.time", ROLE_WORK_TIME },
	{ "matmul.memory", ROLE_WORK_BYTES },
	{ "precision", ROLE_PRECISION },
	{ 0 },
};

/* From 8.0 on, cuBLAS computes FP64 with tensor cores. */
#define RATES_OF_SHEETS(metric)                                                                \
	{ metric, { "precision", "fp64" }, 0, 79, .quantity = "gemm_fp64" },                   \
		{ metric, { "precision", "fp64" }, 80, .quantity = "gemm_fp64_tensor" },       \
		{ metric, { "precision", "fp32" }, .quantity = "gemm_fp32" },                  \
		{ metric, { "precision", "tf32" }, 80, .quantity = "gemm_tf32" },              \
		{ metric, { "precision", "fp16" }, 0, 69, .quantity = "gemm_fp16_storage" },   \
		{ metric, { "precision", "fp16" }, 70, .quantity = "gemm_fp16_tensor" },       \
		{ metric, { "precision", "fp16_acc16" }, 53, 69, .quantity = "gemm_fp16" },    \
		{ metric, { "precision", "bf16" }, 80, .quantity = "gemm_bf16" },              \
		{ metric, { "precision", "fp8_fast" }, 89, .quantity = "gemm_fp8" },           \
		{ metric, { "precision", "fp8_e5m2_e4m3" }, 89, .quantity = "gemm_fp8" },      \
		{ metric, { "precision", "fp8_e5m2_e4m3_fast" }, 89, .quantity = "gemm_fp8" }, \
		{ metric, { "precision", "fp8_e4m3_e5m2" }, 89, .quantity = "gemm_fp8" },      \
		{ metric, { "precision", "fp8_e4m3_e5m2_fast" }, 89, .quantity = "gemm_fp8" }, \
		{ metric, { "precision", "fp8_rows" }, 89, .quantity = "gemm_fp8" },           \
		{ metric, { "precision", "fp8_1x128" }, 89, .quantity = "gemm_fp8" },          \
		{ metric, { "precision", "fp8_1x128_128x128" }, 89, .quantity = "gemm_fp8" },  \
		{ metric, { "precision", "fp8_128x128_1x128" }, 89, .quantity = "gemm_fp8" },  \
		{ metric, { "precision", "fp8" }, 89, .quantity = "gemm_fp8" },                \
	{                                                                                      \
		metric, { "precision", "int8" }, .quantity = "gemm_int8"                       \
	}

static const struct sheet_row sheet[] = {
	RATES_OF_SHEETS("matmul.throughput"),
	RATES_OF_SHEETS("matmul.burst"),
	{ "matmul.flops_per_joule", { "precision", "fp32" }, .quantity = "efficiency_fp32" },
	{ "matmul.flops_per_joule", { "precision", "tf32" }, 80, .quantity = "efficiency_tf32" },
	{ "matmul.flops_per_joule", { "precision", "fp16" }, 70, .quantity = "efficiency_fp16" },
	{ "matmul.flops_per_joule", { "precision", "bf16" }, 80, .quantity = "efficiency_bf16" },
	{ 0 },
};

/*
 * Free bytes on the device; 0: unknown, or memory of the whole machine, which others use as well.
 */
static uint64_t matmul_free_bytes(struct device *device)
{
	struct error unknown = ERROR_NONE;
	uint64_t bytes = 0, total;

	if (device->info.capabilities & DEVICE_SHARES_HOST_MEMORY)
		return 0;
	return backend_device_memory(device, &bytes, &total, &unknown) == STATUS_OK ? bytes : 0;
}

static void matmul_record_memory(struct run *run, const struct operands *o,
				 const struct gemm_choice *choice, uint64_t free_before)
{
	struct device *device = run->devices[0];
	const struct backend *backend = device->backend;
	uint64_t free_after = matmul_free_bytes(device), bytes = 0;
	double workspace = 0;

	for (int i = 0; i < OPERANDS; i++)
		bytes += (uint64_t)o->batch * o->counts[i] *
			 matmul_operands_bytes(o->problem.precision, i);
	run_value(run, "matmul.memory", (double)(bytes + o->units.bytes));
	if (o->implementation == IMPLEMENTATION_LT)
		workspace = (double)choice->workspace_bytes;
	else if (o->implementation == IMPLEMENTATION_BLAS && backend->gemm_workspace)
		workspace = (double)backend->gemm_workspace(device);
	run_value(run, "matmul.workspace", workspace);
	if (free_before > 0 && free_after > 0)
		run_value(run, "matmul.device_memory", (double)free_before - (double)free_after);
}

static void matmul_record_error(struct run *run, const struct operands *o)
{
	const char *full = "every element against a double-precision GEMM, before and after timing";
	const char *sums = "for every row, eight sums with random signs against a double-precision "
			   "GEMM, before and after timing";
	const char *range = "every element against a double-precision GEMM (infinite where the "
			    "format overflows), before and after timing";
	bool scaled = o->problem.scale != 1;

	if (scaled) {
		run_value(run, "matmul.nonfinite", o->error.nonfinite);
		run_value(run, "matmul.subnormal", gemm_reference_subnormal_share(&o->problem));
	}
	if (o->error.nonfinite < 1) {
		run_value(run, "matmul.error", o->error.stored);
		run_value(run, "matmul.error_total", o->error.total);
	}
	run_verified(run,
		     scaled                     ? range
		     : o->reference->width == 1 ? full
						: sums,
		     o->error.stored, o->reference->tolerance);
}

/*
 * Runs a first GEMM in a separate stream, so that the library's permanent allocations are not
 * attributed to the first case.
 */
static enum status matmul_load_library(struct run *run, const struct matmul_case *s,
				       struct error *err)
{
	struct matmul_problem problem = s->problem;
	struct gemm_choice choice;
	struct operands o;

	problem.m = problem.n = problem.k = 16;
	if (matmul_operands_open(&o, run->devices[0], &problem, 1, s->implementation, err) ==
		    STATUS_OK &&
	    (s->implementation != IMPLEMENTATION_LT ||
	     matmul_operands_search(&o, 0, &choice, err) == STATUS_OK) &&
	    matmul_operands_multiply(&o, 1, err) == STATUS_OK)
		backend_stream_synchronize(o.stream, err);
	matmul_operands_close(&o);
	return err->status;
}

static enum status matmul_search_algorithm(struct run *run, struct operands *o,
					   struct gemm_choice *choice, struct error *err)
{
	double seconds = section_real(run->c->section, "search_time");

	if (o->implementation != IMPLEMENTATION_LT)
		return STATUS_OK;
	if (matmul_operands_search(o, seconds, choice, err) != STATUS_OK)
		return err->status;
	run_value(run, "matmul.candidates", choice->tried);
	run_value(run, "matmul.search_gain", choice->first_seconds / choice->seconds);
	run_note(run, "Autotuning chose %s; it timed %u of %u candidates.", choice->text,
		 choice->tried, choice->offered);
	return STATUS_OK;
}

/* All preparations before the samples. The caller closes `o`, even after a failure. */
static enum status matmul_prepare_operands(struct run *run, struct operands *o, struct error *err)
{
	struct matmul_case s = matmul_plan_case_of(run->c);
	struct gemm_choice choice = { .workspace_bytes = 0 };
	uint64_t free_before, cache, set_bytes;
	char size[32];

	/* The same on every device, because the power of a GEMM depends on its operands. */
	s.problem.seed_a = run->run_seed;
	s.problem.seed_b = run->run_seed + 1;
	if (phases_next(run->phases, run->world, "operands", err) != STATUS_OK ||
	    matmul_load_library(run, &s, err) != STATUS_OK)
		return err->status;
	free_before = matmul_free_bytes(run->devices[0]);
	if (matmul_operands_open(o, run->devices[0], &s.problem, s.batch, s.implementation, err) !=
		    STATUS_OK ||
	    phases_next(run->phases, run->world, "autotuning", err) != STATUS_OK ||
	    matmul_search_algorithm(run, o, &choice, err) != STATUS_OK)
		return err->status;
	if (phases_next(run->phases, run->world, "check", err) != STATUS_OK)
		return err->status;
	if (matmul_operands_verify(o, err) != STATUS_OK)
		return error_prefix(err, "before timing");
	cache = run->devices[0]->info.l2_bytes;
	set_bytes = 0;
	for (int i = 0; i < OPERANDS; i++)
		set_bytes += (uint64_t)o->batch * o->strides[i];
	units_size(cache, size, sizeof(size));
	if (o->sets > 1)
		run_note(run,
			 "Calls rotate over %zu operand sets, because a single set would stay in "
			 "the %s cache.",
			 o->sets, size);
	if (set_bytes * o->sets < cache)
		run_note(run, "All sets together still fit in this cache.");
	matmul_record_memory(run, o, &choice, free_before);
	return STATUS_OK;
}

/*
 * Commands of an operation: the GEMM and the sum of its parts, once per GEMM of a batch without a
 * batched call. Commands beyond the device's queue could not be enqueued after a closed gate.
 */
static struct sustained_work matmul_work_of(struct run *run, struct operands *o)
{
	const struct device_info *info = &run->devices[0]->info;
	bool singly = o->implementation == IMPLEMENTATION_BLAS && !device_is_host(info) &&
		      architecture_stores_half_only(architecture_capability_number(info),
						    o->problem.precision);

	return (struct sustained_work){
		.run = run,
		.workload = { .state = o,
			      .launch = matmul_operands_multiply,
			      .clock = CLOCK_DEVICE,
			      .streams = &o->stream,
			      .stream_count = 1,
			      .commands = singly && o->batch > 2 ? (unsigned)o->batch : 2,
			      .has_energy = true },
		.operations = matmul_plan_operations(&o->problem, o->batch),
	};
}

/* All steps after the samples. */
static enum status matmul_conclude(const struct sustained_work *work, struct operands *o,
				   struct error *err)
{
	struct run *run = work->run;

	sustained_record(work);
	run_energy(run, "flops_per_joule", work->operations);
	if (matmul_operands_check(o, err) != STATUS_OK)
		return error_prefix(err, "after timing");
	matmul_record_error(run, o);
	return STATUS_OK;
}

static enum status matmul_run(struct run *run, struct error *err)
{
	struct operands o = { .stream = NULL };
	struct sustained_work work;

	if (matmul_prepare_operands(run, &o, err) == STATUS_OK) {
		work = matmul_work_of(run, &o);
		if (sustained_sample(&work, err) == STATUS_OK)
			matmul_conclude(&work, &o, err);
	}
	matmul_operands_close(&o);
	return err->status;
}

static bool matmul_groups_with(const void *state, const struct plan_case *const *group,
			       size_t count, const struct plan_case *other)
{
	(void)state;
	return !other->alone && section_integer(other->section, "concurrent") &&
	       plan_may_join(group, count, other);
}

/* The phase in which a device of a group waits. */
#define OTHERS "other devices"

/* A device with a wrong result is left out; the others continue. */
static void matmul_run_group(struct run *const *runs, size_t count, struct error *errs)
{
	struct operands *all = xcalloc(count, sizeof(*all));
	struct sustained_work *work = xcalloc(count, sizeof(*work));
	struct error *sampled = xcalloc(count, sizeof(*sampled));
	size_t *at = xcalloc(count, sizeof(*at)); /* at[k]: index of work[k] in `runs` */
	size_t used = 0;
	enum status status = STATUS_OK;

	for (size_t i = 0; i < count; i++) {
		if (matmul_prepare_operands(runs[i], &all[i], &errs[i]) != STATUS_OK)
			continue;
		phases_enter(runs[i]->phases, OTHERS);
		at[used] = i;
		work[used++] = matmul_work_of(runs[i], &all[i]);
	}
	if (used > 0)
		status = sustained_sample_together(work, used, sampled);
	for (size_t k = 0; k < used; k++) {
		struct run *run = runs[at[k]];
		struct error *err = &errs[at[k]];

		if (sampled[k].status != STATUS_OK)
			error_set(err, sampled[k].status, "%s", sampled[k].message);
		else if (status != STATUS_OK)
			error_set(err, status, "in a concurrent group");
		else if (phases_next(run->phases, run->world, "check", err) == STATUS_OK)
			matmul_conclude(&work[k], &all[at[k]], err);
		phases_enter(run->phases, OTHERS);
		if (status == STATUS_OK && used > 1)
			run_note(run, "Sampled together with %zu other device%s.", used - 1,
				 text_plural(used - 1));
	}
	for (size_t i = 0; i < count; i++)
		matmul_operands_close(&all[i]);
	free(all);
	free(work);
	free(sampled);
	free(at);
}

const struct suite suite_matmul = {
	.name = "matmul",
	.summary = "GEMM throughput, memory and error per precision and implementation",
	.keys = keys,
	.axes = axes,
	.metrics = metrics,
	.figures = figures,
	.tables = tables,
	.words = words,
	.roles = roles,
	.sheet = sheet,
	.aspects = aspects,
	.processes = SUITE_ONE_PROCESS,
	.expand = matmul_plan_expand,
	.run = matmul_run,
	.groups_with = matmul_groups_with,
	.run_group = matmul_run_group,
};
