/* Members of struct suite that run cases of `matmul`. */
#ifndef GPUPROOF_SUITES_MATMUL_MEASURE_H
#define GPUPROOF_SUITES_MATMUL_MEASURE_H

#include "measure/run.h"
#include "plan/suite.h"

enum status matmul_run(struct run *run, struct error *err);
/* With concurrent = yes: the same GEMM on other devices. */
bool matmul_groups_with(const void *state, const struct plan_case *const *group, size_t count,
			const struct plan_case *other);
void matmul_run_group(struct run *const *runs, size_t count, struct error *errs);

#endif
