/*
 * Matrix products C = op(A) op(B) in each precision. All matrices are column-major; op(A) is m x k,
 * op(B) k x n. Operands are uniform in [-scale, scale) (never zeros: some GPUs clock higher on
 * them).
 *
 * Three figures report the memory of a product: the operands, the library's workspace, and the
 * decrease of the device's free memory.
 */
#include "base/units.h"
#include "device/architecture.h"
#include "measure/run.h"
#include "plan/suite.h"
#include "suites/matmul/plan.h"
#include "suites/shared/energy.h"
#include "suites/shared/words.h"

static const char *const precisions[] = { "fp64",       "fp32", "tf32", "fp16", "bf16",
					  "fp16_acc16", "fp8",  "int8", NULL };
static const char *const implementations[] = { "blas", "lt", "simt", "half2", "tensor", NULL };
static const char *const transposes[] = { "nn", "tn", "nt", "tt", NULL };

static const struct key keys[] = {
	{ .name = "precisions",
	  .type = KEY_CHOICE,
	  .list = true,
	  .fallback = "fp32, fp16, tf32, bf16",
	  .choices = precisions,
	  .parameter = "precision",
	  .help = "how operands and result are stored; tf32: FP32 storage; fp16, bf16: FP32 "
		  "accumulation; fp16_acc16: FP16 accumulation; fp8: E4M3 operands, FP16 result; "
		  "int8: INT32 result" },
	{ .name = "sizes",
	  .type = KEY_SHAPE,
	  .list = true,
	  .fallback = "256, 1024, 4096, 4096x256x1024",
	  .min = 1,
	  .max = 1 << 20,
	  .parameter = "size",
	  .help = "N for N x N x N, or MxNxK: C is M x N, K is summed over" },
	{ .name = "implementations",
	  .type = KEY_CHOICE,
	  .list = true,
	  .fallback = "blas",
	  .choices = implementations,
	  .parameter = "implementation",
	  .help = "blas: the library as it comes (cublasGemmEx, OpenBLAS); lt: cuBLASLt's fastest "
		  "by search; own kernels: simt (fp32), half2 (fp16_acc16), tensor (fp16, bf16)" },
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
	  .help = "products of the same shape in one call" },
	{ .name = "scales",
	  .type = KEY_REAL,
	  .list = true,
	  .fallback = "1",
	  .min = 1e-9,
	  .max = 32768,
	  .parameter = "scale",
	  .help = "operands are uniform in [-scale, scale): shows where FP16 overflows and where "
		  "it loses digits; other than 1 for up to 1024 x 1024 x 1024" },
	{ .name = "search_time",
	  .type = KEY_DURATION,
	  .fallback = "1s",
	  .min = 0,
	  .max = 3600,
	  .help = "implementation lt: how long candidates are timed before the measurement" },
	{ 0 },
};

static const char *const axes[] = { "precisions", "sizes", "implementations", "transposes", "batch",
				    "scales",     NULL };

static const struct metric metrics[] = {
	{ "matmul.throughput", "FLOP/s", BETTER_HIGHER, 1,
	  "2 m n k operations of each product over the time of a call" },
	{ "matmul.time", "s", BETTER_LOWER, 0, "one call: one product, or a batch" },
	{ "matmul.memory", "B", BETTER_LOWER, 0, "A, B and C as stored" },
	{ "matmul.nonfinite", "1", BETTER_NONE, 0,
	  "with a scale other than 1: share of the results beyond the format's range",
	  METRIC_EXACT },
	{ "matmul.subnormal", "1", BETTER_NONE, 0,
	  "with a scale other than 1: share of the operands that are stored as subnormal numbers "
	  "or zero, with digits lost",
	  METRIC_EXACT },
	{ "matmul.candidates", "1", BETTER_NONE, 0,
	  "implementation lt: algorithms that were timed to find the fastest" },
	{ "matmul.search_gain", "1", BETTER_HIGHER, 0,
	  "implementation lt: time of the library's first choice over that of the fastest" },
	{ "matmul.workspace", "B", BETTER_LOWER, 0, "scratch memory that the library works in" },
	{ "matmul.device_memory", "B", BETTER_LOWER, 0,
	  "what the device has less than before: all sets of operands, workspace, kernels loaded "
	  "for this product" },
	{ "matmul.error", "1", BETTER_LOWER, 0,
	  "relative Frobenius norm of the error against a double-precision product of the operands "
	  "as stored",
	  METRIC_EXACT },
	{ "matmul.error_total", "1", BETTER_LOWER, 0,
	  "the same against the operands before they were rounded from FP32: what a lower "
	  "precision costs in all",
	  METRIC_EXACT },
	ENERGY_METRICS("matmul", "a call: one product, or a batch", "flops_per_joule", "FLOP/J",
		       "2 m n k operations of each product over the energy of a call"),
	{ 0 },
};

/* FP16 against FP32, below each chart. */
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
	ENERGY_TABLE("matmul", "throughput", "flops_per_joule"),
	{ 0 },
};

static const struct word_row words[] = {
	PRECISION_WORDS,
	{ "implementation", "blas", "BLAS" },
	{ "implementation", "lt", "cuBLASLt by search" },
	{ "implementation", "simt", "own kernel, ordinary units" },
	{ "implementation", "half2", "own kernel, pairs" },
	{ "implementation", "tensor", "own kernel, tensor cores" },
	{ 0 },
};

static enum status launch_products(void *state, unsigned batch, struct error *err)
{
	return operands_multiply(state, batch, err);
}

/*
 * Commands that one operation enqueues: the product and the sum of its parts, once per product of a
 * batch without a batched call. After a closed gate, more commands than the device's queue holds
 * could never be enqueued.
 */
static unsigned commands_of(const struct device_info *info, const struct operands *o)
{
	bool singly = (o->implementation == IMPLEMENTATION_TENSOR &&
		       (info->capabilities & DEVICE_HAS_WGMMA)) ||
		      (o->implementation == IMPLEMENTATION_BLAS && !device_is_host(info) &&
		       architecture_stores_half_only(device_capability_number(info),
						     o->problem.precision));

	return singly && o->batch > 2 ? (unsigned)o->batch : 2;
}

static enum status measure(struct run *run, struct operands *o, struct error *err)
{
	struct workload w = { .state = o,
			      .launch = launch_products,
			      .clock = CLOCK_DEVICE,
			      .streams = &o->stream,
			      .stream_count = 1,
			      .commands = commands_of(&run->devices[0]->info, o),
			      .has_energy = true };
	const struct series *time;

	if (run_sample(run, &w, "matmul.time", &time, err) != STATUS_OK)
		return err->status;
	run_rate(run, "matmul.throughput", matmul_operations(&o->problem, o->batch), time);
	run_duration(run, "matmul.time", time);
	run_energy(run, "flops_per_joule", matmul_operations(&o->problem, o->batch));
	return STATUS_OK;
}

/*
 * Free bytes on the device; 0: unknown, or the memory of the whole machine, which others use as
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

static void record_memory(struct run *run, const struct operands *o,
			  const struct gemm_choice *choice, uint64_t free_before)
{
	struct device *device = run->devices[0];
	const struct backend *backend = device->backend;
	uint64_t free_after = free_bytes(device), bytes = 0;
	double workspace = 0;

	for (int i = 0; i < OPERANDS; i++)
		bytes += (uint64_t)o->batch * o->counts[i] * operand_bytes(o->problem.precision, i);
	run_value(run, "matmul.memory", (double)bytes);
	if (o->implementation == IMPLEMENTATION_LT)
		workspace = (double)choice->workspace_bytes;
	else if (o->implementation == IMPLEMENTATION_BLAS && backend->gemm_workspace)
		workspace = (double)backend->gemm_workspace(device);
	run_value(run, "matmul.workspace", workspace);
	if (free_before > 0 && free_after > 0)
		run_value(run, "matmul.device_memory", (double)free_before - (double)free_after);
}

static void record_error(struct run *run, const struct operands *o)
{
	const char *full =
		"every element against a double-precision product, before and after timing";
	const char *sums = "eight signed sums of every row against a double-precision product, "
			   "before and after timing";
	const char *range = "every element against a double-precision product, infinite where that "
			    "is beyond the format's range, before and after timing";
	bool scaled = o->problem.scale != 1;

	if (scaled) {
		run_value(run, "matmul.nonfinite", o->error.nonfinite);
		run_value(run, "matmul.subnormal", matmul_subnormal_share(&o->problem));
	}
	if (o->error.nonfinite < 1) {
		run_value(run, "matmul.error", o->error.stored);
		run_value(run, "matmul.error_total", o->error.total);
	}
	run_verified(run,
		     scaled                    ? range
		     : o->reference.width == 1 ? full
					       : sums,
		     o->error.stored, o->reference.tolerance);
}

static void note_cache(struct run *run, const struct operands *o)
{
	uint64_t cache = run->devices[0]->info.l2_bytes, set_bytes = 0;
	char size[32];

	for (int i = 0; i < OPERANDS; i++)
		set_bytes += (uint64_t)o->batch * o->strides[i];
	units_size(cache, size, sizeof(size));
	if (o->sets > 1)
		run_note(run, "Rotates over %zu sets of operands: one would stay in the %s cache.",
			 o->sets, size);
	if (set_bytes * o->sets < cache)
		run_note(run, "All sets together still fit in it.");
}

/*
 * A first product in a stream of its own, so that what the library keeps for good is not counted to
 * the case that happens to be the first.
 */
static enum status load_library(struct run *run, const struct matmul_case *s, struct error *err)
{
	struct matmul_problem problem = s->problem;
	struct gemm_choice choice;
	struct operands o;

	problem.m = problem.n = problem.k = 16;
	if (operands_open(&o, run->devices[0], &problem, 1, s->implementation, err) == STATUS_OK &&
	    (s->implementation != IMPLEMENTATION_LT ||
	     operands_search(&o, 0, &choice, err) == STATUS_OK) &&
	    operands_multiply(&o, 1, err) == STATUS_OK)
		backend_stream_synchronize(o.stream, err);
	operands_close(&o);
	return err->status;
}

static enum status search(struct run *run, struct operands *o, struct gemm_choice *choice,
			  struct error *err)
{
	double seconds = section_real(run->c->section, "search_time");

	if (o->implementation != IMPLEMENTATION_LT)
		return STATUS_OK;
	if (operands_search(o, seconds, choice, err) != STATUS_OK)
		return err->status;
	run_value(run, "matmul.candidates", choice->tried);
	run_value(run, "matmul.search_gain", choice->first_seconds / choice->seconds);
	run_note(run, "Chosen: %s; %u of %u candidates timed.", choice->text, choice->tried,
		 choice->offered);
	return STATUS_OK;
}

static enum status matmul_run(struct run *run, struct error *err)
{
	struct matmul_case s = matmul_case_of(run->c);
	struct gemm_choice choice = { .workspace_bytes = 0 };
	struct operands o = { .stream = NULL };
	uint64_t free_before;

	s.problem.seed_a = run->seed;
	s.problem.seed_b = run->seed + 1;
	if (load_library(run, &s, err) != STATUS_OK)
		return err->status;
	free_before = free_bytes(run->devices[0]);
	if (operands_open(&o, run->devices[0], &s.problem, s.batch, s.implementation, err) !=
		    STATUS_OK ||
	    search(run, &o, &choice, err) != STATUS_OK)
		goto out;
	if (operands_verify(&o, err) != STATUS_OK) {
		error_prefix(err, "before timing");
		goto out;
	}
	note_cache(run, &o);
	record_memory(run, &o, &choice, free_before);
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

static const struct aspect_row aspects[] = {
	{ "matmul.throughput", NULL, NULL, ASPECT_PRODUCTS },
	{ "matmul.error", NULL, NULL, ASPECT_CORRECTNESS },
	{ "matmul.error_total", NULL, NULL, ASPECT_CORRECTNESS },
	{ 0 },
};

static const struct sheet_row sheet[] = {
	/* From 8.0 on, cuBLAS computes FP64 with tensor cores. */
	{ "matmul.throughput", { "precision", "fp64" }, 0, 79, .quantity = "gemm_fp64" },
	{ "matmul.throughput", { "precision", "fp64" }, 80, .quantity = "gemm_fp64_tensor" },
	{ "matmul.throughput", { "precision", "fp32" }, .quantity = "gemm_fp32" },
	{ "matmul.throughput", { "precision", "tf32" }, 80, .quantity = "gemm_tf32" },
	{ "matmul.throughput", { "precision", "fp16" }, 0, 69, .quantity = "gemm_fp16_storage" },
	{ "matmul.throughput", { "precision", "fp16" }, 70, .quantity = "gemm_fp16_tensor" },
	{ "matmul.throughput", { "precision", "fp16_acc16" }, 53, 69, .quantity = "gemm_fp16" },
	{ "matmul.throughput", { "precision", "bf16" }, 80, .quantity = "gemm_bf16" },
	{ "matmul.throughput", { "precision", "fp8" }, 89, .quantity = "gemm_fp8" },
	{ "matmul.throughput", { "precision", "int8" }, .quantity = "gemm_int8" },
	{ "matmul.flops_per_joule", { "precision", "fp32" }, .quantity = "efficiency_fp32" },
	{ "matmul.flops_per_joule", { "precision", "tf32" }, 80, .quantity = "efficiency_tf32" },
	{ "matmul.flops_per_joule", { "precision", "fp16" }, 70, .quantity = "efficiency_fp16" },
	{ "matmul.flops_per_joule", { "precision", "bf16" }, 80, .quantity = "efficiency_bf16" },
	{ 0 },
};

const struct suite suite_matmul = {
	.name = "matmul",
	.summary = "matrix products: throughput, memory and error of each precision and code",
	.keys = keys,
	.axes = axes,
	.metrics = metrics,
	.figures = figures,
	.tables = tables,
	.words = words,
	.sheet = sheet,
	.aspects = aspects,
	.processes = SUITE_ONE_PROCESS,
	.expand = matmul_expand,
	.run = matmul_run,
};
