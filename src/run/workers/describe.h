/* Describes a case before it runs: id, devices and parameters of its result. */
#ifndef GPUPROOF_RUN_WORKERS_DESCRIBE_H
#define GPUPROOF_RUN_WORKERS_DESCRIBE_H

#include "plan/plan.h"
#include "result/result.h"

/*
 * Initialises `result` for case `c` of `plan` with status OK and no metrics. The caller releases it
 * with case_result_release().
 */
void describe_case(const struct plan *plan, const struct plan_case *c, struct case_result *result);

/* Fills parameters and axes of the result from the case. */
void describe_parameters(const struct plan_case *c, struct case_result *result);

/* Sets status and reason; copies the reason, NULL becomes "". */
void describe_outcome(struct case_result *result, enum case_status status, enum case_end end,
		      const char *reason);

#endif
