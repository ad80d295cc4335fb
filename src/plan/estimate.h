/* Estimates the duration and memory of a case before it runs. */
#ifndef GPUPROOF_PLAN_ESTIMATE_H
#define GPUPROOF_PLAN_ESTIMATE_H

#include "plan/plan.h"

/* Sets estimate_seconds and limit_seconds from setup_seconds, sampling keys and case_limit. */
void plan_estimate(const struct plan *plan, struct plan_case *c);

/*
 * Why `c` does not fit into the memory of its devices, or into the host memory that the process may
 * use; NULL: it fits. The caller frees the string.
 */
char *plan_memory_reason(const struct plan *plan, const struct plan_case *c);

#endif
