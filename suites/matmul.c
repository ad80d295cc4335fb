/*
 * Matrix products C = op(A) op(B) in each precision. All matrices are column-major; op(A) is m x k,
 * op(B) k x n. Operands are uniform in [-scale, scale) (never zeros: some GPUs clock higher on
 * them).
 *
 * Three figures report the memory of a product: the operands, the library's workspace, and the
 * decrease of the device's free memory.
 */
#include "suites/matmul/measure.h"

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
	{ .name = "concurrent",
	  .type = KEY_BOOL,
	  .fallback = "no",
	  .help = "the same product on several devices is sampled on all of them at the same time; "
		  "each waits for the slowest between samples; figures can differ from those of a "
		  "device alone" },
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

static const struct aspect_row aspects[] = {
	{ "matmul.throughput", NULL, NULL, ASPECT_PRODUCTS },
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
	.roles = roles,
	.sheet = sheet,
	.aspects = aspects,
	.processes = SUITE_ONE_PROCESS,
	.expand = matmul_expand,
	.run = matmul_run,
	.groups_with = matmul_groups_with,
	.run_group = matmul_run_group,
};
