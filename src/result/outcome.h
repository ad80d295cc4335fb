/* Outcome of a run, independent of limits; every output uses it. */
#ifndef GPUPROOF_RESULT_OUTCOME_H
#define GPUPROOF_RESULT_OUTCOME_H

#include <stdint.h>

#include "result/result.h"

/* Number of cases with that status. */
size_t result_outcome_count(const struct result *result, enum case_status status);
/* Number of workers that died without loss of a case: a fault of the machine or of this program. */
size_t result_outcome_lost_workers(const struct result *result);
/* Number of planned cases that were not run. */
size_t result_outcome_not_run(const struct result *result);
/* True if every case was skipped: there is not a single figure. */
bool result_outcome_measured_nothing(const struct result *result);

/*
 * Exit code of the result (cli/command.h), the more severe of outcome and judgement: 5 a wrong
 * result, 1 rejected, 4 incomplete or inconclusive, 0.
 */
int result_outcome_exit_code(const struct result *result);

/*
 * Uncorrected memory errors (ECC) counted during the run on all of its devices. They cause exit
 * code 5, even without a judgement.
 */
uint64_t result_outcome_memory_errors(const struct result *result);

/* True if the case reports a wrong result: it failed, or its error exceeds the tolerance. */
bool result_outcome_case_is_wrong(const struct case_result *c);
/*
 * True if its result was compared with a reference; otherwise it is never accepted (README, "no
 * number counts").
 */
bool result_outcome_case_is_verified(const struct case_result *c);
/*
 * Reason without the device, "the device has no pools" for "cuda:0 has no pools", so that cases
 * skipped for one reason on several devices have the same text. The caller frees it.
 */
char *result_outcome_case_common_reason(const struct case_result *c);

/* True if the config has a section of that stage. */
bool result_outcome_plans_stage(const struct result *result, enum run_stage stage);
/* The stage that rejected, so that the later ones were not run; RUN_STAGE_NONE: none did. */
enum run_stage result_outcome_ended_after(const struct result *result);

#endif
