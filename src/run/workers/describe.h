/* A case's result before it runs: its id, devices and parameters. */
#ifndef GPUPROOF_RUN_WORKERS_DESCRIBE_H
#define GPUPROOF_RUN_WORKERS_DESCRIBE_H

#include "plan/plan.h"
#include "result/result.h"

/*
 * Initialises `result` for the case `c` of `plan`; status OK, nothing measured. Released by
 * case_result_release().
 */
void describe_case(const struct plan *plan, const struct plan_case *c, struct case_result *result);

/* Fills result->parameters and its axes from those of the case. */
void describe_parameters(const struct plan_case *c, struct case_result *result);

/* Sets status and reason; the reason is copied, NULL is "". */
void describe_outcome(struct case_result *result, enum case_status status, enum case_end end,
		      const char *reason);

#endif
