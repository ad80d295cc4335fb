#include "suites/matmul/matmul.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "device/architecture.h"
#include "plan/suite.h"
#include "suites/shared/estimate.h"
#include "suites/shared/sustained.h"

/* Allowance for the library's workspace in the plan. */
#define LIBRARY_BYTES (UINT64_C(64) << 20)
/* cuBLASLt has FP8 with FP32 scales for parts of an operand on this compute capability alone. */
#define SCALES_CAPABILITY 90
/* FLOP/s of an ordinary core; a multiprocessor has more. Only for time estimates. */
#define UNIT_RATE 50e9

/* Precisions of the built-in kernels; the library supports all. */
#define ONLY(precision) (1u << PRECISION_##precision)
static const unsigned written_for[] = {
	[IMPLEMENTATION_BLAS] = ~0u,
	[IMPLEMENTATION_LT] = ~0u,
	[IMPLEMENTATION_SIMT] = ONLY(FP32),
	[IMPLEMENTATION_HALF2] = ONLY(FP16_ACC16),
	[IMPLEMENTATION_TENSOR] = ONLY(FP16) | ONLY(BF16),
};

/* Precisions of the suite that are FP8 with options. */
static const struct {
	const char *name;
	struct gemm_fp8 fp8;
} fp8_names[] = {
	{ "fp8_fast", { .fast = true } },
	{ "fp8_e5m2_e4m3", { .e5m2_a = true } },
	{ "fp8_e5m2_e4m3_fast", { .e5m2_a = true, .fast = true } },
	{ "fp8_e4m3_e5m2", { .e5m2_b = true } },
	{ "fp8_e4m3_e5m2_fast", { .e5m2_b = true, .fast = true } },
	{ "fp8_rows", { .scaling_a = FP8_SCALE_OUTER, .scaling_b = FP8_SCALE_OUTER } },
	{ "fp8_1x128", { .scaling_a = FP8_SCALE_GROUPS, .scaling_b = FP8_SCALE_GROUPS } },
	{ "fp8_1x128_128x128", { .scaling_a = FP8_SCALE_GROUPS, .scaling_b = FP8_SCALE_BLOCKS } },
	{ "fp8_128x128_1x128", { .scaling_a = FP8_SCALE_BLOCKS, .scaling_b = FP8_SCALE_GROUPS } },
};

struct matmul_case matmul_plan_case_of(const struct plan_case *c)
{
	const int64_t *shape = case_value(c, "sizes")->shape;
	const char *transpose = case_text(c, "transposes");
	const char *precision = case_text(c, "precisions");
	struct matmul_case s = {
		.problem = { .precision = PRECISION_FP32,
			     .m = shape[0],
			     .n = shape[1],
			     .k = shape[2],
			     .transpose_a = transpose[0] == 't',
			     .transpose_b = transpose[1] == 't',
			     .scale = case_value(c, "scales")->real },
		.implementation = (enum implementation)case_integer(c, "implementations"),
		.batch = case_integer(c, "batch"),
	};

	if (precision_from_name(precision, &s.problem.precision))
		return s;
	s.problem.precision = PRECISION_FP8;
	for (size_t i = 0; i < ARRAY_SIZE(fp8_names); i++)
		if (strcmp(precision, fp8_names[i].name) == 0)
			s.problem.fp8 = fp8_names[i].fp8;
	return s;
}

double matmul_plan_operations(const struct matmul_problem *p, int64_t batch)
{
	return 2.0 * (double)p->m * (double)p->n * (double)p->k * (double)batch;
}

/*
 * The reference reads each element of the three matrices several times on one core; a full one,
 * needed for other scales, multiplies.
 */
static void matmul_plan_estimate_case(struct plan_case *point, const struct matmul_case *s,
				      const struct device_info *info)
{
	const int64_t *shape = case_value(point, "sizes")->shape;
	enum precision precision = s->problem.precision;
	size_t sets = matmul_operands_set_count(shape, precision, s->batch, info);
	size_t results = sets * (size_t)s->batch;
	uint64_t counts[OPERANDS];
	double calls = (double)section_integer(point->section, "min_samples") +
		       (double)section_integer(point->section, "warmup") + 2 * (double)sets + 4;

	matmul_operands_counts(shape, counts);
	point->device_bytes =
		sets * matmul_operands_set_bytes(shape, precision, s->batch) + LIBRARY_BYTES;
	point->host_bytes = matmul_operands_copy_bytes(shape, precision);
	point->setup_seconds = 0.05 +
			       calls * matmul_plan_operations(&s->problem, s->batch) /
				       shared_estimate_flops(info, precision) +
			       3e-9 * (double)(counts[OPERAND_A] + counts[OPERAND_B] +
					       2 * results * counts[OPERAND_C]) +
			       sustained_seconds(point->section, info);
	if (s->problem.scale != 1)
		point->setup_seconds += matmul_plan_operations(&s->problem, 2) / UNIT_RATE;
	if (s->implementation == IMPLEMENTATION_LT)
		point->setup_seconds += 2 * section_real(point->section, "search_time");
}

/* Writes why this device cannot run the case to `reason`; NULL if it can. */
static const char *matmul_plan_obstacle(const struct matmul_case *s, const struct device_info *info,
					char *reason, size_t size)
{
	const struct matmul_problem *p = &s->problem;

	if (!(info->capabilities & precision_capability(p->precision)))
		snprintf(reason, size, "%s has no %s GEMM", info->id, precision_name(p->precision));
	else if (s->implementation == IMPLEMENTATION_TENSOR && !device_is_host(info) &&
		 !(info->capabilities & DEVICE_HAS_TENSOR_CORES))
		snprintf(reason, size, "%s has no tensor cores for %s", info->id,
			 precision_name(p->precision));
	else if (p->fp8.scaling_a && architecture_capability_number(info) != SCALES_CAPABILITY)
		snprintf(reason, size,
			 "FP8 with FP32 scales per row or block needs compute capability 9.0; %s "
			 "has %d.%d",
			 info->id, info->capability_major, info->capability_minor);
	else if (p->scale != 1 && matmul_plan_operations(p, 1) > 2.0 * MATMUL_FULL_OPERATIONS)
		snprintf(reason, size,
			 "a scale other than 1 needs a reference of every element: at most 1024 x "
			 "1024 x 1024");
	else
		return NULL;
	return reason;
}

enum status matmul_plan_expand(struct plan *plan, struct plan_case *point, struct error *err)
{
	struct matmul_case s = matmul_plan_case_of(point);
	bool own = s.implementation >= IMPLEMENTATION_SIMT;

	/* Meaningless combinations of the axes. */
	if (!(written_for[s.implementation] >> s.problem.precision & 1) ||
	    (own && (s.problem.transpose_a || s.problem.transpose_b)) ||
	    (s.problem.precision == PRECISION_INT8 && s.problem.scale != 1))
		return STATUS_OK;
	plan_unname_usual(point, "implementations", "blas");
	plan_unname_usual(point, "transposes", "nn");
	plan_unname_usual(point, "batch", "1");
	plan_unname_usual(point, "scales", "1");
	for (size_t i = 0; i < plan->device_count; i++) {
		const struct device_info *info = &plan->devices[i];
		char text[256];
		const char *reason = matmul_plan_obstacle(&s, info, text, sizeof(text));

		matmul_plan_estimate_case(point, &s, info);
		if (plan_add(plan, point, &i, 1, reason, err) != STATUS_OK)
			return err->status;
	}
	return STATUS_OK;
}
