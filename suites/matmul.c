/*
 * GEMM C = op(A) op(B) in each precision. All matrices are column-major; op(A) is m x k, op(B) k x
 * n. Operands are uniform in [-scale, scale) (never zeros: some GPUs clock higher on them).
 *
 * Three metrics report the memory of a GEMM: the operands, the library's workspace, and the
 * decrease of the device's free memory.
 */
#include "suites/matmul/measure.h"

#include "plan/suite.h"
#include "suites/matmul/plan.h"
#include "suites/shared/energy.h"
#include "suites/shared/sustained.h"
#include "suites/shared/words.h"

static const char *const precisions[] = { "fp64",          "fp32",
					  "tf32",          "fp16",
					  "bf16",          "fp16_acc16",
					  "fp8",           "fp8_fast",
					  "fp8_e5m2_e4m3", "fp8_e5m2_e4m3_fast",
					  "fp8_e4m3_e5m2", "fp8_e4m3_e5m2_fast",
					  "int8",          NULL };
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
		  "fp8_e5m2_e4m3, fp8_e4m3_e5m2: A or B is E5M2; ..._fast: sums stay in the tensor "
		  "cores, with fewer bits; int8: INT32 result" },
	{ .name = "sizes",
	  .type = KEY_SHAPE,
	  .list = true,
	  .fallback = "256, 1024, 4096, 4096x256x1024",
	  .min = 1,
	  .max = 1 << 20,
	  .parameter = "size",
	  .help = "N for N x N x N, or MxNxK: C is M x N, column-major; the sum runs over K" },
	{ .name = "implementations",
	  .type = KEY_CHOICE,
	  .list = true,
	  .fallback = "blas",
	  .choices = implementations,
	  .parameter = "implementation",
	  .help = "blas: the library (cublasGemmEx, OpenBLAS); lt: cuBLASLt, autotuned; built-in "
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
	  .help = "number of GEMMs of the same shape per call" },
	{ .name = "scales",
	  .type = KEY_REAL,
	  .list = true,
	  .fallback = "1",
	  .min = 1e-9,
	  .max = 32768,
	  .parameter = "scale",
	  .help = "operands are uniform in [-scale, scale), to show where FP16 overflows or loses "
		  "digits; FP8: with a scale per tensor; other than 1 only up to 1024 x 1024 x "
		  "1024" },
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
	  .help = "sample the same GEMM on all devices at the same time, each at its own pace; "
		  "figures can differ from those of a device alone" },
	{ 0 },
};

static const char *const axes[] = { "precisions", "sizes", "implementations", "transposes", "batch",
				    "scales",     NULL };

static const struct metric_kind_row precisions_by_kind[] = { WITHOUT_TENSOR_CORES };

static const struct metric metrics[] = {
	{ "matmul.throughput", "FLOP/s", BETTER_HIGHER, 1,
	  "2 m n k operations per GEMM / time; sustained if measured", METRIC_TENSOR,
	  .kinds = precisions_by_kind },
	{ "matmul.time", "s", BETTER_LOWER, 0,
	  "time of one call at matmul.throughput: one GEMM, or a batch" },
	SUSTAINED_METRICS("matmul", METRIC_TENSOR, .kinds = precisions_by_kind),
	{ "matmul.memory", "B", BETTER_LOWER, 0, "bytes of A, B and C as stored" },
	{ "matmul.nonfinite", "1", BETTER_NONE, 0,
	  "with a scale other than 1: fraction of results that overflow", METRIC_EXACT },
	{ "matmul.subnormal", "1", BETTER_NONE, 0,
	  "with a scale other than 1: fraction of operands stored as subnormal numbers or zero",
	  METRIC_EXACT },
	{ "matmul.candidates", "1", BETTER_NONE, 0,
	  "implementation lt: number of algorithms timed in autotuning" },
	{ "matmul.search_gain", "1", BETTER_HIGHER, 0,
	  "implementation lt: time of the library's first choice / time of the fastest" },
	{ "matmul.workspace", "B", BETTER_LOWER, 0, "workspace of the library" },
	{ "matmul.device_memory", "B", BETTER_LOWER, 0,
	  "device memory used by all operand sets, workspace and kernels of this GEMM" },
	{ "matmul.error", "1", BETTER_LOWER, 0,
	  "relative Frobenius norm of the error against a double-precision GEMM of the operands as "
	  "stored",
	  METRIC_EXACT },
	{ "matmul.error_total", "1", BETTER_LOWER, 0,
	  "relative Frobenius norm of the error against a double-precision GEMM of the operands "
	  "before rounding from FP32: total error of the precision",
	  METRIC_EXACT },
	ENERGY_METRICS("matmul", "energy of one call: one GEMM, or a batch", "flops_per_joule",
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
	{ "implementation", "blas", "BLAS" },
	{ "implementation", "lt", "cuBLASLt, autotuned" },
	{ "implementation", "simt", "built-in kernel, FP32 units" },
	{ "implementation", "half2", "built-in kernel, half2" },
	{ "implementation", "tensor", "built-in kernel, tensor cores" },
	{ 0 },
};

static const struct aspect_row aspects[] = {
	{ "matmul.throughput", NULL, NULL, ASPECT_GEMM, .task = "{PRECISION} GEMM" },
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
	.expand = matmul_expand,
	.run = matmul_run,
	.groups_with = matmul_groups_with,
	.run_group = matmul_run_group,
};
