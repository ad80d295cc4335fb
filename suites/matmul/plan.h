/* GEMMs of a sweep of suite matmul: requirements of each, and why a device cannot run one. */
#ifndef GPUPROOF_SUITES_MATMUL_PLAN_H
#define GPUPROOF_SUITES_MATMUL_PLAN_H

#include "plan/plan.h"
#include "suites/matmul/operands.h"

/* One point of the sweep. */
struct matmul_case {
	struct matmul_problem problem; /* without seeds */
	enum implementation implementation;
	int64_t batch;
};

struct matmul_case matmul_plan_case_of(const struct plan_case *c);
/* Multiplications and additions of one call. */
double matmul_plan_operations(const struct matmul_problem *problem, int64_t batch);
/* suite->expand */
enum status matmul_plan_expand(struct plan *plan, struct plan_case *point, struct error *err);

#endif
